"""Sentences in: files, named sets and the sample become plain, frozen values with a report."""
