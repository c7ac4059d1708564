"""Writing results: features, addresses in the order of a country, rows of a batch."""
