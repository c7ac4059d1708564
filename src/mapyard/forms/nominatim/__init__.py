"""Nominatim's API: /search, /reverse, /lookup, /status (nominatim.org/release-docs, version 5)."""
