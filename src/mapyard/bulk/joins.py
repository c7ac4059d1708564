"""`bulk enrich`: elements of the map joined to rows, the nearest of a kind or the area around."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from mapyard.bulk.blocks import ERROR, Column
from mapyard.bulk.places import read_position
from mapyard.bulk.read import Source
from mapyard.bulk.tasks import PlacedTask, Spot, Wishes
from mapyard.errors import InvalidRequest
from mapyard.features.nearby import list_nearby
from mapyard.features.query import FeatureQuery, collect_rows
from mapyard.features.regions import ShapeRegion
from mapyard.features.tags import TagFilter, parse_tag_filters
from mapyard.library.call import Call
from mapyard.osm.elements import RELATION, TYPE_NAMES, WAY
from mapyard.params.positions import Position
from mapyard.results.pages import PageRequest

DEFAULT_RADIUS_M: Final = 1_000.0
MAX_RADIUS_M: Final = 100_000.0
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


class Join(NamedTuple):
    """What is joined: elements with these tags, under this name."""

    name: str
    tags: tuple[str, ...]
    is_area: bool


class _Found(NamedTuple):
    """The best element of a dataset for a row."""

    call: Call
    row: int
    #: How far it is, or how large, and its eid: the least is the best.
    key: tuple[float, int]


def parse_join(text: str, option: str, *, is_area: bool) -> Join:
    """Read `pharmacy:amenity=pharmacy,opening_hours`; the name may be left out."""
    head, colon, rest = text.partition(":")
    named = bool(colon) and "=" not in head and _NAME.fullmatch(head) is not None
    tags = tuple(part.strip() for part in (rest if named else text).split(",") if part.strip())
    if not tags:
        raise InvalidRequest(f"{option}: name tags, as amenity=pharmacy")
    key, _, value = tags[-1].partition("=")
    name = head if named else re.sub(r"\W+", "_", value if value and value != "*" else key)
    return Join(name.strip("_"), tags, is_area)


class Enriching(PlacedTask):
    """Adds, for each join, the element's id, name, distance and tags that were asked for."""

    question = "nearby"

    def __init__(self, source: Source, wishes: Wishes) -> None:
        super().__init__(source, wishes)
        self.radius_m = wishes.radius_m or DEFAULT_RADIUS_M
        if not 0 < self.radius_m <= MAX_RADIUS_M:
            raise InvalidRequest(f"--within: must be above 0 and at most {MAX_RADIUS_M:,.0f} m")
        self.joins = [
            *(parse_join(text, "--nearest", is_area=False) for text in wishes.nearest),
            *(parse_join(text, "--inside", is_area=True) for text in wishes.inside),
        ]
        if not self.joins:
            raise InvalidRequest(
                "say what is joined: --nearest amenity=pharmacy, or --inside "
                "boundary=administrative,admin_level=8; both may be given several times"
            )
        names = [join.name for join in self.joins]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidRequest(
                f"two joins are called {twice}; give them names: first:amenity=…, second:amenity=…"
            )
        self.added = []
        for join in self.joins:
            self.added += [Column(f"{join.name}_id", "text"), Column(f"{join.name}_name", "text")]
            if not join.is_area:
                self.added.append(Column(f"{join.name}_distance_m", "number"))
            self.added += [Column(f"{join.name}_{_as_name(tag)}", "text") for tag in wishes.tags]
        self.added.append(Column(ERROR, "text"))

    def answer_row(self, call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what all joins add to a row."""
        return self.join([call], row)

    def locate(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return where on Earth a row is, and how far it looks."""
        radius_m = 0.0 if all(join.is_area for join in self.joins) else self.radius_m
        return Spot(Position(*read_position(rows[0], self.place)), radius_m)

    def join(self, calls: Sequence[Call], row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what all joins add to a row: the best that any of the datasets knows."""
        lon, lat = read_position(row, self.place)
        told: dict[str, Any] = {}
        for join in self.joins:
            find = self._find_inside if join.is_area else self._find_nearest
            found = [best for call in calls if (best := find(call, join, lon, lat)) is not None]
            if found:
                best = min(found, key=lambda one: one.key)
                told |= self._describe(best, join)
        return told

    def _read_tags(self, call: Call, join: Join) -> tuple[TagFilter, ...]:
        return parse_tag_filters((), join.tags, lambda key: call.store.find_key(key) >= 0, "tags")

    def _find_nearest(self, call: Call, join: Join, lon: float, lat: float) -> _Found | None:
        found = list_nearby(
            call.store, call.snapshot.id, lon, lat, self.radius_m, PageRequest(1), call.deadline,
            tags=self._read_tags(call, join),
        )  # fmt: skip
        if not len(found.rows):
            return None
        assert found.distances_m is not None
        row = int(found.rows[0])
        return _Found(
            call, row, (float(found.distances_m[0]), int(call.store.eids(found.rows[:1])[0]))
        )

    def _find_inside(self, call: Call, join: Join, lon: float, lat: float) -> _Found | None:
        """Return the smallest area with these tags that holds a position."""
        region = ShapeRegion("intersects", shapely.Point(lon, lat))
        query = FeatureQuery((WAY, RELATION), self._read_tags(call, join), region)
        rows = collect_rows(call.store, query, call.deadline)
        rows = rows[call.store.is_area(rows)]
        if not len(rows):
            return None
        sizes = shapely.area(call.store.geometries(rows))
        at = int(np.argmin(sizes))
        return _Found(call, int(rows[at]), (float(sizes[at]), int(call.store.eids(rows[[at]])[0])))

    def _describe(self, found: _Found, join: Join) -> dict[str, Any]:
        tags = found.call.store.tags(found.row)
        size, eid = found.key
        told: dict[str, Any] = {
            f"{join.name}_id": f"{TYPE_NAMES[eid & 3]}/{eid >> 2}",
            f"{join.name}_name": tags.get("name"),
        }
        if not join.is_area:
            told[f"{join.name}_distance_m"] = round(size, 2)
        return told | {f"{join.name}_{_as_name(tag)}": tags.get(tag) for tag in self.wishes.tags}


def _as_name(tag: str) -> str:
    return re.sub(r"\W+", "_", tag)
