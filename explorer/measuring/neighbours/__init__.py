"""Nearest neighbours: an exact index, queries, and neighbour overlap between two encoders."""
