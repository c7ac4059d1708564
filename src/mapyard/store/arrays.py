"""What the seam to the feature store speaks: rows, runs, members, metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]
Ints = NDArray[np.int64]

#: One degree in stored units.
E7 = 10_000_000

EMPTY_ROWS: NDArray[np.uint32] = np.empty(0, np.uint32)


class Ragged(NamedTuple):
    """Runs of values: those of item i are values[offsets[i]:offsets[i + 1]]."""

    values: NDArray[Any]
    offsets: Ints

    def lengths(self) -> Ints:
        """Return the number of values of each item."""
        return np.diff(self.offsets)

    def owners(self) -> Ints:
        """Return, for each value, the index of its item."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths())


@dataclass(slots=True)
class Members:
    """Members of relations, one entry per member in order.

    `relation` is the index into the asked rows; `row` is −1 where the member is not in the extract;
    `role` indexes Store.roles. `eid` is looked up when it is asked for.
    """

    relation: Ints
    row: Ints
    role: NDArray[np.uint32]
    position: Ints
    find_eids: Callable[[], Ints]

    @property
    def eid(self) -> Ints:
        """The eid of each member."""
        return self.find_eids()


class Meta(NamedTuple):
    """Metadata of elements; timestamps in Unix seconds (0 unknown); user indexes Store.users."""

    version: NDArray[np.uint32]
    timestamp: NDArray[np.uint32]
    changeset: NDArray[np.uint32]
    user: NDArray[np.uint32]
