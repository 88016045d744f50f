"""Logs to a run folder, and a run folder to the forms that other programs read."""
