"""Rank questions by the evidence against their labels, and store the verdicts of reviewers."""
