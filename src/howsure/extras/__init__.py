"""Parts that only their own commands import."""
