"""The only rooms that know a file format or an engine."""
