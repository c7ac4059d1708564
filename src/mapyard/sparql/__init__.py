"""SPARQL 1.1 with GeoSPARQL: parser, algebra, compilation, results."""
