"""From a file to portions of rows: one module per format."""
