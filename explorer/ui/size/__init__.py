"""The parts of the Size page."""
