"""Where elements are: boxes, distances, polygons and areas."""
