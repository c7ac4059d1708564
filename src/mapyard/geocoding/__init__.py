"""Forward, reverse, autocomplete and batch geocoding."""
