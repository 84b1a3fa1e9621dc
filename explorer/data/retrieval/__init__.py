"""Retrieval sets: queries, documents, and which documents are relevant to a query."""
