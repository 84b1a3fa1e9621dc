"""A copy of an encoder that carries gradients."""
