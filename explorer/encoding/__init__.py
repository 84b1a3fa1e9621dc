"""Sentences to vectors: find an encoder, load it, read every layer under every pooling."""
