"""Vector tiles: Shortbread layers, encoder, TileJSON, style, glyphs, archives."""
