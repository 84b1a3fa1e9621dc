"""What attends to what: poolers over layers, and heads of self-attention."""
