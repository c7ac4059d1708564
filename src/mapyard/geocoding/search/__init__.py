"""The opened data, and the candidates for the words of a query."""
