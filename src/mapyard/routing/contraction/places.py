"""Places on edges that stand for positions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.tiles import Ints
from mapyard.store.columns import ranges

type Floats = NDArray[np.float64]


class End(NamedTuple):
    """Where a way begins or ends."""

    share: float  #: of the edge that lies before it
    lon: float
    lat: float


@dataclass(frozen=True, slots=True)
class Places:
    """Columns of places, in the order of their positions; a position may have several."""

    count: int  #: of positions
    position: Ints
    edge: NDArray[np.int32]  #: -1 where the graph has none
    share: Floats  #: of the edge that lies before the place, 0–1
    away_m: Floats  #: from the position
    at: Floats  #: (places, 2), longitude and latitude

    def get_end(self, row: int) -> End:
        """Return the share of the edge before a place, and where it is."""
        return End(float(self.share[row]), *self.at[row].tolist())

    def take(self, rows: Ints) -> Places:
        """Return some of the places."""
        return Places(
            self.count,
            self.position[rows],
            self.edge[rows],
            self.share[rows],
            self.away_m[rows],
            self.at[rows],
        )

    def split(self) -> list[Places]:
        """Return each position by itself."""
        bounds = np.searchsorted(self.position, np.arange(self.count + 1)).tolist()
        return [
            Places(
                1,
                np.zeros(last - first, np.int64),
                self.edge[first:last],
                self.share[first:last],
                self.away_m[first:last],
                self.at[first:last],
            )
            for first, last in pairwise(bounds)
        ]

    def of(self, positions: Ints) -> Places:
        """Return the places of some positions, each as often as asked for, numbered anew."""
        count = np.bincount(self.position, minlength=self.count)
        first = np.cumsum(count) - count
        rows = ranges(first[positions], count[positions])
        return Places(
            count=len(positions),
            position=np.repeat(np.arange(len(positions)), count[positions]),
            edge=self.edge[rows],
            share=self.share[rows],
            away_m=self.away_m[rows],
            at=self.at[rows],
        )
