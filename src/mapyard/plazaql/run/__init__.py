"""Running a query: elements, geometries, expressions, outputs."""
