"""Calls into the routing engine: one actor per running call, errors turned into ours.

Two calls at once in an actor crash the process, so a call takes one for itself and puts it back
after. Actors let go of the interpreter lock while they work, so threads run in parallel. The tiles
are mapped into memory and shared by all actors of all processes; beside them an actor keeps some
20 MB, which is why there are no more of them than calls have run at once.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any, Final, Literal

import orjson
from valhalla import Actor, ValhallaError

from mapyard.errors import MapyardError, NotFound, TooLarge, Unsupported
from mapyard.routing.config import make_serve_config
from mapyard.routing.contraction.tables import Tables
from mapyard.routing.hours import Hours
from mapyard.routing.meta import has_slopes
from mapyard.routing.tagging.pieces import name_ways

Action = Literal[
    "route", "locate", "isochrone", "matrix", "trace_route", "trace_attributes", "expansion"
]

#: What depends on the speeds of roads.
_BY_SPEED: Final = frozenset(("route", "isochrone", "matrix", "expansion"))

#: Codes of the engine: https://valhalla.github.io/valhalla/api/turn-by-turn/api-reference/
NO_ROAD: Final = 171
TOO_FAR: Final = 154
NO_WAY: Final = 442
_NO_WAY: Final = frozenset((170, 430, 441, NO_WAY))
_NO_MATCH: Final = frozenset((172, 443, 444))
_LIMITS: Final = frozenset((150, 151, 152, 153, 157, 158, 166, 167, 168))


class NoRoad(NotFound):
    """No road near a position; the engine does not say which one: see snapping.explain()."""

    code = "no_road_found"


class NoRoute(NotFound):
    """The positions are on roads, but no way leads from one to the other."""

    code = "no_route_found"


class OwnSpeedsOn(Unsupported):
    """Only the engine could answer, which has not the own speeds that are on."""


class TooFarApart(TooLarge):
    """The positions are farther apart than this mode's limit, or off the map."""


class _Calls(threading.local):
    """How often the engine was asked in this thread."""

    count = 0


_calls = _Calls()


def count_calls() -> int:
    """Return how often this thread has asked the engine so far."""
    return _calls.count


class Engine:
    """Actors over one tar of tiles."""

    def __init__(
        self, tiles_tar: Path, *, all_roads: bool = False, own_speeds: Path | None = None
    ) -> None:
        """Open the tar; `all_roads`, which the graph's tables may ask for too, is of `config`.

        `own_speeds` are a set that was made for the graph. Raises `FileNotFoundError`.
        """
        if not tiles_tar.is_file():
            raise FileNotFoundError(tiles_tar)
        #: Prepared matrices of the same graph.
        self.tables = Tables(tiles_tar.parent, own_speeds)
        #: Where turns and roads are closed at certain hours.
        self.hours = Hours.read(tiles_tar.parent)
        #: Whether its roads have grades.
        self.has_slopes = has_slopes(tiles_tar.parent)
        all_roads |= self.tables.all_roads
        self._configs = {
            kind: make_serve_config(tiles_tar, one_search_per_origin=kind, all_roads=all_roads)
            for kind in (True, False)
        }
        #: Actors that no call uses, by kind; the one used last is taken first.
        self._idle: dict[bool, list[Actor]] = {True: [], False: []}

    def call(
        self, action: Action, request: dict[str, Any], *, one_search_per_origin: bool = True
    ) -> Any:
        """Return the engine's decoded answer; raises as `ask` does."""
        text = self.ask(action, request, one_search_per_origin=one_search_per_origin)
        return name_ways(action, orjson.loads(text))

    def ask(
        self, action: Action, request: dict[str, Any], *, one_search_per_origin: bool = True
    ) -> str:
        """Return the engine's answer as text.

        Raises `NoRoad`, `NoRoute`, `TooFarApart`, or another `MapyardError` for what the engine
        refuses, and `OwnSpeedsOn` for ways in a mode whose speeds it does not have.
        """
        if action in _BY_SPEED:
            self.refuse_own_speeds(request.get("mode"))
        text = orjson.dumps(request, option=orjson.OPT_SERIALIZE_NUMPY).decode()
        _calls.count += 1
        idle = self._idle[one_search_per_origin]
        try:
            actor = idle.pop()
        except IndexError:
            actor = make_actor(self._configs[one_search_per_origin])
        try:
            answer: str = getattr(actor, action)(text)
        except ValhallaError as error:
            idle.append(actor)
            raise explain_error(error.code, error.message) from error
        except RuntimeError as error:
            # A fault of its own, such as "EdgeStatus Update on edge not previously set" on some
            # routes; the actor is not asked again.
            raise MapyardError(f"the routing engine failed: {error}") from error
        idle.append(actor)
        return answer

    def refuse_own_speeds(self, mode: str | None) -> None:
        """Raise `OwnSpeedsOn` where a mode has speeds that the engine does not know."""
        if mode in self.tables.own_modes:
            raise OwnSpeedsOn(
                f"own speeds are on for mode {mode}, and only ways at default options have them: "
                "leave out alternatives, costing, exclude, avoid…, times, headings and sides of "
                "stops, or switch own speeds off (mapyard speeds remove)",
                details={"mode": [f"own speeds are on for {mode}"]},
            )

    def close(self) -> None:
        """Let all actors go; no call may be running."""
        for actors in self._idle.values():
            actors.clear()


def make_actor(config: dict[str, Any]) -> Actor:
    """Return an actor of its own; no two threads may be in it at once."""
    # From a file, which is read once: given a mapping, the binding leaves a file behind each time.
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(orjson.dumps(config))
        file.flush()
        return Actor(Path(file.name))


def explain_error(code: int, message: str) -> MapyardError:
    """Return our error for an error code of the engine."""
    if code == NO_ROAD:
        return NoRoad("there is no road near a position")
    if code in _NO_WAY:
        return NoRoute(
            "no way leads from one position to the other in this mode: "
            "they may lie on different islands, or behind roads closed to this mode"
        )
    if code == TOO_FAR:
        return TooFarApart("the positions are too far apart for this mode")
    if code in _NO_MATCH:
        return Unsupported(
            "the trace cannot be matched to roads: too far from them, or its points too far apart",
            details={"trace": ["cannot be matched to roads"]},
        )
    if code in _LIMITS:
        return TooLarge(f"beyond a limit of the routing engine: {message}")
    if 100 <= code < 200:
        return Unsupported(f"the routing engine refused the request: {message}")
    return MapyardError(f"the routing engine failed with code {code}")
