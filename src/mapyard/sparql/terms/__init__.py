"""RDF terms, their values and their ids."""
