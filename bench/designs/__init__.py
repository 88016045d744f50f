"""The designs of the guarantees: each declares its tables and sizes, simulates, and says what has to hold."""
