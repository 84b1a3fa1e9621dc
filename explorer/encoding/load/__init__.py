"""Load a model from its folder: checked first, then transformer, tokenizer and declared pooling."""
