"""The parts of the Plans page."""
