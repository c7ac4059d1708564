"""Weighing candidates: free text, crossings, fields, unfinished text, positions."""
