"""Train a model from a recipe: method, text and settings in; a folder with the tuned model and its record out."""
