"""Two sentences token by token, in a dialog that several pages open."""
