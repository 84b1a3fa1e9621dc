"""The verbs of the command line, a file each: `add` states the flags, and what it sets as `verb` does the work."""
