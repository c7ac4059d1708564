"""Mapyard: the whole map API out of one OpenStreetMap extract."""

__version__ = "0.1.0"
