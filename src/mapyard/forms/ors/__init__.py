"""openrouteservice's API, version 2: directions, matrix, isochrones, snap, elevation."""
