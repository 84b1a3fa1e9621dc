"""The exported model and its model card."""
