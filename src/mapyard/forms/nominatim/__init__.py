"""Nominatim's API: /search, /reverse, /lookup, /details, /status (version 5)."""
