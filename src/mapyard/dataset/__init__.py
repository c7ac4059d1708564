"""A dataset directory: layout, manifest, open, verify, switch."""
