"""OGC API: Features (parts 1 to 3) and Tiles."""
