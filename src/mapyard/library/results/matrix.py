"""Distances and durations between many positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.library.results.feature import JSON_OPTIONS
from mapyard.library.results.tables import need

if TYPE_CHECKING:
    import pandas


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
        rows, columns = np.indices(self.shape).reshape(2, -1).tolist()
        figures = zip(
            rows, columns, self.distances_m.ravel().tolist(), self.durations_s.ravel().tolist(),
            strict=True,
        )  # fmt: skip
        lines = [
            f"{row},{column},," if s != s else f"{row},{column},{m:.10g},{s:.10g}"
            for row, column, m, s in figures
        ]
        return "\n".join(["origin,destination,distance_m,duration_s", *lines, ""])

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
