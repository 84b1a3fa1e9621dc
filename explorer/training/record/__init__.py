"""The folder of a run: recipe, status, metrics and verdict."""
