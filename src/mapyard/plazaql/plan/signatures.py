"""What there is to call: functions, methods and their parameters.

A parameter with a ? may be left out, `*` takes any number of values, `**` takes tag filters.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class Phase(IntEnum):
    """Where in a chain a method may stand: free ones in any order, then late ones, one at last."""

    FREE = 1
    LATE = 2
    LAST = 3


class Signature(NamedTuple):
    """Parameters of a function or method."""

    parameters: tuple[str, ...]
    phase: Phase = Phase.FREE

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the single parameters."""
        return tuple(p.rstrip("?") for p in self.parameters if not p.startswith("*"))

    @property
    def required(self) -> tuple[str, ...]:
        """Names of those that may not be left out."""
        return tuple(p for p in self.parameters if not p.startswith("*") and not p.endswith("?"))


def _read(text: str, phase: Phase = Phase.FREE) -> dict[str, Signature]:
    found = {}
    for line in text.strip().splitlines():
        name, _, rest = line.strip().partition("(")
        parameters = tuple(part.strip() for part in rest.rstrip(")").split(",") if part.strip())
        found[name] = Signature(parameters, phase)
    return found


METHODS: Final[dict[str, Signature]] = {
    **_read("""
        within(geometry)
        around(distance, geometry)
        bbox(south, west, north, east)
        h3(cell)
        intersects(geometry)
        contains(geometry)
        crosses(geometry)
        touches(geometry)
        not_within(geometry)
        not_intersects(geometry)
        not_contains(geometry)
        member_of(source, role?)
        has_member(source, role?)
        filter(**)
        buffer(meters)
        simplify(meters)
        centroid()
        elevation()
        distance(geometry)
        area()
        length()
        fields(*)
        include(*)
        precision(decimals)
        expand(direction)
    """),
    **_read(
        """
        sort(by, order?)
        limit(count)
        offset(count)
        first()
        last()
        index(n)
        group_by(expression)
        """,
        Phase.LATE,
    ),
    **_read(
        """
        count()
        ids()
        tags()
        skel()
        geom()
        sum(expression)
        min(expression)
        max(expression)
        avg(expression)
        """,
        Phase.LAST,
    ),
}
#: Methods that may follow group_by.
AGGREGATES: Final = ("count", "sum", "min", "max", "avg")
#: Methods that may be directives.
DIRECTIVES: Final = (
    "within", "around", "bbox", "h3", "intersects", "contains", "crosses", "touches", "not_within",
    "not_intersects", "not_contains", "filter", "limit",
)  # fmt: skip
FUNCTIONS: Final = _read("""
    search(**)
    boundary(**)
    dataset(slug)
    point(lat, lng)
    linestring(*)
    polygon(*)
    bbox(south, west, north, east)
    circle(center, radius)
    geocode(q, limit?)
    reverse_geocode(point, radius?, limit?)
    autocomplete(q, limit?)
    text_search(q, limit?)
    nearest(point, radius?, limit?, type?, **)
    route(origin, destination, mode?)
    isochrone(center, time, mode?)
    matrix(sources, destinations?, mode?, *)
    map_match(points, mode?)
    optimize(points?, mode?, *)
    ev_route(origin, destination, battery, initial_charge_pct?, min_charge_pct?, mode?)
    elevation(point)
    elevation_profile(line)
""")
#: Functions of an expression about one element, and how many values they take.
OF_ELEMENTS: Final = {
    "id": 0, "type": 0, "lat": 0, "lon": 0, "length": 0, "area": 0, "elevation": 0, "is_closed": 0,
    "distance": 1, "number": 1, "is_number": 1, "size": 1,
    "starts_with": 2, "ends_with": 2, "str_contains": 2,
}  # fmt: skip
TYPES: Final = ("node", "way", "relation", "nwr")
