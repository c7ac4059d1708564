"""What every format is read into, and what is noted on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import MapyardError

type Geometries = NDArray[np.object_]
#: Gets addresses; returns (n, 2) lon, lat in degrees, NaN where an address is not found.
Geocode = Callable[[Sequence[str]], NDArray[np.float64]]

#: Rows that are read and written at once.
PORTION: Final = 10_000
#: Problems that are kept with row and reason; the others are counted.
KEPT_PROBLEMS: Final = 1_000
MAX_COLUMNS: Final = 1_000
MAX_NAME: Final = 255
#: Positions of one geometry.
MAX_POSITIONS: Final = 1_000_000


class ImportFailed(MapyardError):  # noqa: N818 - as in errors.py, named after what it means
    """A file that cannot become a dataset; the message says where and what to do."""

    status, code = 422, "validation_failed"


class Portion(NamedTuple):
    """Some rows of a source: their numbers (from 1), properties, and geometries or None."""

    numbers: Sequence[int]
    properties: list[dict[str, Any]]
    geometries: Geometries


class Options(NamedTuple):
    """How a file is to be read; "" stands for finding out."""

    format: str = ""
    #: The file's name where it came from: its ending tells the format.
    name: str = ""
    encoding: str = ""
    delimiter: str = ""
    layer: str = ""
    lat: str = ""
    lon: str = ""
    geometry: str = ""
    address: str = ""
    strict: bool = False


class Problems:
    """What is wrong with single rows: kept up to a number, counted beyond."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self.count = 0
        self.kept: list[dict[str, Any]] = []

    def add(self, row: int, message: str) -> None:
        """Note what is wrong with a row."""
        self.count += 1
        if len(self.kept) < KEPT_PROBLEMS:
            self.kept.append({"row": row, "message": message})

    def check(self) -> None:
        """Raise ImportFailed for the first row that is wrong, where the dataset is strict."""
        if self._strict and self.kept:
            first = min(self.kept, key=lambda problem: problem["row"])
            raise ImportFailed(
                f"row {first['row']}: {first['message']}; correct the file, or import it without "
                "strict_mode, which keeps such rows without a geometry and lists them"
            )


def check_names(names: Sequence[str]) -> list[str]:
    """Return column names that are distinct and not empty; raise ImportFailed for too many."""
    if len(names) > MAX_COLUMNS:
        raise ImportFailed(
            f"the file has {len(names):,} columns, at most {MAX_COLUMNS:,} are read; "
            "leave out those that nobody asks for"
        )
    seen: dict[str, int] = {}
    found = []
    for place, name in enumerate(names, start=1):
        name = name.strip()[:MAX_NAME] or f"column_{place}"
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found


def check_geometries(portion: Portion, problems: Problems) -> Portion:
    """Return the portion with geometries that can be stored: valid, flat, on Earth.

    What cannot is None then, and noted.
    """
    shapes = shapely.force_2d(portion.geometries)
    shapes[shapely.is_empty(shapes)] = None
    counts = shapely.get_num_coordinates(shapes)
    coordinates, owners = shapely.get_coordinates(shapes, return_index=True)
    with np.errstate(invalid="ignore"):
        is_bad = ~((np.abs(coordinates[:, 0]) <= 180.0) & (np.abs(coordinates[:, 1]) <= 90.0))
    for place in np.unique(owners[is_bad]).tolist():
        lon, lat = coordinates[is_bad & (owners == place)][0].tolist()
        problems.add(
            portion.numbers[place],
            f"latitude {lat:g} and longitude {lon:g} are not on Earth: latitude is within ±90, "
            "longitude within ±180" + (", perhaps they are swapped" if abs(lon) <= 90 else ""),
        )
        shapes[place] = None
    for place in np.flatnonzero(counts > MAX_POSITIONS).tolist():
        problems.add(
            portion.numbers[place],
            f"the geometry has {counts[place]:,} positions, at most {MAX_POSITIONS:,} are stored",
        )
        shapes[place] = None
    kinds = shapely.get_type_id(shapes)
    for place in np.flatnonzero(kinds == shapely.GeometryType.GEOMETRYCOLLECTION).tolist():
        problems.add(
            portion.numbers[place], "is a GeometryCollection; give each geometry a row of its own"
        )
        shapes[place] = None
    areas = np.flatnonzero(np.isin(kinds, (3, 6)))
    for place in areas[~shapely.is_valid(shapes[areas])].tolist():
        reason = shapely.is_valid_reason(shapes[place])
        shapes[place] = _mend(shapes[place])
        if shapes[place] is None:
            problems.add(portion.numbers[place], f"the area encloses nothing: {reason}")
    return portion._replace(geometries=shapes)


def _mend(shape: Any) -> Any | None:
    """Return the polygons of an area that crosses itself, None without any."""
    made = shapely.make_valid(shape)
    parts = shapely.get_parts(shapely.get_parts(made))
    parts = parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]
    if not len(parts):
        return None
    return parts[0] if len(parts) == 1 else shapely.multipolygons(parts)


def in_portions(
    rows: Iterator[tuple[int, dict[str, Any], Any]],
    shape: Callable[[list[Any], Sequence[int]], Geometries],
) -> Iterator[Portion]:
    """Yield portions of single rows; `shape` makes geometries of what the rows have for them."""
    numbers: list[int] = []
    properties: list[dict[str, Any]] = []
    raw: list[Any] = []
    for number, row, geometry in rows:
        numbers.append(number)
        properties.append(row)
        raw.append(geometry)
        if len(numbers) == PORTION:
            yield Portion(numbers, properties, shape(raw, numbers))
            numbers, properties, raw = [], [], []
    if numbers:
        yield Portion(numbers, properties, shape(raw, numbers))
