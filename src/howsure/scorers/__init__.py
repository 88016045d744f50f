"""Scorers by name, and scoring the stored completions of a run folder again."""
