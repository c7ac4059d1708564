"""Other SPARQL services: SERVICE asks those that the operator allows."""
