"""Projections to two dimensions, and how far they keep neighbours."""
