"""What OSM means: element types, reading files, the area rule, multipolygons, tag helpers."""
