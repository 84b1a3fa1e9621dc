"""Encode sentences: the states of every layer, poolings, and heads that make one vector."""
