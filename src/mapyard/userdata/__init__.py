"""Datasets of people's own: files read row by row, written as a feature store of their own."""
