"""Other programs' logs to our rows; one file per program, pure functions."""
