"""Scored pairs: the sample, published sets and the user's own, and how they are split."""
