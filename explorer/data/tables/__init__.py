"""Read files: tables of text cells, the role of each column, rows and reports."""
