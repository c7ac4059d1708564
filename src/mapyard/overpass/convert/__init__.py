"""One query in its three forms: XML, Overpass QL with line breaks, and on one line."""
