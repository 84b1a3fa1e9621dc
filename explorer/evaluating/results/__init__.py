"""Results as files and as a table, and which models really differ."""
