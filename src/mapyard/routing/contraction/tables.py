"""The prepared matrices of a graph: made at its build, checked against routes, opened when asked.

Beside the tiles lie the order of contraction (`matrix-order.npy`) and `matrix.json` with what the
check found, per mode. Everything else is worked out from the tiles when a mode is first asked
for; `docs/decisions/038-contracted-matrices.md` says what that takes.
"""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.search import is_available
from mapyard.routing.contraction.table import ModeTable
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.modes import TABLE_MODES, Mode

_META_NAME: Final = "matrix.json"
_ORDER_NAME: Final = "matrix-order.npy"
TILES_NAME: Final = "tiles.tar"
#: Rises when costs or rules change: tables that were checked under others are not used.
_FORMAT: Final = 6


@dataclass(frozen=True, slots=True)
class ModeCheck:
    """How often a mode's table agreed with routes, and whether it is used, up to where."""

    compared: int
    agreed: int
    is_used: bool
    #: As the crow flies; None: any distance.
    reach_m: float | None
    #: Whether routes have to look at all roads for that, far from both ends too.
    all_roads: bool = False


def write_meta(directory: Path, checks: dict[Mode, ModeCheck]) -> None:
    """Write matrix.json; modes without a check have no table."""
    content = {
        "format": _FORMAT,
        "engine": version("pyvalhalla"),
        "modes": {mode: asdict(check) for mode, check in checks.items()},
    }
    (directory / _META_NAME).write_text(json.dumps(content, indent=1) + "\n")


def write_order(directory: Path, edge_order: NDArray[np.uint32]) -> None:
    """Keep what took long to find."""
    np.save(directory / _ORDER_NAME, edge_order)


class Tables:
    """The tables of a graph, each opened when it is first asked for. Threads may share it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        checks = read_checks(directory) if is_available() else {}
        #: Whether routes by car look at all roads, as they were compared.
        self.all_roads = any(check.all_roads for check in checks.values())
        self._reaches_m = {mode: check.reach_m for mode, check in checks.items() if check.is_used}
        self._opened: dict[Mode, ModeTable] = {}
        self._lock = threading.Lock()

    def find(self, mode: Mode) -> ModeTable | None:
        """Return the mode's table, or None where the engine has to work its matrices out."""
        if mode not in self._reaches_m:
            return None
        with self._lock:
            if mode not in self._opened:
                graph = read_graph(self._directory / TILES_NAME)
                edge_order = np.load(self._directory / _ORDER_NAME)
                self._opened[mode] = ModeTable(graph, mode, edge_order, self._reaches_m[mode])
            return self._opened[mode]


def read_checks(directory: Path) -> dict[Mode, ModeCheck]:
    """Return what was written beside the tiles.

    Nothing where it was made under other rules, or compared with routes of another engine.
    """
    path = directory / _META_NAME
    content: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    if (content.get("format"), content.get("engine")) != (_FORMAT, version("pyvalhalla")):
        return {}
    return {
        mode: ModeCheck(**content["modes"][mode])
        for mode in TABLE_MODES
        if mode in content["modes"]
    }
