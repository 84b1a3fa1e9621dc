"""Nearest neighbours: exact and approximate indexes, queries, and neighbour overlap between two encoders."""
