"""One function per command: parse, call, print."""
