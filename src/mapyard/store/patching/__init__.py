"""A new store out of an old one and changes."""
