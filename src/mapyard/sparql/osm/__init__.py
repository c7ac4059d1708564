"""OpenStreetMap as triples, straight from the columns of the store."""
