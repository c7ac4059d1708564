"""OSRM's HTTP API, version 1: route, table, nearest, match, trip."""
