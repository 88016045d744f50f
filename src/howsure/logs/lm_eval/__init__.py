"""Read logs of lm-evaluation-harness."""
