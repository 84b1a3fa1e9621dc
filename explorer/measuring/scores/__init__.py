"""Scores against human ratings: cosines, correlations, intervals and verdicts."""
