"""Vectors to numbers: similarity, scores, and the shelf where scores are kept."""
