"""Conditions put together, against the same logic said plainly, on Monaco."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import Timeout
from mapyard.features.conditions import (
    Always,
    Condition,
    Either,
    Every,
    Not,
    make_matcher,
    split,
    write_key,
)
from mapyard.features.query import FeatureQuery, collect_rows
from mapyard.features.query import test_rows as keep_rows
from mapyard.features.regions import BoxRegion, ShapeRegion
from mapyard.features.tags import TagFilter
from mapyard.geo.bbox import Bbox
from mapyard.store.reader import Store

AREA = shapely.box(7.415, 43.73, 7.425, 43.738)
LEAVES: list[Condition] = [
    TagFilter("amenity", "in", ("bar", "cafe")),
    TagFilter("name", "regex", ("^L",)),
    TagFilter("shop", "exists"),
    TagFilter("name", "absent"),
    TagFilter("name", "text", ("<", "M")),
    TagFilter("building:levels", "number", (">=", "5.0")),
    TagFilter("building:levels", "number", ("=", "4.0")),
    TagFilter("nosuchkey", "in", ("x",)),
    BoxRegion(Bbox(7.42, 43.735, 7.43, 43.745)),
    ShapeRegion("within", AREA),
    Always(True),
    Always(False),
]
CONDITIONS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Every(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Either(tuple(parts))),
    ),
    max_leaves=8,
)


def decide(condition: Condition, tags: dict[str, str], shape: Any) -> bool | None:
    """Return whether a condition holds; None where it is not known."""
    match condition:
        case Always():
            return condition.value
        case Not():
            inner = decide(condition.part, tags, shape)
            return None if inner is None else not inner
        case Every() | Either():
            found = [decide(part, tags, shape) for part in condition.parts]
            ends = not isinstance(condition, Every)
            return ends if ends in found else None if None in found else not ends
        case TagFilter():
            return decide_tag(condition, tags.get(condition.key))
        case BoxRegion():
            assert condition.boxes is not None
            area = shapely.box(*condition.boxes[0])
            return None if shape is None else bool(shapely.intersects(area, shape))
    return None if shape is None else bool(shapely.contains(AREA, shape))


def decide_tag(wanted: TagFilter, value: str | None) -> bool | None:
    if wanted.op in ("exists", "absent"):
        return (value is None) == (wanted.op == "absent")
    if value is None:
        return None
    if wanted.op == "in":
        return value in wanted.values
    if wanted.op == "regex":
        return re.search(wanted.values[0], value) is not None
    sign, limit = wanted.values
    if wanted.op == "text":
        return {"<": value < limit, ">": value > limit}[sign]
    if not re.fullmatch(r"\d+(\.\d*)?", value):
        return False
    return {">=": float(value) >= float(limit), "=": float(value) == float(limit)}[sign]


@pytest.fixture(scope="module")
def sample(monaco_store: Store) -> list[tuple[int, dict[str, str], Any]]:
    """Every tenth listed element, with its tags and shape."""
    rows = np.asarray(monaco_store.listed)[::10].astype(np.int64)
    shapes = monaco_store.geometries(rows)
    return [
        (row, monaco_store.tags(row), shape)
        for row, shape in zip(rows.tolist(), shapes, strict=True)
    ]


@settings(max_examples=120, deadline=None)
@given(condition=CONDITIONS)
def test_every_tree_means_what_its_parts_mean(
    monaco_store: Store, sample: list[tuple[int, dict[str, str], Any]], condition: Condition
) -> None:
    expected = {row for row, tags, shape in sample if decide(condition, tags, shape)}
    tags, region, rest = split(condition)
    query = FeatureQuery(tags=tags, region=region, where=rest)
    found = collect_rows(monaco_store, query, no_deadline())
    among = {row for row, _, _ in sample}
    assert set(found.tolist()) & among == expected
    assert found.tolist() == monaco_store.sort_by_eid(found).tolist()
    rows = np.array(sorted(among))
    assert set(rows[keep_rows(monaco_store, query, rows)].tolist()) == expected


def test_pages_of_a_tree_are_the_whole(monaco_store: Store) -> None:
    either = Either((TagFilter("amenity", "in", ("cafe",)), TagFilter("shop", "exists")))
    query = FeatureQuery(where=either)
    whole = collect_rows(monaco_store, query, no_deadline())
    assert len(whole) > 100
    found: list[int] = []
    after = None
    while len(page := collect_rows(monaco_store, query, no_deadline(), after_eid=after, limit=7)):
        found += page.tolist()
        after = int(monaco_store.eids(page[-1:])[0])
    assert found == whole.tolist()


def test_a_tree_is_answered_from_postings(monaco_store: Store) -> None:
    cafes, shops = TagFilter("amenity", "in", ("cafe",)), TagFilter("shop", "exists")
    either = make_matcher(monaco_store, Either((cafes, shops)), no_deadline())
    assert not either.is_absence
    assert either.count < 1_000
    both = make_matcher(
        monaco_store, Every((Not(cafes), TagFilter("name", "absent"), shops)), no_deadline()
    )
    assert len(both.rows()) == monaco_store.key_count("shop")
    assert make_matcher(monaco_store, Not(shops), no_deadline()).is_absence
    assert make_matcher(monaco_store, Every((cafes, Always(False))), no_deadline()).is_impossible


def test_keys_tell_trees_apart() -> None:
    keys = [
        write_key(one)
        for one in (
            None, *LEAVES, Not(LEAVES[0]), Every((LEAVES[0], LEAVES[1])),
            Either((LEAVES[0], LEAVES[1])), Not(Every((LEAVES[0], LEAVES[8]))),
        )
    ]  # fmt: skip
    assert len({repr(key) for key in keys}) == len(keys)
    hashes = {FeatureQuery(where=one).hash() for one in (None, LEAVES[0], Not(LEAVES[0]))}
    assert len(hashes) == 3


def test_a_deadline_ends_the_look_at_values(monaco_store: Store) -> None:
    over = Deadline(0.0)
    with pytest.raises(Timeout):
        make_matcher(monaco_store, TagFilter("name", "number", ("<", "3.0")), over)
