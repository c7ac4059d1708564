"""Overpass QL's meaning in plain Python over pyosmium: slow, simple, and written apart from ours.

No array, index or geometry library: elements in dictionaries, segments in loops.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import osmium

type Key = tuple[str, int]
type Found = set[Key]
type Tags = dict[str, str]
type Point = tuple[int, int]  # lon, lat in 1e-7 degree
type Segment = tuple[Point, Point]

RADIUS_M = 20_000_000 / math.pi


@dataclass
class Element:
    tags: Tags
    version: int
    timestamp: int
    point: Point | None = None
    refs: list[int] = field(default_factory=list)
    members: list[tuple[str, int, str]] = field(default_factory=list)


class World:
    """All elements of an extract."""

    def __init__(self, path: Path) -> None:
        self.elements: dict[Key, Element] = {}
        for item in osmium.FileProcessor(str(path)):
            tags = {tag.k: tag.v for tag in item.tags}
            element = Element(tags, item.version, int(item.timestamp.timestamp()))
            if item.is_node():
                element.point = (item.location.x, item.location.y)
                self.elements["node", item.id] = element
            elif item.is_way():
                element.refs = [node.ref for node in item.nodes]
                self.elements["way", item.id] = element
            else:
                names = {"n": "node", "w": "way", "r": "relation"}
                element.members = [(names[m.type], m.ref, m.role) for m in item.members]
                self.elements["relation", item.id] = element

    # ---- choosing

    def select(self, kinds: str, keep: Callable[[Tags], bool]) -> Found:
        """Return elements of the kinds (letters n, w, r) whose tags are kept."""
        return {
            key
            for key, element in self.elements.items()
            if key[0][0] in kinds and keep(element.tags)
        }

    def where(self, kinds: str, keep: Callable[[Key, Element], bool]) -> Found:
        return {
            key
            for key, element in self.elements.items()
            if key[0][0] in kinds and keep(key, element)
        }

    def tags(self, key: Key) -> Tags:
        return self.elements[key].tags

    # ---- members

    @cached_property
    def ways_of_node(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for (kind, number), element in self.elements.items():
            if kind == "way":
                for ref in element.refs:
                    found[ref].add(number)
        return found

    @cached_property
    def relations_of(self) -> dict[Key, set[int]]:
        found: dict[Key, set[int]] = defaultdict(set)
        for (kind, number), element in self.elements.items():
            if kind == "relation":
                for member_kind, ref, _ in element.members:
                    found[member_kind, ref].add(number)
        return found

    def way_nodes(self, ways: Iterable[Key]) -> Found:
        return {
            ("node", ref)
            for key in ways
            if key[0] == "way"
            for ref in self.elements[key].refs
            if ("node", ref) in self.elements
        }

    def members(self, relations: Iterable[Key], role: str | None = None) -> Found:
        return {
            (kind, ref)
            for key in relations
            if key[0] == "relation"
            for kind, ref, own in self.elements[key].members
            if (kind, ref) in self.elements and role in (None, own)
        }

    def down(self, found: Found) -> Found:
        members = {key for key in self.members(found) if key[0] != "relation"}
        return members | self.way_nodes(found) | self.way_nodes(members)

    def down_all(self, found: Found) -> Found:
        result: Found = set()
        pending = {key for key in found if key[0] == "relation"}
        result |= pending
        while pending:
            members = self.members(pending) - result
            result |= members
            pending = {key for key in members if key[0] == "relation"}
        return result | self.way_nodes(found) | self.way_nodes(result)

    def parent_ways(self, found: Found) -> Found:
        return {("way", w) for kind, n in found if kind == "node" for w in self.ways_of_node[n]}

    def parent_relations(self, found: Iterable[Key]) -> Found:
        return {("relation", r) for key in found for r in self.relations_of.get(key, ())}

    def up(self, found: Found) -> Found:
        low = {key for key in found if key[0] != "relation"}
        ways = self.parent_ways(found)
        return ways | self.parent_relations(low | ways) | (found - low)

    def up_all(self, found: Found) -> Found:
        result = self.up(found)
        pending = {key for key in result | found if key[0] == "relation"}
        while pending:
            pending = self.parent_relations(pending) - result
            result |= pending
        return result

    # ---- geometry

    def segments(self, key: Key) -> Iterator[Segment]:
        """Yield the pieces of an element, points as pieces of no length."""
        element = self.elements.get(key)
        if element is None:
            return
        if element.point is not None:
            yield element.point, element.point
        elif key[0] == "way":
            points = self.points(key)
            if len(points) == 1:
                yield points[0], points[0]
            yield from pairwise(points)
        else:
            for kind, ref, _ in element.members:
                if kind != "relation":  # members of members are not the relation's own
                    yield from self.segments((kind, ref))

    def points(self, key: Key) -> list[Point]:
        found = []
        for ref in self.elements[key].refs:
            node = self.elements.get(("node", ref))
            if node is not None and node.point is not None:
                found.append(node.point)
        return found

    def in_box(self, key: Key, box: tuple[float, float, float, float]) -> bool:
        south, west, north, east = (round(value * 1e7) for value in box)
        return any(_meets_box(segment, west, south, east, north) for segment in self.segments(key))

    def within(self, key: Key, radius_m: float, lat: float, lon: float) -> bool:
        target = (round(lon * 1e7), round(lat * 1e7))
        reach = radius_m * 200  # in 1e-7 degrees, generously: what is farther is not measured
        return any(
            distance_m(target, (a, b)) <= radius_m
            for a, b in self.segments(key)
            if min(a[0], b[0]) - reach <= target[0] <= max(a[0], b[0]) + reach
            and min(a[1], b[1]) - reach <= target[1] <= max(a[1], b[1]) + reach
        )

    def inside(self, key: Key, ring: list[Segment]) -> bool:
        """Return whether an element lies in an area given by its border's pieces."""
        element = self.elements[key]
        if element.point is not None:
            return is_inside(element.point, ring, border=True)
        if key[0] == "way":
            return any(_crosses_inside(segment, ring) for segment in self.segments(key))
        return any(
            self.inside((kind, ref), ring)
            for kind, ref, _ in element.members
            if (kind, ref) in self.elements and kind != "relation"
        )

    def border(self, key: Key) -> list[Segment]:
        """Return the border of a closed way, or of a relation's member ways."""
        if key[0] == "way":
            return list(self.segments(key))
        return [
            segment
            for kind, ref, _ in self.elements[key].members
            if kind == "way"
            for segment in self.segments((kind, ref))
        ]

    def box_of(self, key: Key) -> tuple[int, int, int, int] | None:
        points = [point for segment in self.segments(key) for point in segment]
        if not points:
            return None
        lons, lats = zip(*points, strict=True)
        return min(lons), min(lats), max(lons), max(lats)

    def length_m(self, key: Key) -> float:
        return sum(great_circle_m(a, b) for a, b in self.segments(key) if a != b)

    def is_closed(self, key: Key) -> bool:
        refs = self.elements[key].refs
        return len(refs) > 2 and refs[0] == refs[-1]


def _meets_box(segment: Segment, west: int, south: int, east: int, north: int) -> bool:
    """Clip a piece by the four sides (Liang and Barsky)."""
    (x0, y0), (x1, y1) = segment
    low, high = 0.0, 1.0
    for delta, distance in (
        (x0 - x1, x0 - west), (x1 - x0, east - x0), (y0 - y1, y0 - south), (y1 - y0, north - y0),
    ):  # fmt: skip
        if delta == 0:
            if distance < 0:
                return False
        elif delta < 0:
            low = max(low, distance / delta)
        else:
            high = min(high, distance / delta)
    return low <= high


def great_circle_m(a: Point, b: Point) -> float:
    lon1, lat1, lon2, lat2 = (math.radians(value / 1e7) for value in (*a, *b))
    half = (
        math.sin((lat2 - lat1) / 2) ** 2
        + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * RADIUS_M * math.asin(math.sqrt(half))


def distance_m(point: Point, segment: Segment) -> float:
    """Return the distance to a piece, by bisection towards its nearest place."""
    a, b = segment
    if a == b:
        return great_circle_m(point, a)

    def at(share: float) -> float:
        place = (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
        return great_circle_m(point, place)  # type: ignore[arg-type] # fractions of units

    low, high = 0.0, 1.0
    for _ in range(60):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        if at(first) < at(second):
            high = second
        else:
            low = first
    return min(at(low), at(0.0), at(1.0))


def is_inside(point: tuple[float, float], ring: list[Segment], *, border: bool) -> bool:
    """Count crossings of a ray; what lies on the border is `border`."""
    x, y = point
    inside = False
    for (x0, y0), (x1, y1) in ring:
        cross = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)
        if cross == 0 and min(x0, x1) <= x <= max(x0, x1) and min(y0, y1) <= y <= max(y0, y1):
            return border
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            inside = not inside
    return inside


def _crosses_inside(segment: Segment, ring: list[Segment]) -> bool:
    """Cut a piece where it meets the border; it is inside if the middle of a part is."""
    (x0, y0), (x1, y1) = segment
    cuts = [0.0, 1.0]
    for (u0, v0), (u1, v1) in ring:
        if max(u0, u1) < min(x0, x1) or min(u0, u1) > max(x0, x1):
            continue
        if max(v0, v1) < min(y0, y1) or min(v0, v1) > max(y0, y1):
            continue
        across = (x1 - x0) * (v1 - v0) - (y1 - y0) * (u1 - u0)
        if across:
            cuts.append(((u0 - x0) * (v1 - v0) - (v0 - y0) * (u1 - u0)) / across)
        else:
            for u, v in ((u0, v0), (u1, v1)):
                span = (x1 - x0) ** 2 + (y1 - y0) ** 2
                if span:
                    cuts.append(((u - x0) * (x1 - x0) + (v - y0) * (y1 - y0)) / span)
    cuts = sorted(cut for cut in cuts if 0 <= cut <= 1)
    for low, high in pairwise(cuts):
        if high - low < 1e-6:
            continue
        middle = (low + high) / 2
        place = (x0 + (x1 - x0) * middle, y0 + (y1 - y0) * middle)
        if _is_well_inside(place, ring):
            return True
    return False


def _is_well_inside(place: tuple[float, float], ring: list[Segment]) -> bool:
    """Return whether a place is inside and not on the border, give or take a hundredth unit."""
    for (x0, y0), (x1, y1) in ring:
        length = math.hypot(x1 - x0, y1 - y0)
        if not length:
            continue
        along = ((place[0] - x0) * (x1 - x0) + (place[1] - y0) * (y1 - y0)) / length
        across = abs((x1 - x0) * (place[1] - y0) - (y1 - y0) * (place[0] - x0)) / length
        if across < 0.01 and -0.01 <= along <= length + 0.01:
            return False
    return is_inside(place, ring, border=False)


def polygon(points: list[tuple[float, float]]) -> list[Segment]:
    """Return the border of a `poly` filter, points as (lat, lon)."""
    ring = [(round(lon * 1e7), round(lat * 1e7)) for lat, lon in points]
    return list(zip(ring, ring[1:] + ring[:1], strict=True))


def matches(pattern: str, text: str | None, *, ignore_case: bool = False) -> bool:
    flags = re.IGNORECASE if ignore_case else 0
    return text is not None and re.search(pattern, text, flags) is not None
