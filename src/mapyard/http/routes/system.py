"""Addresses for operators."""

from __future__ import annotations

import hmac

from mapyard.errors import NotFound
from mapyard.http import metrics
from mapyard.http.answer import JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.freshness import render_freshness
from mapyard.http.trust import is_trusted
from mapyard.params.parser import NoParams
from mapyard.version import __version__

TEXT = "text/plain"


@endpoint(
    "/version",
    summary="Version of the software, the dataset and the time of its data",
    tag="Operation",
    public=True,
    inline=True,
    media_types=(JSON,),
    schema="Version",
    examples=[Example({})],
)
def version(ctx: Context, params: NoParams) -> Answer:
    """Name the software's version, the dataset served and the time of its data.

    `parts` has the time of each part: roads may be older (MAPYARD_UPDATE_ROUTING).
    """
    snapshot = ctx.snapshot
    fields = {
        "version": __version__,
        "dataset": snapshot.id,
        "timestamp": snapshot.timestamp or None,
        "bbox": snapshot.manifest.bbox,
        "parts": {name: snapshot.find_data_time(name) or None for name in snapshot.manifest.parts},
    }
    return Answer.json(fields)


@endpoint(
    "/healthz",
    summary="Whether the process lives",
    tag="Operation",
    public=True,
    inline=True,
    needs_dataset=False,
    media_types=(JSON,),
    schema="Status",
    examples=[Example({})],
)
def healthz(ctx: Context, params: NoParams) -> Answer:
    """Answer 200 as long as the process lives; depends on nothing else."""
    return Answer.json({"status": "ok"})


@endpoint(
    "/readyz",
    summary="Whether requests should be sent here",
    tag="Operation",
    public=True,
    inline=True,
    needs_dataset=False,
    media_types=(JSON,),
    schema="Status",
    examples=[Example({})],
)
def readyz(ctx: Context, params: NoParams) -> Answer:
    """Answer 200 when a dataset is open and the server is not about to stop, else 503."""
    if ctx.services.draining:
        return Answer.json({"status": "stopping"}, status=503)
    if not ctx.services.snapshots.is_ready:
        return Answer.json({"status": "no dataset"}, status=503)
    return Answer.json({"status": "ready"})


@endpoint(
    "/metrics",
    summary="Prometheus metrics of all workers",
    tag="Operation",
    public=True,
    needs_dataset=False,
    media_types=(TEXT,),
)
def read_metrics(ctx: Context, params: NoParams) -> Answer:
    """Answer to `Authorization: Bearer` with MAPYARD_METRICS_TOKEN, and to trusted networks."""
    if not (_has_token(ctx) or is_trusted(ctx.settings, ctx.client)):
        raise NotFound(
            "/metrics needs the operator's token (MAPYARD_METRICS_TOKEN), or a socket of its own "
            "(MAPYARD_METRICS_LISTEN)"
        )
    text = metrics.render() + render_freshness(ctx.settings.data)
    return Answer(text, metrics.CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def _has_token(ctx: Context) -> bool:
    token = ctx.settings.metrics_token
    given = ctx.headers.get("authorization", "")
    return bool(token) and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())
