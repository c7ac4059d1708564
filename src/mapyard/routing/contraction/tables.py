"""The prepared matrices of a graph: made at its build, checked against routes, opened when asked.

Beside the tiles lie the folder `hierarchy`, with flat arrays for all modes and a folder for each
(docs/decisions/039-own-hierarchy.md), and `matrix.json` with what the check found, per mode.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from mapyard.errors import MapyardError
from mapyard.routing.contraction.table import ModeTable, SharedTable
from mapyard.routing.kernels import KernelsMissing, load_kernels
from mapyard.routing.modes import Mode
from mapyard.routing.profiles import PROFILES

log = logging.getLogger(__name__)

_META_NAME: Final = "matrix.json"
_FOLDER_NAME: Final = "hierarchy"
_OWN_NAME: Final = "speeds.json"
TILES_NAME: Final = "tiles.tar"
#: Rises when costs, rules or arrays change: tables that were made under others are not used.
_FORMAT: Final = 10


@dataclass(frozen=True, slots=True)
class ModeCheck:
    """How often a profile's table agreed with routes, and whether it is used, up to where."""

    compared: int
    agreed: int
    is_used: bool
    #: As the crow flies; None: any distance.
    reach_m: float | None
    #: Whether routes have to look at all roads for that, far from both ends too.
    all_roads: bool = False


def write_meta(directory: Path, checks: dict[str, ModeCheck], chosen: Collection[str] = ()) -> None:
    """Write matrix.json; profiles without a check have no table. `chosen` are those asked for."""
    content = {
        "format": _FORMAT,
        "engine": version("pyvalhalla"),
        "chosen": sorted(chosen),
        "modes": {name: asdict(check) for name, check in checks.items()},
    }
    (directory / _META_NAME).write_text(json.dumps(content, indent=1) + "\n")


def get_folder(directory: Path, profile: str = "") -> Path:
    """Return where the arrays of a profile lie, or those of all."""
    return directory / _FOLDER_NAME / profile


class Tables:
    """The tables of a graph, each opened when it is first asked for. Threads may share it."""

    def __init__(self, directory: Path, own: Path | None = None) -> None:
        """Open the graph of a directory; `own` is a set of speeds that was made for it."""
        self._directory = directory
        checks = read_checks(directory) if _can_search() else {}
        #: Whether routes by car look at all roads, as they were compared.
        self.all_roads = any(check.all_roads for check in checks.values())
        self._reaches_m = {name: check.reach_m for name, check in checks.items() if check.is_used}
        self._shared: SharedTable | None = None
        self._opened: dict[str, ModeTable] = {}
        self._lock = threading.Lock()
        #: Modes with own speeds, of which the engine knows nothing.
        self.own_modes = frozenset[Mode]()
        if own is not None:
            self._open_own(own)

    def _open_own(self, own: Path) -> None:
        """Open the tables of own speeds at once: the set may be replaced and removed."""
        try:
            modes = frozenset(read_own(own))
            why = "another version prepared them" if is_own_outdated(own) else ""
            if not why and modes <= self._reaches_m.keys():
                shared = self._open_shared()
                opened: dict[str, ModeTable] = {
                    mode: ModeTable(shared, own / mode, PROFILES[mode], has_own_speeds=True)
                    for mode in modes
                }
                self._opened |= opened
                self.own_modes = modes
                return
        except (MapyardError, OSError, ValueError) as error:
            why = str(error)
        log.error(
            "own speeds are not used: %s; ways are at the speeds of the map. Import them again: "
            "mapyard speeds import FILE.csv", why or "the map has no prepared ways in their modes",
        )  # fmt: skip

    def _open_shared(self) -> SharedTable:
        if self._shared is None:
            self._shared = SharedTable(get_folder(self._directory), self._directory / TILES_NAME)
        return self._shared

    def find(self, name: str | None) -> ModeTable | None:
        """Return a profile's table, or None where the engine has to work its matrices out.

        Modes are profiles; others have no own speeds where their mode has.
        """
        if name not in self._reaches_m:
            return None
        profile = PROFILES[name]
        if name != profile.mode and profile.mode in self.own_modes:
            return None
        if name in self._opened:
            return self._opened[name]
        with self._lock:
            if name not in self._opened:
                self._opened[name] = ModeTable(
                    self._open_shared(),
                    get_folder(self._directory, name),
                    profile,
                    self._reaches_m[name],
                )
            return self._opened[name]


@dataclass(frozen=True, slots=True)
class OwnSpeeds:
    """What a set of own speeds holds in a mode."""

    rows: int
    edges: int
    closed: int


def write_own(folder: Path, dataset: str, speeds: dict[Mode, OwnSpeeds]) -> None:
    """Write what a set of own speeds holds, and for which dataset."""
    content = {
        "format": _FORMAT,
        "dataset": dataset,
        "modes": {mode: asdict(own) for mode, own in speeds.items()},
    }
    (folder / _OWN_NAME).write_text(json.dumps(content, indent=1) + "\n")


def read_own(folder: Path) -> dict[Mode, OwnSpeeds]:
    """Return what a set of own speeds holds; raise where it is damaged."""
    try:
        content = json.loads((folder / _OWN_NAME).read_text())
        return {mode: OwnSpeeds(**own) for mode, own in content["modes"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MapyardError(
            "the own speeds are damaged; import them again (mapyard speeds import FILE.csv), or "
            "switch them off (mapyard speeds remove)"
        ) from error


def is_own_outdated(folder: Path) -> bool:
    """Return whether another version prepared a set of own speeds, so that it is not used."""
    made: Any = json.loads((folder / _OWN_NAME).read_text())["format"]
    return bool(made != _FORMAT)


def _can_search() -> bool:
    try:
        load_kernels()
    except KernelsMissing as error:
        log.warning("all ways are left to the engine, which is slower: %s", error)
        return False
    return True


def read_checks(directory: Path) -> dict[str, ModeCheck]:
    """Return what was written beside the tiles.

    Nothing where it was made under other rules, or compared with routes of another engine.
    """
    content = _read_meta(directory)
    made, wanted = _made_by(content), (_FORMAT, version("pyvalhalla"))
    if made != wanted:
        if content.get("modes"):
            log.warning(
                "all ways are left to the engine, which is slower: they were prepared by another "
                "version (format %s for engine %s, not %s for %s); run: mapyard datasets upgrade",
                *made, *wanted,
            )  # fmt: skip
        return {}
    return {
        name: ModeCheck(**content["modes"][name]) for name in PROFILES if name in content["modes"]
    }


def is_outdated(directory: Path) -> bool:
    """Return whether ways were prepared by another version, so that the engine answers them."""
    content = _read_meta(directory)
    return bool(content.get("modes")) and _made_by(content) != (_FORMAT, version("pyvalhalla"))


def find_missing(directory: Path, chosen: Collection[str]) -> list[str]:
    """Return the chosen profiles that a graph was built without."""
    return sorted(set(chosen) - set(_read_meta(directory).get("chosen", ())))


def _read_meta(directory: Path) -> dict[str, Any]:
    path = directory / _META_NAME
    content: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return content


def _made_by(content: dict[str, Any]) -> tuple[Any, Any]:
    return content.get("format"), content.get("engine")
