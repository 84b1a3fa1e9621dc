"""Embedding geometry: anisotropy, hubness, drift, uniformity and alignment."""
