"""What may be said of each end and stop of a route, beyond its position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

type Side = Literal["any", "same", "opposite"]
type Unsnappable = Literal["motorway", "tunnel", "bridge", "ferry", "ramp", "toll"]

_SIDES: Final = {"same": "same", "opposite": "opposite"}
_FILTERS: Final[dict[Unsnappable, dict[str, Any]]] = {
    "motorway": {"max_road_class": "trunk"},
    "tunnel": {"exclude_tunnel": True},
    "bridge": {"exclude_bridge": True},
    "ferry": {"exclude_ferry": True},
    "ramp": {"exclude_ramp": True},
    "toll": {"exclude_toll": True},
}
HEADING_TOLERANCE_DEG: Final = 45.0


@dataclass(frozen=True, slots=True)
class Stop:
    """How a position is to be left or reached."""

    #: Direction of travel there, clockwise from north.
    heading_deg: float | None = None
    heading_tolerance_deg: float = HEADING_TOLERANCE_DEG
    #: On which side of the road it is to lie, as one drives: same is the side one drives on.
    side: Side = "any"
    #: Passed without stopping: no new leg, and no turning around there.
    is_through: bool = False
    #: A stop where one does not turn around.
    keeps_on: bool = False
    radius_m: float | None = None
    #: Kinds of roads that it does not go to.
    unsnappable: tuple[Unsnappable, ...] = ()

    def write(self) -> dict[str, Any]:
        """Return the members of the engine's location."""
        written: dict[str, Any] = {}
        if self.heading_deg is not None:
            written |= {
                "heading": round(self.heading_deg) % 360,
                "heading_tolerance": round(self.heading_tolerance_deg),
            }
        if self.side in _SIDES:
            written["preferred_side"] = _SIDES[self.side]
        if self.is_through:
            written["type"] = "through"
        elif self.keeps_on:
            written["type"] = "break_through"
        if self.radius_m is not None:
            written["search_cutoff"] = self.radius_m
        if self.unsnappable:
            merged: dict[str, Any] = {}
            for name in self.unsnappable:
                merged |= _FILTERS[name]
            written["search_filter"] = merged
        return written
