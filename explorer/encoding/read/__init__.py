"""Encode sentences: the states of every layer, poolings, and heads that compute one vector."""
