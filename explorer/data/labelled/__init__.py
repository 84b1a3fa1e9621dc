"""Labelled sets for classification: published ones and the user's own, with their splits."""
