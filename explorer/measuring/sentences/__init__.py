"""Vectors, cosines and tokens of a few sentences."""
