"""Runs as several pages show them: queue, metrics, curves and words."""
