"""The model card of a tuned model."""
