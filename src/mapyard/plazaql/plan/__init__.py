"""Checking a query: names, arguments, the order of methods."""
