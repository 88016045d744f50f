"""Read logs of lighteval."""
