"""Self-contained HTML pages: a comparison, the words behind cosines, and what every page is made of."""
