"""The parts of the Layer attention page."""
