"""Attention weights: of poolers over layers, and of self-attention heads."""
