"""Models, vectors and scores for pages: background jobs, caches and progress."""
