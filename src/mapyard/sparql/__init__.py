"""SPARQL 1.1 with GeoSPARQL on the store. The way of a query, room by room:

engine.py         the door: a text goes in; solutions, a boolean or triples come out
parse/            text → tokens (lexer, stream) → algebra (parser, pattern, expression)
plan/             the algebra (algebra.py has all its nodes) and rewrites that keep its meaning
run/              algebra → tables: evaluate.py has the operators, bgp.py orders and asks patterns,
                  expressions.py and functions.py compute, geosparql.py and spatial.py know shapes
terms/            RDF terms, their values, and their ids: 64-bit numbers that all tables hold
sources/          what the evaluator asks of data (source.py), and a plain graph in memory
osm/              OpenStreetMap as such data: vocabulary.py lists the predicates, tags, members,
                  shapes answer them from the store's columns
write/            solutions → JSON, XML, CSV, TSV or GeoJSON; triples → Turtle, N-Triples
"""
