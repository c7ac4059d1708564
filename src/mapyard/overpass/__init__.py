"""Overpass QL on the store: parser, execution, output."""
