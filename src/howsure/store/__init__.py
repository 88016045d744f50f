"""The files of a run folder: rows in SQLite and Parquet, the manifest, plans of adaptive sampling, added scores."""
