"""Pure functions on coordinates and shapes."""
