"""Evaluate encoders on published tasks and on a user's own files, under every layer & pooling."""
