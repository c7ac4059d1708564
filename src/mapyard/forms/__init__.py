"""The wire forms of other services: whoever uses one of them changes an address and is done.

Each form translates parameters into our questions and answers into theirs; it holds no logic of
search or routing. What a form wants and an engine lacks becomes an option of the engine.

- `/nominatim`: search, reverse, lookup, details, status (nominatim/)
- `/photon`: api, structured, reverse (photon.py)
- `/pelias`: search, autocomplete, structured, reverse, place (pelias.py)
- `/ogc`: OGC API Features and Tiles (ogc/)
- `/osrm`: route, table, nearest, match, trip (osrm/)
- `/valhalla`: route, optimized_route, sources_to_targets, isochrone, trace_route, trace_attributes,
  locate, height, expansion, status (valhalla/)
- `/ors`: openrouteservice's directions, matrix, isochrones, snap, optimization, elevation (ors/)
- `/graphhopper`: route, isochrone, matrix, match, geocode, nearest (graphhopper/)
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Final

#: Modules with endpoints, in the order of the reference.
MODULES: Final = (
    "nominatim.endpoints",
    "nominatim.details",
    "photon",
    "pelias",
    "ogc.features",
    "ogc.tiles",
    "osrm.endpoints",
    "osrm.points",
    "osrm.traces",
    "valhalla.endpoints",
    "valhalla.expansion",
    "ors.directions",
    "ors.endpoints",
    "graphhopper.endpoints",
)


def load_modules() -> list[ModuleType]:
    """Import and return the modules of all forms."""
    return [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
