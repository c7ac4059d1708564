"""Overpass QL: parser, plan, execution, output."""
