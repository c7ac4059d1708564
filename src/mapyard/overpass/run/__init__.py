"""From statements to sets of elements."""
