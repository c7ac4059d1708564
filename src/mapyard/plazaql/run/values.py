"""What expressions stand for: sets of elements, features of services, geometries, plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import TooLarge
from mapyard.features.query import ALL_TYPES, FeatureQuery, iter_rows, test_rows
from mapyard.features.regions import Region
from mapyard.features.tags import TagFilter
from mapyard.results.output import Output
from mapyard.results.shaping import iter_shaped
from mapyard.store.portions import check_size, in_portions
from mapyard.store.reader import Rows, Store

type Mask = NDArray[np.bool_]
type Ints = NDArray[np.int64]
#: Gets rows, returns which of them pass.
type RowTest = Callable[[Rows], Mask]
type Column = Literal["area_m2", "length_m", "elevation_m", "distance_m"]

#: Elements that may be one geometry together.
MAX_SHAPES: Final = 20_000


@dataclass(frozen=True)
class Look:
    """How elements are written."""

    output: Output = field(default_factory=Output)
    columns: tuple[tuple[Column, Any], ...] = ()


@dataclass(frozen=True)
class Elements:
    """Elements of the store: conditions, or rows that are found already; found when looked at."""

    store: Store
    deadline: Deadline
    types: tuple[int, ...] = ALL_TYPES
    tags: tuple[TagFilter, ...] = ()
    regions: tuple[Region, ...] = ()
    tests: tuple[RowTest, ...] = ()
    #: Rows to choose from in the order of their eids, or as they are sorted; None for all.
    given: Ints | None = None
    look: Look = field(default_factory=Look)
    #: Whether the set is one element that was picked: its tags are single values.
    is_single: bool = False

    def having(self, **changes: Any) -> Elements:
        """Return the set with other conditions."""
        return replace(self, **changes)

    def find(self, most: int | None = None) -> Ints:
        """Return the rows, at most so many."""
        chunks: list[Ints] = []
        count = 0
        for rows in self._iter_rows(most):
            chunks.append(rows)
            count += len(rows)
            if most is not None and count >= most:
                break
        found = np.concatenate(chunks) if chunks else np.empty(0, np.int64)
        return found if most is None else found[:most]

    def _iter_rows(self, most: int | None) -> Any:
        # The region with the fewest boxes is asked of the spatial index.
        regions = sorted(self.regions, key=lambda region: region.boxes is None)
        first = regions[0] if regions else None
        query = FeatureQuery(self.types, self.tags, first)
        if self.given is not None:
            rows = self.given
            if len(rows) and (self.tags or first is not None or len(self.types) < len(ALL_TYPES)):
                rows = rows[test_rows(self.store, query, rows)]
            yield self._test(rows, regions[1:])
            return
        wanted = most if not self.tests and len(regions) < 2 else None
        for rows in iter_rows(self.store, query, self.deadline, wanted=wanted):
            yield self._test(rows.astype(np.int64), regions[1:])

    def _test(self, rows: Ints, regions: list[Region]) -> Ints:
        for region in regions:
            if len(rows):
                self.deadline.check()
                meets = partial(region.test, self.store)
                rows = rows[in_portions(self.store, rows, meets, self.deadline)]
        for test in self.tests:
            if len(rows):
                self.deadline.check()
                rows = rows[test(rows)]
        return rows

    def of_rows(self, rows: Ints, **changes: Any) -> Elements:
        """Return the set of rows that were found, written in the same way."""
        return Elements(self.store, self.deadline, given=rows, look=self.look, **changes)

    def shape(self) -> Any:
        """Return one geometry of all elements, None where none has any."""
        rows = self.find(MAX_SHAPES + 1)
        if len(rows) > MAX_SHAPES:
            raise TooLarge(
                f"a set used as a geometry has more than {MAX_SHAPES:,} elements; narrow it first",
                details={"limit": MAX_SHAPES},
            )
        check_size(self.store, rows)
        shapes = list(iter_shaped(self.store.geometries(rows), self.look.output, self.deadline))
        return unite(np.concatenate(shapes) if shapes else np.empty(0, np.object_))


def unite(shapes: NDArray[np.object_]) -> Any:
    """Return one geometry of several, None of none."""
    shapes = shapes[~shapely.is_missing(shapes)]
    if not len(shapes):
        return None
    return shapes[0] if len(shapes) == 1 else shapely.union_all(shapes)


class Features(NamedTuple):
    """Features that a service found, as GeoJSON mappings."""

    features: list[dict[str, Any]]
    #: What else the service said.
    members: dict[str, Any]

    def shape(self) -> Any:
        """Return one geometry of all features, None where none has any."""
        found = [f["geometry"] for f in self.features if f.get("geometry")]
        shapes = np.empty(len(found), np.object_)
        for place, geometry in enumerate(found):
            shapes[place] = shapely.geometry.shape(geometry)
        return unite(shapes)


class Shape(NamedTuple):
    """A geometry in degrees, lon lat."""

    geometry: Any


class Answer(NamedTuple):
    """What is no list of features: a number, numbers by group, a table."""

    value: Any


class Groups(NamedTuple):
    """A set and the key of each of its elements, before they are counted."""

    elements: Elements
    rows: Ints
    #: Number of each row's group, −1 none; and the keys.
    numbers: Ints
    keys: list[Any]


type Value = Elements | Features | Shape | Answer | Groups | float | str | bool | list[Any]
