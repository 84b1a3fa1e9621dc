"""Evaluation sets of every kind: their judges, and the scores of their items under every layer & pooling."""
