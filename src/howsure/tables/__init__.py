"""A table from anywhere (files, frames, DuckDB, Spark) to canonical columns, and rows to cells."""
