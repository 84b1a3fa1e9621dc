"""The Size page: what an encoder loses and gains as it gets smaller."""
