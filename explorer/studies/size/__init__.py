"""How quality falls as an encoder gets smaller: fewer layers, fewer dimensions, fewer bits."""
