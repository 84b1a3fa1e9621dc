"""Figures of many sentences: maps and histograms."""
