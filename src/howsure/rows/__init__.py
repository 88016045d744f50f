"""Read tables (files, frames, DuckDB, Spark) with canonical columns, and group their rows into cells."""
