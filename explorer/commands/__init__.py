"""The commands of the command line, one file each: `add` states the flags, and its `verb` does the work."""
