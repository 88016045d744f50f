"""Captions, verdicts and warnings of the report in words, made from the numbers."""
