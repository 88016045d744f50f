"""borrowing."""
