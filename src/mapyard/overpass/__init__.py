"""Overpass QL on the store. The way of a query, room by room:

engine.py         the door: a text goes in, sets and outputs come out
parse/            text → tokens (lexer) → statements (parser, criteria, values; syntax.py has
                  them all); before that, macros.py expands `{{bbox}}` and the like, and xmlform.py
                  writes the XML form as QL
convert/          one query in its three forms: XML, QL with line breaks, QL on one line
run/              statements → sets: execute.py runs each one, select.py answers queries by the best
                  index, recursion.py follows members, evaluate.py computes values (`if:`, `make`)
space/            where elements are: boxes, `around`, polygons, on the original's sphere
osm/              what the store knows: sets as sorted rows, columns derived once, places by name
write/            sets → answers: JSON, XML and CSV of the original, GeoJSON, and their order
"""
