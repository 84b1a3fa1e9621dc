"""Figures of scores by layer and pooling."""
