"""Read and write the files of a run folder: rows (SQLite, Parquet), manifest, adaptive plans and added scores."""
