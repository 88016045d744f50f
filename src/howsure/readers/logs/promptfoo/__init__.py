"""Read results of promptfoo."""
