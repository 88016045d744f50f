"""Questions x variants x models to responses."""
