"""Figures of single sentences, pairs and probe packs."""
