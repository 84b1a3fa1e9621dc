"""Encode a large corpus into parquet files of vectors, with one process or several."""
