"""Classifiers on fixed sentence vectors: logistic regression, and SentEval's neural network."""
