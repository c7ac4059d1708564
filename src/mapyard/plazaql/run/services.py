"""What a query asks beyond the store: handed over by the caller, who has the other engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.reader import Store

#: Gets a question's name and its parameters as the API takes them; returns GeoJSON.
Ask = Callable[[str, Mapping[str, Any]], dict[str, Any]]
#: Gets a name, returns the area called so, None without one.
FindBoundary = Callable[[str], Any]
#: Gets lon and lat in degrees, returns heights in meters, NaN where there is no data.
FindHeights = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


#: Gets id or slug of a dataset of somebody's own; returns its store, or raises NotFound.
FindDataset = Callable[[str], Store]


class Services(NamedTuple):
    """The other engines, as callables."""

    ask: Ask
    find_boundary: FindBoundary
    find_heights: FindHeights
    find_dataset: FindDataset
    #: Whom to name beside OpenStreetMap: filled as datasets are found.
    attributions: list[str]
