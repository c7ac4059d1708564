"""Distances and durations between many positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.library.results.feature import JSON_OPTIONS
from mapyard.library.results.tables import need

if TYPE_CHECKING:
    import pandas


type Figure = Literal["distances", "durations"]

_CSV_HEADER: Final = "origin,destination,distance_m,duration_s\n"
#: Cells that are written at once where a matrix is written in parts.
_WRITTEN: Final = 16_384


class Matrix:
    """Two float64 arrays of shape (origins, destinations); NaN where no way leads."""

    def __init__(
        self,
        distances_m: NDArray[np.float64],
        durations_s: NDArray[np.float64],
        mode: str,
        filled: NDArray[np.int64] | None = None,
    ) -> None:
        #: Meters.
        self.distances_m = distances_m
        #: Seconds.
        self.durations_s = durations_s
        self.mode = mode
        #: Cells (row, column) that were filled by `fallback_speed`; None where it was not given.
        self.filled = filled

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of origins and of destinations."""
        rows, columns = self.distances_m.shape
        return rows, columns

    def to_written(self) -> dict[str, Any]:
        """Return the endpoint's answer, ready for orjson: NaN is written as null."""
        members = {} if self.filled is None else {"fallback_cells": self.filled.tolist()}
        return {
            "distances": self.distances_m,
            "durations": self.durations_s,
            "mode": self.mode,
            **members,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the endpoint's answer as plain Python values."""
        made: dict[str, Any] = orjson.loads(orjson.dumps(self.to_written(), option=JSON_OPTIONS))
        return made

    def to_csv(self) -> str:
        """Return a line per pair: origin, destination, distance_m, duration_s; empty: no way."""
        return _CSV_HEADER + "".join(
            _write_lines(*part) for part in _iter_parts(self.distances_m, self.durations_s)
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame: origin, destination, distance_m, duration_s, a row per pair."""
        rows, columns = self.shape
        return need("pandas").DataFrame(
            {
                "origin": np.repeat(np.arange(rows), columns),
                "destination": np.tile(np.arange(columns), rows),
                "distance_m": self.distances_m.ravel(),
                "duration_s": self.durations_s.ravel(),
            }
        )

    @classmethod
    def join(cls, blocks: Sequence[Matrix]) -> Matrix:
        """Return the matrix of blocks of rows, one or more."""
        if len(blocks) == 1:
            return blocks[0]
        filled = [block.filled for block in blocks if block.filled is not None]
        return cls(
            np.concatenate([block.distances_m for block in blocks]),
            np.concatenate([block.durations_s for block in blocks]),
            blocks[0].mode,
            np.concatenate(filled) if filled else None,
        )

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Matrix:
        """Return the matrix that an endpoint answered."""
        filled = body.get("fallback_cells")
        return cls(
            np.array(body["distances"], np.float64),
            np.array(body["durations"], np.float64),
            body["mode"],
            None if filled is None else np.array(filled, np.int64).reshape(-1, 2),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment] # equal by content

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<Matrix {rows} × {columns} by {self.mode}>"

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(max_rows=20))


def stream_json(blocks: Iterable[Matrix], figures: Sequence[Figure]) -> Iterator[bytes]:
    """Yield the endpoint's answer out of blocks of rows, with the figures asked for.

    Distances go out as they come; of durations that come after them all are kept meanwhile.
    """
    kept: list[NDArray[np.float64]] = []
    filled: list[NDArray[np.int64]] = []
    mode = ""
    first, *others = [name for name in ("distances", "durations") if name in figures]
    separator = f'{{"{first}":['.encode()
    for block in blocks:
        mode = block.mode
        if block.filled is not None:
            filled.append(block.filled)
        by_name = {"distances": block.distances_m, "durations": block.durations_s}
        kept += [by_name[name] for name in others]
        for part in _write_rows(by_name[first]):
            yield separator + part
            separator = b","
    for name in others:
        separator = f'],"{name}":['.encode()
        for rows in kept:
            for part in _write_rows(rows):
                yield separator + part
                separator = b","
    yield f'],"mode":"{mode}"'.encode()
    if filled:
        separator = b',"fallback_cells":['
        for cells in filled:
            for start in range(0, len(cells), _WRITTEN):
                yield separator + _write_list(cells[start : start + _WRITTEN])
                separator = b","
        yield separator + b"]" if separator != b"," else b"]"
    yield b"}"


def stream_csv(blocks: Iterable[Matrix]) -> Iterator[bytes]:
    """Yield what `Matrix.to_csv` returns, out of blocks of rows."""
    yield _CSV_HEADER.encode()
    before = 0
    for block in blocks:
        for row, metres, seconds in _iter_parts(block.distances_m, block.durations_s):
            yield _write_lines(before + row, metres, seconds).encode()
        before += len(block.distances_m)


def _write_rows(values: NDArray[np.float64]) -> Iterator[bytes]:
    for _, part in _iter_parts(values):
        yield _write_list(part)


def _write_list(values: NDArray[Any]) -> bytes:
    """Return the JSON of an array without the outer brackets."""
    return orjson.dumps(np.ascontiguousarray(values), option=JSON_OPTIONS)[1:-1]


def _iter_parts(*columns: NDArray[np.float64]) -> Iterator[Any]:
    """Yield the first row of each part of some arrays of the same shape, and the parts."""
    rows, width = columns[0].shape
    step = max(1, _WRITTEN // max(1, width))
    for start in range(0, rows, step):
        yield start, *(column[start : start + step] for column in columns)


def _write_lines(first: int, metres: NDArray[np.float64], seconds: NDArray[np.float64]) -> str:
    rows, columns = np.indices(metres.shape).reshape(2, -1)
    figures = zip(
        (first + rows).tolist(), columns.tolist(), metres.ravel().tolist(),
        seconds.ravel().tolist(), strict=True,
    )  # fmt: skip
    return "".join(
        f"{row},{column},,\n" if s != s else f"{row},{column},{m:.10g},{s:.10g}\n"
        for row, column, m, s in figures
    )
