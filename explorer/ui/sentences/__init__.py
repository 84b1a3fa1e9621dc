"""The parts of the Sentences page."""
