"""The tasks, a file for each kind."""
