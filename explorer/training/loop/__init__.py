"""The training loop: steps, resuming, cost and processes."""
