"""Mapyard as a library: one typed call per question."""
