"""Dashboard and playground pages."""
