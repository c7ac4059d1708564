"""Distances and durations between many positions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.ways import ModeField, SnapRadius, get_engine
from mapyard.params.parser import Params, Positions, spelled
from mapyard.routing.matrix import compute_matrix, fill_unreachable
from mapyard.routing.snapping import DEFAULT_RADIUS_M

MAX_POINTS = 10_000


class MatrixParams(Params):
    """From where, to where."""

    origins: Annotated[Positions, spelled("rows of the matrix", "sources", max_points=MAX_POINTS)]
    destinations: Annotated[
        Positions, spelled("columns of the matrix", "targets", max_points=MAX_POINTS)
    ]
    mode: ModeField = "auto"
    annotations: Annotated[
        tuple[Literal["duration", "distance"], ...],
        Meta(description="read for compatibility: both matrices are always sent"),
    ] = ()
    fallback_speed: Annotated[
        float | None,
        Meta(
            gt=0,
            le=1_000,
            description="km/h: unreachable cells are filled as the crow flies at this speed",
        ),
    ] = None
    snap_radius: SnapRadius = DEFAULT_RADIUS_M
    format: Annotated[Literal["json"], Meta(description="JSON only")] = "json"


@endpoint(
    "/api/v1/matrix",
    methods=("POST",),
    premium=True,
    heavy=True,
    summary="Distance and duration matrix",
    tag="Routing",
    schema="MatrixResult",
    media_types=(JSON,),
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
    origins, destinations = params.origins.lonlat, params.destinations.lonlat
    found = compute_matrix(
        get_engine(ctx),
        origins,
        destinations,
        params.mode,
        radius_m=params.snap_radius,
        max_pairs=ctx.settings.matrix_pairs,
        deadline=ctx.deadline,
    )
    members: dict[str, Any] = {"mode": params.mode}
    if params.fallback_speed is not None:
        unreachable = np.isnan(found.durations_s)
        members["fallback_cells"] = np.argwhere(unreachable).tolist()
        found = fill_unreachable(found, origins, destinations, params.fallback_speed)
    # NaN is written as null.
    return Answer.json(
        {
            "distances": found.distances_m,
            "durations": found.durations_s,
            **members,
        }
    )
