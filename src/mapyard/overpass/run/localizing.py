"""`local`: elements as a network: vertices, links of ways between crossings, members of relations.

A way is cut where another way, a second position of itself or a tagged node of the source meets it.
What shares a place is told apart by small numbers: `_local_id` of nodes at one position, and of
links between the same two nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.overpass.osm.rowsets import Derived, Mask, Rows, is_member, split_types, unite
from mapyard.overpass.parse.syntax import BoxFilter, Local
from mapyard.overpass.run.recursion import members_of, nodes_of_ways, ways_of
from mapyard.overpass.run.state import Run
from mapyard.overpass.space.boxes import to_boxes
from mapyard.overpass.space.lines import Ints
from mapyard.store.columns import find_place
from mapyard.store.reader import E7, Store

#: What an element of the result takes, about.
_ELEMENT_BYTES = 1_000


class _Vertices(NamedTuple):
    """The nodes that links may begin and end at, with their numbers at their position, 0: alone."""

    rows: Rows
    local: Ints

    def find(self, rows: NDArray[Any]) -> tuple[Ints, Mask]:
        """Return the places of nodes, and which are known."""
        place = np.searchsorted(self.rows, rows)
        place[place == len(self.rows)] = 0
        known = self.rows[place] == rows if len(self.rows) else np.zeros(len(rows), np.bool_)
        return place, known


class _Links(NamedTuple):
    """Links of ways, sorted by way, then along it; `begin` and `stop` cut `refs`."""

    ways: Rows
    begin: Ints
    stop: Ints
    start_local: Ints
    end_local: Ints
    local: Ints
    shown: Mask
    shapes: NDArray[np.object_]

    def of(self, way: int) -> range:
        """Return the links of a way."""
        low, high = find_place(self.ways, way, way + 1)
        return range(low, high)


def localize(run: Run, statement: Local) -> tuple[Derived, ...]:
    """Return the vertices, links and trigraphs of a set."""
    store = run.store
    nodes, ways, relations = split_types(store, run.get(statement.source).rows)
    if statement.detail != "llb":
        nodes, ways, relations = (rows[store.has_tags(rows)] for rows in (nodes, ways, relations))
    members = members_of(store, relations, [(0, store.relation_start)])
    member_nodes, member_ways, _ = split_types(store, members)
    shape_nodes = unite([nodes_of_ways(store, unite([ways, member_ways])), member_nodes])
    crossing = unite([ways, member_ways, ways_of(store, shape_nodes)])
    run.budget.check((crossing.nbytes + shape_nodes.nbytes) * 40)
    vertices = _number(store, unite([shape_nodes, nodes]))
    tagged = nodes[store.has_tags(nodes)]
    links = _cut(run, crossing, vertices, tagged, statement.box)
    made = _Maker(run, statement, vertices, links)
    return (
        *made.vertices(nodes),
        *made.links(ways),
        *made.loose(ways),
        *made.trigraphs(relations),
    )


def _number(store: Store, rows: Rows) -> _Vertices:
    """Return nodes with their numbers among those at the same position, by id from 1."""
    position = store.lat[rows].astype(np.int64) << 32 | (store.lon[rows].astype(np.int64) + 2**31)
    order = np.argsort(position, kind="stable")
    ordered = position[order]
    first = np.searchsorted(ordered, ordered)
    count = np.searchsorted(ordered, ordered, side="right") - first
    local = np.zeros(len(rows), np.int64)
    local[order] = np.where(count > 1, np.arange(len(rows)) - first + 1, 0)
    return _Vertices(rows, local)


def _cut(run: Run, ways: Rows, vertices: _Vertices, tagged: Rows, box: BoxFilter | None) -> _Links:
    """Return the links of ways whose nodes are all known, cut where something else meets them."""
    store = run.store
    refs, offsets = store.way_nodes(ways)
    lengths = np.diff(offsets)
    place, known = vertices.find(refs)
    filled = lengths > 0
    ends = np.zeros(len(refs), np.int64)  # how many ends of its way are at a place
    np.add.at(ends, offsets[:-1][filled], 1)
    np.add.at(ends, offsets[1:][filled] - 1, 1)
    uses = np.bincount(
        place[known], np.where(ends, 2 * ends, 1)[known], minlength=len(vertices.rows)
    )
    uses += is_member(vertices.rows, tagged)
    owner = np.repeat(np.arange(len(ways)), lengths)
    whole = filled & (np.bincount(owner[~known], minlength=len(ways)) == 0)
    cuts = (ends == 0) & known & ((uses[place] > 1) | (vertices.local[place] > 0)) & whole[owner]
    inner = np.flatnonzero(cuts)
    begin = np.sort(np.concatenate([offsets[:-1][whole], inner]))
    stop = np.sort(np.concatenate([offsets[1:][whole] - 1, inner]))
    of_way = ways[owner[begin]]
    start, end = place[begin], place[stop]
    shown, shapes = _shapes(run, refs, begin, stop, box)
    return _Links(
        of_way, begin, stop, vertices.local[start], vertices.local[end],
        _number_parallel(of_way, start, end), shown, shapes,
    )  # fmt: skip


def _number_parallel(ways: Rows, start: Ints, end: Ints) -> Ints:
    """Return the numbers of links among those with the same ends, by way and along it; 0: alone."""
    order = np.lexsort((np.arange(len(ways)), ways, end, start))
    ordered = start[order] * (int(end.max(initial=0)) + 1) + end[order]
    first = np.searchsorted(ordered, ordered)
    count = np.searchsorted(ordered, ordered, side="right") - first
    local = np.zeros(len(ways), np.int64)
    local[order] = np.where(count > 1, np.arange(len(ways)) - first + 1, 0)
    return local


def _shapes(
    run: Run, refs: NDArray[Any], begin: Ints, stop: Ints, box: BoxFilter | None
) -> tuple[Mask, NDArray[np.object_]]:
    """Return which links meet the box, and the lines of all."""
    store = run.store
    lengths = np.maximum(stop - begin + 1, 2)  # a way of one node is a line of no length
    run.budget.check(int(lengths.sum()) * 40)
    owner = np.repeat(np.arange(len(begin)), lengths)
    along = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = refs[np.minimum(begin[owner] + along, stop[owner])]
    positions = np.stack([store.lon[rows], store.lat[rows]], axis=1) / E7
    shapes = np.asarray(shapely.linestrings(positions, indices=owner), np.object_)
    shown = np.ones(len(begin), np.bool_)
    if box is not None:
        shown[:] = False
        for part in to_boxes(box):
            area = shapely.box(part.x0 / E7, part.y0 / E7, part.x1 / E7, part.y1 / E7)
            shown |= shapely.intersects(shapes, area)
    return shown, shapes


class _Maker:
    """Makes the derived elements of one `local`."""

    def __init__(self, run: Run, statement: Local, vertices: _Vertices, links: _Links) -> None:
        self._run = run
        self._store = run.store
        self._all = statement.detail == "llb"
        self._loose = statement.detail in ("ll", "llb")
        self._box = statement.box
        self._vertices = vertices
        self._links = links
        self._made = 0

    def _derive(self, kind: str, tags: dict[str, str], shape: shapely.Geometry | None) -> Derived:
        self._made += 1
        if not self._made % 256:
            self._run.budget.check(self._made * _ELEMENT_BYTES)
        self._run.last_derived_id += 1
        return Derived(kind, self._run.last_derived_id, dict(sorted(tags.items())), shape)

    def _tags(self, rows: Rows) -> Iterator[dict[str, str]]:
        """Yield the tags of elements; keys that begin with _ get one more."""
        for text in self._store.tags_json(rows):
            tags = orjson.loads(text)
            yield {("_" + key if key.startswith("_") else key): v for key, v in tags.items()}

    def _points(self, rows: Rows) -> tuple[Mask, NDArray[np.object_]]:
        lon, lat = self._store.lon[rows], self._store.lat[rows]
        shown = np.ones(len(rows), np.bool_)
        if self._box is not None:
            shown[:] = False
            for part in to_boxes(self._box):
                inside = (lon >= part.x0) & (lon <= part.x1)
                shown |= inside & (lat >= part.y0) & (lat <= part.y1)
        return shown, np.asarray(shapely.points(lon / E7, lat / E7), np.object_)

    def vertices(self, nodes: Rows) -> Iterator[Derived]:
        """Yield the nodes of the source."""
        shown, shapes = self._points(nodes)
        place, _ = self._vertices.find(nodes)
        local = self._vertices.local[place]
        ids = self._store.ids[nodes]
        for index, tags in enumerate(self._tags(nodes)):
            if shown[index]:
                _put(tags, "_local_id", int(local[index]))
                if self._all:
                    tags["_node_ref"] = str(ids[index])
                yield self._derive("vertex", tags, shapes[index])

    def links(self, ways: Rows) -> Iterator[Derived]:
        """Yield the links of the source's ways."""
        links = self._links
        ids = self._store.ids[ways].tolist()
        for way, osm_id, own in zip(ways.tolist(), ids, self._tags(ways), strict=True):
            for link in links.of(way):
                if not links.shown[link]:
                    continue
                tags = dict(own)
                _put(tags, "_local_from", int(links.start_local[link]))
                _put(tags, "_local_to", int(links.end_local[link]))
                _put(tags, "_local_id", int(links.local[link]))
                if self._all:
                    tags["_way_ref"] = str(osm_id)
                yield self._derive("link", tags, links.shapes[link])

    def loose(self, ways: Rows) -> Iterator[Derived]:
        """Yield the ways without nodes, if they are asked for."""
        if not self._loose:
            return
        _, offsets = self._store.way_nodes(ways)
        empty = ways[np.diff(offsets) == 0]
        for osm_id, tags in zip(self._store.ids[empty].tolist(), self._tags(empty), strict=True):
            if self._all:
                tags["_way_ref"] = str(osm_id)
            yield self._derive("link", tags, None)

    def trigraphs(self, relations: Rows) -> Iterator[Derived]:
        """Yield the members of relations, each with those before and behind it."""
        members = self._store.members(relations)
        bounds = np.searchsorted(members.relation, np.arange(len(relations) + 1)).tolist()
        ids = self._store.ids[relations].tolist()
        rows, eids = members.row.tolist(), members.eid.tolist()
        for index, tags in enumerate(self._tags(relations)):
            if self._all:
                tags["_relation_ref"] = str(ids[index])
            part = slice(bounds[index], bounds[index + 1])
            yield from self._chain(rows[part], eids[part], tags)

    def _chain(self, rows: list[int], eids: list[int], own: dict[str, str]) -> Iterator[Derived]:
        before: Derived | None = None
        at: tuple[float, float] | None = None  # where the way before ended

        def add(tags: dict[str, str], shape: shapely.Geometry | None) -> Derived:
            nonlocal before
            made = self._derive("trigraph", own | tags, shape)
            if before is not None:
                before.tags["_next"] = str(made.id)
                made.tags["_previous"] = str(before.id)
            before = made
            return made

        for place, (row, eid) in enumerate(zip(rows, eids, strict=True)):
            kind, osm_id = eid & 3, str(eid >> 2)
            if kind == 0:
                shown, shapes = self._points(np.array([row][: row >= 0], np.uint32))
                if not shown.any():
                    before = None
                    continue
                tags = {"_child_node_ref": osm_id} if self._all else {}
                number, _ = self._vertices.find(np.array([row], np.uint32))
                _put(tags, "_local_ref", int(self._vertices.local[number[0]]))
                yield add(tags, shapes[0])
            elif kind == 1:
                links = self._links.of(row) if row >= 0 else range(0)
                if not len(links):
                    before = None
                    continue
                following = rows[place + 1] if place + 1 < len(rows) else -1
                backward = self._runs_backward(links, at if before else None, following)
                for link in reversed(links) if backward else links:
                    if not self._links.shown[link]:
                        before = None
                        continue
                    yield add(*self._step(link, osm_id, backward))
                last = links[0] if backward else links[-1]
                at = self._end(last, begin=backward)
            elif self._loose:
                yield add({"_child_relation_ref": osm_id} if self._all else {}, None)
            else:
                before = None

    def _step(
        self, link: int, osm_id: str, backward: bool
    ) -> tuple[dict[str, str], shapely.Geometry]:
        links = self._links
        tags = {"_child_way_ref": osm_id} if self._all else {}
        ends = int(links.start_local[link]), int(links.end_local[link])
        first, last = reversed(ends) if backward else ends
        _put(tags, "_vertex_local_from", first)
        _put(tags, "_vertex_local_to", last)
        _put(tags, "_local_ref", int(links.local[link]))
        shape = links.shapes[link]
        return tags, shapely.reverse(shape) if backward else shape

    def _end(self, link: int, *, begin: bool) -> tuple[float, float] | None:
        """Return where a link begins or ends; None where it is not shown."""
        if not self._links.shown[link]:
            return None
        x, y = shapely.get_coordinates(self._links.shapes[link])[0 if begin else -1].tolist()
        return x, y

    def _ends(self, links: range) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
        if not len(links):
            return None, None
        return self._end(links[0], begin=True), self._end(links[-1], begin=False)

    def _runs_backward(self, links: range, at: tuple[float, float] | None, following: int) -> bool:
        """Return whether a way is walked from its end, by the way before it or the one behind."""
        first, last = self._ends(links)
        if at is not None:
            if at == first:
                return False
            if at == last:
                return True
        store = self._store
        if not store.way_start <= following < store.relation_start:
            return False
        touching = [end for end in self._ends(self._links.of(following)) if end is not None]
        return last not in touching and first in touching


def _put(tags: dict[str, str], key: str, number: int) -> None:
    """Set a number, where there is one."""
    if number:
        tags[key] = str(number)
