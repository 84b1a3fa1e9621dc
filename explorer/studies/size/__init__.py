"""How quality falls as an encoder gets smaller: fewer layers, words, dimensions and bits."""
