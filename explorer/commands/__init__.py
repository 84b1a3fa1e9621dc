"""The commands. `score_flags` adds the flags of `score`, which does the work; its docstring is the help."""
