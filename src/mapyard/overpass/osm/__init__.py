"""What the store knows of elements, as Overpass QL needs it."""
