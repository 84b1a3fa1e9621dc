"""The way between a base and a tuned model: scores of the blends of their weights, and their export."""
