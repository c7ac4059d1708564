"""Prometheus metrics of a worker, summed over all workers when /metrics is asked for.

Labels are route templates, methods and status codes: never a path, a key or an account.
"""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

#: The environment variable with the folder that all processes of a server share.
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST
_METHODS = frozenset(("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"))

REGISTRY = CollectorRegistry()
REQUESTS = Histogram(
    "mapyard_http_request_duration_seconds",
    "Time to answer, by route template, method and status.",
    ("route", "method", "status"),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
RUNNING = Gauge(
    "mapyard_http_requests_in_flight",
    "Requests being answered.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
REFUSED = Counter(
    "mapyard_requests_refused_total",
    "Requests refused before any work, by error code.",
    ("code",),
    registry=REGISTRY,
)
BYTES = Counter("mapyard_http_response_bytes_total", "Bytes of bodies sent.", registry=REGISTRY)
QUEUE = Gauge(
    "mapyard_pool_busy",
    "Jobs running or waiting in a thread pool.",
    ("pool",),
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
RESTARTS = Counter(
    "mapyard_worker_restarts_total",
    "Processes that died and were started again.",
    ("process",),
    registry=REGISTRY,
)
LOST_USAGE = Gauge(
    "mapyard_usage_records_lost",
    "Usage records that could not be kept (a full disk).",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)

_children: dict[tuple[str, str, int], Histogram] = {}


def observe(route: str, method: str, status: int, took_s: float, sent_bytes: int) -> None:
    """Note one answered request."""
    key = (route, method if method in _METHODS else "other", status)
    child = _children.get(key)
    if child is None:
        child = _children[key] = REQUESTS.labels(*key)
    child.observe(took_s)
    BYTES.inc(sent_bytes)


def render() -> bytes:
    """Return the metrics of all processes as Prometheus text."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and Path(folder).is_dir():
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
    return generate_latest(REGISTRY)


def forget_process(pid: int) -> None:
    """Drop the gauges of a process that ended; its counters stay."""
    if os.environ.get(FOLDER_VARIABLE):
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
