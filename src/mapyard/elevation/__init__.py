"""Elevation models: reading, sampling, profiles."""
