"""The parts of the Map page."""
