"""Valhalla's API: the engine is Valhalla, so that most of its answers go through as they are."""
