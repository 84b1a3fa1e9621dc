"""Compare vectors of a server with those of a model here, and find the setting that explains a difference."""
