"""Arrays in, frozen results out; numpy and scipy only."""
