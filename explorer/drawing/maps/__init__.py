"""Figures of many sentences at once."""
