"""Compare two encoders on the same pairs."""
