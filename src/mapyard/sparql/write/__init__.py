"""From solutions and triples to the bytes of an answer."""
