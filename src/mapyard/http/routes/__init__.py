"""The endpoints: one module per group. A module listed here is served and documented."""

from __future__ import annotations

import importlib
from types import ModuleType

from mapyard.plugins import list_of

#: Modules of this package, in the order of the reference.
MODULES: tuple[str, ...] = (
    "features",
    "search",
    "tags",
    "geocode",
    "route",
    "nearest",
    "isochrone",
    "matrix",
    "map_match",
    "optimize",
    "elevation",
    "overpass",
    "query",
    "sparql",
    "sparql_protocol",
    "datasets",
    "tiles",
    "static",
    "terrain",
    "docs",
    "limits",
    "system",
)


def load_modules() -> list[ModuleType]:
    """Import and return the listed modules, and those of plugins."""
    ours = [importlib.import_module(f"{__name__}.{name}") for name in MODULES]
    return [*ours, *list_of("ENDPOINTS")]
