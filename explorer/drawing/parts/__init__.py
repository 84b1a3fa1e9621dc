"""What figures are made of: their look and draft, and many lines in one trace."""
