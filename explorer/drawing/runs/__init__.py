"""Figures of a training run."""
