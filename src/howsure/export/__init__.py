"""Convert logs to a run folder, and a run folder to forms that other programs read."""
