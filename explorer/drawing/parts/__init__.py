"""What figures are made of: the draft of one, colours and texts, and many lines in one trace."""
