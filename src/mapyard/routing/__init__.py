"""Routes, nearest roads, isochrones, matrices, map matching and optimization on Valhalla."""
