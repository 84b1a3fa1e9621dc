"""A method, text and a recipe become a run: a folder with a tuned encoder in it, and how it came about."""
