"""Execution of queries: the most selective index first, the rest as vectorised filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapyard.overpass.osm.rowsets import (
    KIND_TYPES,
    ElementSet,
    Mask,
    Rows,
    as_rows,
    intersect,
    is_member,
    kind_ranges,
    restrict,
    split_types,
    unite,
)
from mapyard.overpass.parse.syntax import (
    AreaFilter,
    AroundFilter,
    BoxFilter,
    ChangedFilter,
    ConditionFilter,
    Filter,
    IdFilter,
    LinkFilter,
    NewerFilter,
    PivotFilter,
    PolygonFilter,
    Query,
    RecursionFilter,
    SetFilter,
    UserFilter,
)
from mapyard.overpass.run import tagging
from mapyard.overpass.run.areas import closed_ways, find_areas, resolve_area
from mapyard.overpass.run.columns import to_mask
from mapyard.overpass.run.evaluate import evaluate_all
from mapyard.overpass.run.items import need_metadata, need_users
from mapyard.overpass.run.recursion import (
    count_links,
    down_filter,
    down_relations_filter,
    members_of,
    nodes_of_ways,
    relations_of,
    up_filter,
    up_relations,
    ways_of,
)
from mapyard.overpass.run.state import Run
from mapyard.overpass.space.around import is_within, line_pieces, pieces_of, reach_boxes
from mapyard.overpass.space.boxes import Box, count_share, find_candidates, meets, to_boxes
from mapyard.overpass.space.lines import Ints
from mapyard.overpass.space.polygons import are_inside, make_polygon, shape_boxes
from mapyard.store.columns import find_place
from mapyard.store.reader import Store


class Spatial(NamedTuple):
    """A spatial filter: boxes that hold all it can find, and the exact test."""

    boxes: list[Box]
    test: Callable[[Rows], Mask]
    item: Filter


def run_query(run: Run, query: Query) -> ElementSet:
    """Return what a query statement finds."""
    if query.kind == "derived":
        return _derived(run, query)
    if query.kind == "area":
        rows = _find_rows(run, query, find_areas(run, query))
        low = find_place(rows, run.store.relation_start)
        return ElementSet(rows=rows[:low], areas=rows[low:])
    return ElementSet(rows=_find_rows(run, query, None))


def _derived(run: Run, query: Query) -> ElementSet:
    found = None
    for item in query.filters:
        if isinstance(item, SetFilter):
            members = run.get(item.source).derived
            found = members if found is None else tuple(d for d in found if d in members)
    return ElementSet(derived=found or ())


def _find_rows(run: Run, query: Query, among: Rows | None) -> Rows:
    """Return the rows that pass all filters; `among` limits them where given."""
    store = run.store
    filters = [item for item in query.filters if not isinstance(item, SetFilter)]
    exact = [] if among is None else [among]
    if among is None:
        exact = [run.get(item.source).rows for item in query.filters if isinstance(item, SetFilter)]
        exact += [_exact_rows(run, query, item) for item in filters if _is_exact(item)]
    tags = [item for item in filters if tagging.is_tag_filter(item)]
    spatial = _spatial_filters(run, query, filters)
    if spatial is None:
        return store.listed[:0]
    ranges = kind_ranges(store, query.kind)
    rows = _seed(run, query, ranges, exact, tags, spatial)
    rows = _apply_tags(run, tags, rows, ranges)
    for item in filters:
        if len(rows) and isinstance(item, UserFilter | NewerFilter | ChangedFilter):
            rows = rows[_edited(run, item, rows)]
            run.note(item, "filter", rows)
        elif len(rows) and isinstance(item, LinkFilter):
            rows = rows[_linked(run, item, rows)]
            run.note(item, "filter", rows)
    for test in spatial:
        if len(rows):
            rows = rows[test.test(rows)]
            run.note(test.item, "exact test", rows)
    for item in filters:
        if len(rows) and isinstance(item, ConditionFilter):
            rows = _keep_if(run, query, item, rows)
            run.note(item, "filter", rows)
    return rows


#: Elements that a condition is evaluated over at once.
_CHUNK = 1 << 16


def _keep_if(run: Run, query: Query, item: ConditionFilter, rows: Rows) -> Rows:
    kept = []
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        scope = run.scope().over(_as_elements(run.store, query, part))
        kept.append(part[to_mask(evaluate_all(item.condition, scope))])
    return kept[0] if len(kept) == 1 else np.concatenate(kept)


def _as_elements(store: Store, query: Query, rows: Rows) -> ElementSet:
    if query.kind != "area":
        return ElementSet(rows=rows)
    low = find_place(rows, store.relation_start)
    return ElementSet(rows=rows[:low], areas=rows[low:])


def _is_exact(item: Filter) -> bool:
    return isinstance(item, IdFilter | PivotFilter | RecursionFilter)


def _exact_rows(run: Run, query: Query, item: Filter) -> Rows:
    """Return the rows of a filter that names its elements."""
    match item:
        case IdFilter():
            return rows_of_ids(run.store, query.kind, item.ids)
        case PivotFilter():
            elements = run.get(item.source)
            return unite([closed_ways(run.store, elements.rows), elements.areas])
        case RecursionFilter():
            return _recurse(run, query.kind, item)
        case _:
            raise AssertionError(item)


def rows_of_ids(store: Store, kind: str, ids: tuple[int, ...]) -> Rows:
    """Return the rows of elements of the kind's types with these ids."""
    asked = np.array(ids, np.int64)
    found = [store.find_rows(element_type, asked) for element_type in KIND_TYPES[kind]]
    return as_rows(np.concatenate(found))


_FILTERS = {
    ">": down_filter, ">>": down_relations_filter, "<": up_filter, "<<": up_relations,
}  # fmt: skip


def _recurse(run: Run, kind: str, item: RecursionFilter) -> Rows:
    store, rows = run.store, run.get(item.source).rows
    whole = _FILTERS.get(item.direction)
    if whole is not None:
        return whole(store, rows, run.budget)
    nodes, ways, relations = split_types(store, rows)
    match item.direction:
        case "w":
            return nodes_of_ways(store, ways, item.positions)
        case "r":
            ranges = kind_ranges(store, kind)
            return members_of(store, relations, ranges, item.role, item.positions)
        case "bn":
            found = [relations_of(store, nodes, item.role, item.positions)]
            if item.role is None:
                found.insert(0, ways_of(store, nodes, item.positions))
            return unite(found)
        case "bw":
            return relations_of(store, ways, item.role, item.positions)
        case _:
            return relations_of(store, relations, item.role, item.positions)


def _spatial_filters(run: Run, query: Query, filters: list[Any]) -> list[Spatial] | None:
    """Return the spatial filters; None when one of them can find nothing."""
    store, budget = run.store, run.budget
    boxes = [item for item in filters if isinstance(item, BoxFilter)]
    only_ids = len(query.filters) == 1 and isinstance(query.filters[0], IdFilter)
    if run.global_box is not None and query.kind != "area" and not only_ids:
        boxes.append(run.global_box)
    found = [_box_filter(run, box) for box in boxes]
    for item in filters:
        if isinstance(item, AroundFilter):
            pieces = line_pieces(item.points) if item.points else None
            if pieces is None:
                pieces = pieces_of(store, run.get(item.source).rows)
            if not len(pieces):
                return None
            budget.check(pieces.nbytes * 4)
            found.append(_around_filter(run, pieces, item))
        elif isinstance(item, PolygonFilter | AreaFilter):
            if isinstance(item, AreaFilter):
                shapes = resolve_area(run, item)
            else:
                shapes = make_polygon(item.points, budget)
            if not len(shapes):
                return None
            found.append(_inside_filter(run, shapes, item))
    return found


def _box_filter(run: Run, item: BoxFilter) -> Spatial:
    boxes = to_boxes(item)
    return Spatial(boxes, lambda rows: meets(run.store, rows, boxes, run.budget), item)


def _around_filter(run: Run, pieces: Any, item: AroundFilter) -> Spatial:
    return Spatial(
        reach_boxes(pieces, item.radius_m),
        lambda rows: is_within(run.store, rows, pieces, item.radius_m, run.budget),
        item,
    )


def _inside_filter(run: Run, shapes: Any, item: PolygonFilter | AreaFilter) -> Spatial:
    return Spatial(
        shape_boxes(shapes), lambda rows: are_inside(run.store, rows, shapes, run.budget), item
    )


def _seed(
    run: Run,
    query: Query,
    ranges: list[tuple[int, int]],
    exact: list[Rows],
    tags: list[Any],
    spatial: list[Spatial],
) -> Rows:
    """Return the first rows: what is named exactly, else from the index that finds least."""
    store = run.store
    if exact:
        rows = min((restrict(part, ranges) for part in exact), key=len)
        for part in exact:
            rows = intersect(rows, restrict(part, ranges))
        named = next((f for f in query.filters if isinstance(f, SetFilter) or _is_exact(f)), query)
        run.note(named, "start", rows, min(map(len, exact)))
        return rows
    positive = [item for item in tags if not item.negated]
    whole = sum(stop - start for start, stop in ranges)
    by_tag = whole
    best: Any = None
    for item in positive:
        size = sum(tagging.estimate(store, item, start, stop) for start, stop in ranges)
        if size < by_tag or best is None:
            best, by_tag = item, size
    population = len(store.listed) if positive or query.kind not in ("node", "nwr", "nw", "nr") \
        else whole  # fmt: skip
    if spatial:
        nearest = min(spatial, key=lambda one: count_share(store, one.boxes))
        by_place = count_share(store, nearest.boxes) * population + 100
        if best is None or by_place < by_tag:
            run.budget.check(int(by_place) * 16)
            types = KIND_TYPES[query.kind]
            rows = find_candidates(store, nearest.boxes, types, all_nodes=not positive)
            run.note(nearest.item, "start by place", rows, by_place)
            if query.kind == "node" and isinstance(nearest.item, BoxFilter):
                spatial.remove(nearest)  # nodes are found by boxes exactly
            return rows
    if best is not None:
        tags.remove(best)
        rows = restrict(tagging.positive_rows(store, best), ranges)
        run.note(best, "start by tag", rows, by_tag)
        return rows
    run.budget.check(whole * 8)
    rows = np.concatenate([np.arange(start, stop, dtype=np.uint32) for start, stop in ranges])
    run.note(query, "start with all", rows, whole)
    return rows


def _apply_tags(run: Run, tags: list[Any], rows: Rows, ranges: list[tuple[int, int]]) -> Rows:
    """Apply tag filters, the most selective first."""
    if len(tags) > 1:
        size = {
            id(item): sum(tagging.estimate(run.store, item, *part) for part in ranges)
            for item in tags
        }
        tags = sorted(tags, key=lambda item: size[id(item)])
    for item in tags:
        run.budget.check(rows.nbytes * 4)
        rows = tagging.apply(run.store, item, rows)
        run.note(item, "filter", rows)
    return rows


def _edited(run: Run, item: UserFilter | NewerFilter | ChangedFilter, rows: Rows) -> Mask:
    store = run.store
    run.budget.check(rows.nbytes * 4)
    if isinstance(item, UserFilter):
        if item.touched:
            run.warn(item.at, "only the last editor of each element is known to (…_touched:…)")
        need_users(store, "(user:…)" if item.names else "(uid:…)")
        meta = store.meta(rows)
        assert meta is not None
        uids, names = store.users
        wanted = np.isin(np.array(names, np.object_), list(item.names)) if item.names else (
            np.isin(uids, item.uids))  # fmt: skip
        return np.asarray(wanted[meta.user])
    need_metadata(store, "(newer:…)" if isinstance(item, NewerFilter) else "(changed:…)")
    meta = store.meta(rows)
    assert meta is not None
    until_s = item.until_s if isinstance(item, ChangedFilter) else None
    if until_s is not None:
        run.warn(item.at, "only the newest version of each element is known to (changed:…)")
    keep = meta.timestamp >= max(item.since_s, 1)
    return np.asarray(keep if until_s is None else keep & (meta.timestamp <= max(until_s, 0)))


def _linked(run: Run, item: LinkFilter, rows: Rows) -> Mask:
    store = run.store
    _, ways, _ = split_types(store, run.get(item.source).rows)
    nodes, _, _ = split_types(store, rows)
    counts: Ints = count_links(store, nodes, ways, item.kind)
    keep = np.zeros(len(rows), np.bool_)
    keep[: len(nodes)] = counts >= item.low
    if item.high is not None:
        keep[: len(nodes)] &= counts <= item.high
    # Only nodes of the ways come into question, also where the least number is 0.
    keep[: len(nodes)] &= is_member(nodes, nodes_of_ways(store, ways))
    return keep
