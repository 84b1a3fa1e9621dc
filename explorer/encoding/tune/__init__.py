"""A trainable copy of an encoder."""
