"""Routing on Valhalla: routes, nearest roads, isochrones, matrices, matching, tours.

from pathlib import Path
import numpy as np
from mapyard.routing import find_routes, open_routing

engine = open_routing(Path("DATA/current/routing"))
routes = find_routes(engine, np.array([[9.5209, 47.1410], [9.5100, 47.2000]]), "auto")
"""

from __future__ import annotations

from pathlib import Path

from mapyard.routing.contraction.tables import TILES_NAME
from mapyard.routing.engine import Engine
from mapyard.routing.isochrone import find_isochrones
from mapyard.routing.matching.match import match_trace
from mapyard.routing.matrix import compute_matrix
from mapyard.routing.nearest import find_nearest
from mapyard.routing.route import find_routes
from mapyard.routing.tours.order import optimize_order

__all__ = [
    "Engine",
    "compute_matrix",
    "find_isochrones",
    "find_nearest",
    "find_routes",
    "match_trace",
    "open_routing",
    "optimize_order",
]


def open_routing(directory: Path, own_speeds: Path | None = None) -> Engine:
    """Open the graph in a directory, with a set of own speeds; raise FileNotFoundError."""
    return Engine(directory / TILES_NAME, own_speeds=own_speeds)
