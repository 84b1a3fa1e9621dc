"""Nearest neighbours: an exact index, queries, and overlap between two encoders."""
