"""Read logs of Inspect."""
