"""Find a model: the folder that a name means, on this disk or on the hub."""
