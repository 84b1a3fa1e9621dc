"""What weighing words needs besides the encoder."""
