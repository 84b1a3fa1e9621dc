"""Vectors on disk with their sentences, as a corpus to search or to map."""
