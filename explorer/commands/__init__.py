"""The commands, one file each: its first lines are the help, `state` adds the flags, and `run` does the work."""
