"""Run code that nobody has checked: what isolates it, the processes that run it, and the verdict of its tests."""
