"""From sets of elements to the bytes of an answer."""
