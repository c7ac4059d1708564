"""GraphHopper's API: route, isochrone, matrix, geocode, match, nearest."""
