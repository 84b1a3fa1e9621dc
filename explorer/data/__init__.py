"""Text data: files, published sets and the sample, read into immutable values with a report."""
