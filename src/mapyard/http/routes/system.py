"""Addresses for operators and the paths that clients know and this service does not offer."""

from __future__ import annotations

from mapyard import __version__
from mapyard.http.endpoints import JSON, Answer, Context, Params, endpoint


class NoParams(Params):
    """No parameters."""


@endpoint(
    "/version",
    summary="Version of the software, dataset and time of its data",
    tag="System",
    public=True,
    inline=True,
    media_types=(JSON,),
)
def version(ctx: Context, params: NoParams) -> Answer:
    """Name the software's version, the dataset served and the time of its data."""
    return Answer.json(
        {
            "version": __version__,
            "dataset": ctx.snapshot.id,
            "timestamp": ctx.snapshot.timestamp or None,
        }
    )
