"""Conditions put together by and, or and not, over tags and places.

A condition is a tag filter, a region, or is made of others. What an element does not have is
neither true nor false of it, as in SQL: without a name an element passes neither `name = x` nor its
negation, and without a geometry it is neither within an area nor not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.features.regions import Region
from mapyard.features.tags import TagFilter, TagMatcher
from mapyard.store.distinct import distinct
from mapyard.store.reader import Rows, Store

type Mask = NDArray[np.bool_]
type Condition = TagFilter | Region | Every | Either | Not | Always

MAX_CONDITIONS: Final = 200


class Every(NamedTuple):
    """All parts hold."""

    parts: tuple[Condition, ...]


class Either(NamedTuple):
    """One part holds, or several."""

    parts: tuple[Condition, ...]


class Not(NamedTuple):
    """The part is false."""

    part: Condition


class Always(NamedTuple):
    """Holds for all elements, or for none."""

    value: bool


class Matcher(Protocol):
    """A condition on one store."""

    #: Whether the rows that pass cannot be listed, but only tested.
    is_absence: bool
    #: Whether `rows` are those that pass, and no others.
    is_exact: bool
    #: About how many rows pass, rather too many.
    count: int

    @property
    def is_impossible(self) -> bool:
        """Return whether no element at all can pass."""

    def rows(self) -> Rows:
        """Return sorted rows, all that pass among them; not for an absence."""

    def test(self, rows: Rows) -> Mask:
        """Return which of the rows (any order) pass."""


def make_matcher(
    store: Store, condition: Condition, deadline: Deadline, *, negated: bool = False
) -> Matcher:
    """Return what tests a condition, or that it is false."""
    match condition:
        case TagFilter():
            return _match_tag(store, condition, deadline, negated=negated)
        case Not():
            return make_matcher(store, condition.part, deadline, negated=not negated)
        case Always():
            return _Constant(store, value=condition.value != negated)
        case Every() | Either():
            parts = [
                make_matcher(store, part, deadline, negated=negated) for part in condition.parts
            ]
            # Not both is one of them not.
            is_every = isinstance(condition, Every) != negated
            return _AllOf(store, parts) if is_every else _AnyOf(store, parts)
        case _:
            return _OutsideRegion(store, condition) if negated else _InRegion(store, condition)


def write_key(condition: Condition | None) -> Any:
    """Return what a condition is, for telling queries apart."""
    match condition:
        case None | TagFilter() | Always():
            return condition
        case Not():
            return "not", write_key(condition.part)
        case Every() | Either():
            name = "every" if isinstance(condition, Every) else "either"
            return name, tuple(write_key(part) for part in condition.parts)
        case _:
            return condition.key


def iter_leaves(condition: Condition) -> Iterator[TagFilter | Region | Always]:
    """Yield the conditions that are not made of others."""
    match condition:
        case Not():
            yield from iter_leaves(condition.part)
        case Every() | Either():
            for part in condition.parts:
                yield from iter_leaves(part)
        case _:
            yield condition


def split(
    condition: Condition | None,
) -> tuple[tuple[TagFilter, ...], Region | None, Condition | None]:
    """Return the tag filters and a region that all must hold, and what is left of a condition."""
    if condition is None:
        return (), None, None
    tags: list[TagFilter] = []
    region: Region | None = None
    rest: list[Condition] = []
    waiting = [condition]
    while waiting:
        match waiting.pop():
            case TagFilter() as found:
                tags.append(found)
            case Every() as found:
                waiting += found.parts
            case Either() | Not() | Always() as found:
                rest.append(found)
            case found if region is None:
                region = found
            case found:
                rest.append(found)
    left = None if not rest else rest[0] if len(rest) == 1 else Every(tuple(rest))
    return tuple(sorted(set(tags))), region, left


def _match_tag(store: Store, wanted: TagFilter, deadline: Deadline, *, negated: bool) -> Matcher:
    if not negated:
        return TagMatcher(store, wanted, deadline)
    if wanted.op in ("exists", "absent"):
        opposite = TagFilter(wanted.key, "absent" if wanted.op == "exists" else "exists")
        return TagMatcher(store, opposite, deadline)
    return _OtherValue(store, wanted, deadline)


class _OtherValue:
    """The key with another value than those of a filter."""

    is_absence = False
    is_exact = False

    def __init__(self, store: Store, wanted: TagFilter, deadline: Deadline) -> None:
        self._store, self._key = store, wanted.key
        self._matcher = TagMatcher(store, wanted, deadline)
        self.count = store.key_count(wanted.key) - self._matcher.count

    @property
    def is_impossible(self) -> bool:
        return self.count == 0

    def rows(self) -> Rows:
        return self._store.rows_with_key(self._key)

    def test(self, rows: Rows) -> Mask:
        has_key: Mask = self._store.tag_values(rows, self._key) >= 0
        return has_key & ~self._matcher.test(rows)


class _Constant:
    is_exact = False

    def __init__(self, store: Store, *, value: bool) -> None:
        self._value = value
        self.is_absence = value
        self.count = len(store.listed) if value else 0

    @property
    def is_impossible(self) -> bool:
        return not self._value

    def rows(self) -> Rows:
        return np.empty(0, np.uint32)

    def test(self, rows: Rows) -> Mask:
        return np.full(len(rows), self._value)


class _InRegion:
    is_exact = False

    def __init__(self, store: Store, region: Region) -> None:
        self._store, self._region = store, region
        self._searches = [store.begin_search(box) for box in region.boxes or ()]
        self.is_absence = region.boxes is None
        most = len(store.listed)
        self.count = (
            most if self.is_absence else min(most, sum(one.estimate for one in self._searches))
        )

    @property
    def is_impossible(self) -> bool:
        return False

    def rows(self) -> Rows:
        return distinct(*(search.rows() for search in self._searches))

    def test(self, rows: Rows) -> Mask:
        return self._region.test(self._store, rows)


class _OutsideRegion:
    is_absence = True
    is_exact = False
    is_impossible = False

    def __init__(self, store: Store, region: Region) -> None:
        self._store, self._region = store, region
        self.count = len(store.listed)

    def rows(self) -> Rows:
        raise NotImplementedError

    def test(self, rows: Rows) -> Mask:
        passed: Mask = ~self._region.test(self._store, rows)
        passed[passed] = ~shapely.is_missing(self._store.geometries(rows[passed]))
        return passed


class _AllOf:
    is_exact = False

    def __init__(self, store: Store, parts: list[Matcher]) -> None:
        self._store = store
        self._parts = sorted(parts, key=lambda part: (part.is_absence, part.count))
        self.is_absence = not parts or self._parts[0].is_absence
        self.count = min((part.count for part in parts), default=len(store.listed))

    @property
    def is_impossible(self) -> bool:
        return any(part.is_impossible for part in self._parts)

    def rows(self) -> Rows:
        return self._parts[0].rows()

    def test(self, rows: Rows) -> Mask:
        passed = np.ones(len(rows), np.bool_)
        for part in self._parts:
            places = np.flatnonzero(passed)
            if not len(places):
                break
            passed[places] = part.test(rows[places])
        return passed


class _AnyOf:
    is_exact = False

    def __init__(self, store: Store, parts: list[Matcher]) -> None:
        self._parts = sorted(
            (part for part in parts if not part.is_impossible), key=lambda part: -part.count
        )
        self.is_absence = any(part.is_absence for part in self._parts)
        self.count = min(len(store.listed), sum(part.count for part in self._parts))

    @property
    def is_impossible(self) -> bool:
        return not self._parts

    def rows(self) -> Rows:
        return distinct(*(part.rows() for part in self._parts))

    def test(self, rows: Rows) -> Mask:
        passed = np.zeros(len(rows), np.bool_)
        for part in self._parts:
            places = np.flatnonzero(~passed)
            if not len(places):
                break
            passed[places] = part.test(rows[places])
        return passed
