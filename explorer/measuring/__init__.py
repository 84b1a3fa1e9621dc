"""Vectors to numbers: similarity, scores, geometry, maps, and stored results."""
