"""Which Overpass queries are unions of what regions answer, and where on Earth they ask.

A region holds what touches its area with all parents and all parts of that. So an element is in the
answer of some region if all that it is found by is held there together: itself; with the area that
it lies in, or what it is near; by going up to what has it, and then down to parts, in this order. A
query of such steps is answered by the regions that its boxes meet, as a union: nothing is lacking,
and nothing is there that the whole map would not have. Each set is followed through the query by
how it was found.

What is near: of two elements at most a margin apart, the region in which the one has the point
that is nearest to the other holds both. It knows which set the other is in, if that is found by
what it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from mapyard.fleet.areas import DEGREE_M
from mapyard.geo.bbox import Bbox
from mapyard.overpass.parse.syntax import (
    AreaFilter,
    AroundFilter,
    BoxFilter,
    Call,
    Complete,
    ConditionFilter,
    Difference,
    For,
    Foreach,
    If,
    IsIn,
    Item,
    LinkFilter,
    Local,
    Make,
    MapToArea,
    Out,
    PivotFilter,
    PolygonFilter,
    Program,
    Query,
    Recurse,
    RecursionFilter,
    SetFilter,
    SetProperty,
    Statement,
    Union,
)
from mapyard.overpass.parse.usage import iter_nodes

#: How the elements of a set were found: by what they are; with an area, or what they are part of;
#: as a part of something. Areas are no elements.
NOTHING, OWN, JOINED, PART, AREA = range(5)
_UP: Final = ("bn", "bw", "br", "<", "<<")
#: Functions that look at a set.
_OF_SETS: Final = ("count", "u", "set", "min", "max", "sum", "gcat")
#: Of a margin, how far apart two elements may be: a margin is a box, in whole 1e-7 degree.
_OF_MARGIN: Final = 0.98
_INTO_ONE: Final = "is known only from all regions together"


class Locality(NamedTuple):
    """What a query's answer over regions is."""

    #: Where its elements are; None: anywhere.
    extent: Bbox | None
    #: Why it is no union of answers of regions; "" where it is one.
    not_united: str
    #: Why not even a region that holds all of the extent can answer; "" where it can.
    not_local: str


def find_locality(program: Program, margin_m: float = 0.0) -> Locality:
    """Return how a query can be answered by regions that have such a margin."""
    walk = _Walk(program.settings.box, _OF_MARGIN * margin_m)
    walk.run(program.statements)
    extent = None if walk.is_anywhere or not walk.boxes else Bbox(
        min(box.west for box in walk.boxes), min(box.south for box in walk.boxes),
        max(box.east for box in walk.boxes), max(box.north for box in walk.boxes),
    )  # fmt: skip
    if extent is not None and walk.reach_m:
        corners = ((extent.south, extent.west), (extent.north, extent.east))
        extent = _box_around(corners, walk.reach_m)
    return Locality(extent, walk.not_local or walk.not_united, walk.not_local)


class _Walk:
    """Follows sets through statements."""

    def __init__(self, box: BoxFilter | None, margin_m: float) -> None:
        self._box = box
        self._margin_m = margin_m
        self._sets: dict[str, int] = {}
        #: Sets of nodes in boxes that are noted; others may reach out of theirs.
        self._in_boxes: set[str] = set()
        #: How far from the boxes elements may be.
        self.reach_m = 0.0
        self.boxes: list[Bbox] = []
        self.is_anywhere = False
        self.not_united = ""
        self.not_local = ""

    def _get(self, name: str) -> int:
        return self._sets.get(name, NOTHING)

    def _refuse(self, why: str, *, local: bool = False) -> None:
        if local:
            self.not_local = self.not_local or why
        else:
            self.not_united = self.not_united or why

    def run(self, statements: Sequence[Statement]) -> None:
        """Walk statements in their order."""
        for statement in statements:
            self._walk(statement)

    def _walk(self, statement: Statement) -> int:
        """Walk one; return how what it writes was found."""
        found = self._find(statement)
        into = getattr(statement, "into", None)
        if into is not None:
            self._sets[into] = found
            self._in_boxes.discard(into)
            if isinstance(statement, Query) and statement.kind == "node" and found == OWN:
                self._in_boxes.add(into)
        return found

    def _find(self, statement: Statement) -> int:
        match statement:
            case Query():
                return self._find_query(statement)
            case Item():
                return self._get(statement.source)
            case Union():
                return max((self._walk(member) for member in statement.members), default=NOTHING)
            case Difference():
                first, second = self._walk(statement.first), self._walk(statement.second)
                if second > OWN:
                    self._refuse("what a difference takes away " + _INTO_ONE)
                return first
            case Recurse():
                return self._recurse(statement.direction, self._get(statement.source))
            case IsIn() if statement.point is not None:
                return AREA
            case MapToArea() if self._get(statement.source) <= OWN:
                return AREA
            case Foreach() | For():
                self._refuse("a loop over elements " + _INTO_ONE)
                for _ in range(2):  # what the body writes, its next round reads
                    before = {**self._sets, statement.into: self._get(statement.source)}
                    self._branch(before, statement.body)
                return self._get(statement.into)
            case If():
                self._refuse("whether an if holds " + _INTO_ONE)
                before = dict(self._sets)
                self._branch(before, statement.then)
                self._branch(before, statement.otherwise)
                return NOTHING
            case Make():
                self._refuse("what make and convert make " + _INTO_ONE)
                return OWN
            case Out():
                if self._get(statement.source) == AREA:
                    self._refuse("areas themselves are not shown over regions", local=True)
                return NOTHING
            case Complete() | Local() | IsIn() | MapToArea():
                self._refuse("is_in of a set, map_to_area of it, complete and local reach beyond "
                             "what a region holds", local=True)  # fmt: skip
        return NOTHING

    def _branch(self, before: dict[str, int], body: Sequence[Statement]) -> None:
        """Walk what may run or not: a set is what it was, or what it has become."""
        after = self._sets
        self._sets = dict(before)
        self.run(body)
        for sets in (before, after):
            for name, found in sets.items():
                self._sets[name] = max(found, self._get(name))

    def _recurse(self, direction: str, source: int) -> int:
        if direction not in _UP:
            return PART if source != NOTHING else NOTHING
        if source == PART:
            self._refuse("going up from parts of elements reaches beyond what a region holds",
                         local=True)  # fmt: skip
        return JOINED if source != NOTHING else NOTHING

    def _find_query(self, query: Query) -> int:
        #: How each filter that looks at other elements has found them.
        joins: list[int] = []
        is_taken = False  # out of a set, or by members: it begins nowhere by itself
        boxes: list[Bbox | None] = []
        for item in query.filters:
            match item:
                case BoxFilter():
                    boxes.append(_read_box(item))
                case PolygonFilter():
                    boxes.append(_box_around(item.points, 0.0))
                case AroundFilter() if item.points:
                    boxes.append(_box_around(item.points, item.radius_m))
                case AreaFilter():
                    if not item.ids and self._get(item.source) not in (AREA, NOTHING):
                        self._refuse("an area filter needs areas", local=True)
                    joins.append(JOINED)
                case PivotFilter():
                    joins.append(JOINED)
                case RecursionFilter():
                    joins.append(self._recurse(item.direction, self._get(item.source)))
                    is_taken = True
                case SetFilter():
                    joins += [self._get(item.source)] * (self._get(item.source) > OWN)
                    is_taken = True
                case ConditionFilter():
                    self._check_condition(item)
                case AroundFilter():
                    joins.append(self._find_around(item))
                    is_taken = True
                case LinkFilter():
                    self._refuse("filters by how many elements link to one reach beyond what a "
                                 "region holds", local=True)  # fmt: skip
        if query.kind == "derived":
            return OWN
        if query.kind == "area":
            if joins or is_taken:
                self._refuse("areas found by sets " + _INTO_ONE)
            return AREA
        if AREA in joins:
            self._refuse("areas as elements of a set are not followed", local=True)
        if len(joins) > 1:
            self._refuse("elements found in two ways at once (in an area, in a set, by members) "
                         "may have each in another region")  # fmt: skip
        if not is_taken:
            if not boxes and self._box is not None:
                boxes.append(_read_box(self._box))
            self._note(boxes)
        return max(joins, default=OWN)

    def _find_around(self, item: AroundFilter) -> int:
        source = self._get(item.source)
        if source == NOTHING:
            return NOTHING
        if source != OWN:
            self._refuse("what is around elements that were found with others reaches beyond what "
                         "a region holds", local=True)  # fmt: skip
        elif item.radius_m > self._margin_m:
            self._refuse(
                f"around a set, a radius may be at most {self._margin_m:,.0f} m, as far as regions "
                "know their neighbors"
            )
        if item.source in self._in_boxes:
            self.reach_m = max(self.reach_m, item.radius_m)
        else:  # a way in a box may lead out of it
            self.is_anywhere = True
        return JOINED

    def _note(self, boxes: Sequence[Bbox | None]) -> None:
        """Note where a query begins: one of its boxes is enough, as all have to hold."""
        known = [box for box in boxes if box is not None]
        if known:
            self.boxes.append(min(known, key=lambda b: (b.east - b.west) * (b.north - b.south)))
        else:
            self.is_anywhere = True

    def _check_condition(self, item: ConditionFilter) -> None:
        for node in iter_nodes(item.condition):
            if isinstance(node, SetProperty) or (
                isinstance(node, Call) and (node.source is not None or node.name in _OF_SETS)
            ):
                self._refuse("a condition about a set " + _INTO_ONE)


def _read_box(box: BoxFilter) -> Bbox | None:
    return Bbox(box.west, box.south, box.east, box.north) if box.west <= box.east else None


def _box_around(points: Sequence[tuple[float, float]], radius_m: float) -> Bbox | None:
    lats, lons = [lat for lat, _ in points], [lon for _, lon in points]
    up = radius_m / DEGREE_M * 1.01
    south, north = min(lats) - up, max(lats) + up
    side = up / math.cos(math.radians(min(89.0, max(abs(south), abs(north)))))
    west, east = min(lons) - side, max(lons) + side
    return Bbox(west, south, east, north) if west >= -180 and east <= 180 else None
