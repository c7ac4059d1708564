"""A road graph out of a file: the engine's tools, with borders and time zones of our own."""
