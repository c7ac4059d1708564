"""Distances and durations between many positions."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Final, Literal

from msgspec import Meta

from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import roads as library
from mapyard.library.results.matrix import Figure, Matrix, stream_csv, stream_json

_CSV: Final = "text/csv; charset=utf-8"
_FIGURES: Final[tuple[Figure, ...]] = ("distances", "durations")


class MatrixParams(library.MatrixQuestion, kw_only=True):
    """From where, to where."""

    annotations: Annotated[
        tuple[Literal["duration", "distance"], ...],
        Meta(description="read for compatibility: both matrices are sent; see figures"),
    ] = ()
    figures: Annotated[
        tuple[Figure, ...],
        Meta(description="only these matrices", max_length=2),
    ] = ()
    format: Annotated[
        Literal["json", "csv"], Meta(description="csv: origin, destination, distance_m, duration_s")
    ] = "json"


@endpoint(
    "/api/v1/matrix",
    methods=("POST",),
    premium=True,
    heavy=True,
    summary="Distance and duration matrix",
    tag="Routing",
    schema="MatrixResult",
    media_types=(JSON, "text/csv"),
    errors=("no_road_found",),
    examples=[
        Example(
            {
                "origins": {"type": "MultiPoint", "coordinates": [[7.4246, 43.7384]]},
                "destinations": {
                    "type": "MultiPoint",
                    "coordinates": [[7.4197, 43.7314], [7.4273, 43.7402]],
                },
                "mode": "foot",
            }
        )
    ],
)
def matrix(ctx: Context, params: MatrixParams) -> Answer:
    """Return meters and seconds from every origin (rows) to every destination (columns).

    A cell is null where no way leads. `details.index` of 404 `no_road_found` counts the origins
    first, then the destinations.
    """
    blocks = library.iter_matrix(ctx, params)
    first = next(blocks)
    if len(first.distances_m) == len(params.origins.lonlat):
        return _write_whole(first, params)
    # Errors and the count of the engine's calls are those of the first block; the others are
    # worked out while the answer is on its way.
    whole = chain((first,), blocks)
    if params.format == "csv":
        return Answer(stream_csv(whole), _CSV)
    return Answer(stream_json(whole, params.figures or _FIGURES))


def _write_whole(found: Matrix, params: MatrixParams) -> Answer:
    if params.format == "csv":
        return Answer(found.to_csv().encode(), _CSV)
    written = found.to_written()
    if params.figures:
        for name in set(_FIGURES) - set(params.figures):
            del written[name]
    return Answer.json(written)
