"""Prometheus metrics of a worker, summed over all workers when /metrics is asked for.

Requests are counted in plain memory and handed to the shared files some times a second: a worker
that is killed loses at most that moment. Labels are route templates, methods and status codes:
never a path, a key or an account.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    generate_latest,
    multiprocess,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

#: The environment variable with the folder that all processes of a server share.
FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"))
_BUCKETS_S: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip

REGISTRY: Final = CollectorRegistry()
REQUESTS: Final = Histogram(
    "mapyard_http_request_duration_seconds",
    "Time to answer, by route template, method and status.",
    ("route", "method", "status"),
    buckets=_BUCKETS_S,
    registry=REGISTRY,
)
RUNNING: Final = Gauge(
    "mapyard_http_requests_in_flight",
    "Requests being answered.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
REFUSED: Final = Counter(
    "mapyard_requests_refused_total",
    "Requests refused before any work, by error code.",
    ("code",),
    registry=REGISTRY,
)
CLOSED: Final = Counter(
    "mapyard_connections_closed_total",
    "Connections that the server ended: silent before a request or within its head or body, not "
    "taking their answer, or idle while others needed room.",
    ("reason",),
    registry=REGISTRY,
)
BYTES: Final = Counter(
    "mapyard_http_response_bytes_total", "Bytes of bodies sent.", registry=REGISTRY
)
WAYS: Final = Counter(
    "mapyard_ways_answered_total",
    "Questions about ways, by route template and by whether the routing engine was called or all "
    "came from prepared arrays.",
    ("route", "by"),
    registry=REGISTRY,
)
TILES_MADE: Final = Counter(
    "mapyard_tiles_made_total",
    "Tiles that were drawn for a request; all others came from files or memory.",
    registry=REGISTRY,
)
QUEUE: Final = Gauge(
    "mapyard_pool_busy",
    "Jobs running or waiting in a thread pool.",
    ("pool",),
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
RESTARTS: Final = Counter(
    "mapyard_worker_restarts_total",
    "Processes that died and were started again.",
    ("process",),
    registry=REGISTRY,
)
REPLACED: Final = Counter(
    "mapyard_worker_replaced_total",
    "Processes that lived but did not work and were replaced: silent (no heartbeat) or stuck (all "
    "threads of a pool past their deadlines).",
    ("reason",),
    registry=REGISTRY,
)
LOST_USAGE: Final = Gauge(
    "mapyard_usage_records_lost",
    "Usage records that could not be kept (a full disk).",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
REDIS_AWAY: Final = Gauge(
    "mapyard_redis_away",
    "1 while Redis does not answer and each machine enforces the limits by itself.",
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
DATABASE_SILENT: Final = Gauge(
    "mapyard_accounts_database_silent",
    "1 while the accounts database does not answer: known keys go on for ten minutes.",
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
QUERIES_KILLED: Final = Counter(
    "mapyard_query_processes_killed_total",
    "Query processes that ended with their query: over its time, over its memory, left by a client "
    "and not stopping, or died by themselves.",
    ("reason",),
    registry=REGISTRY,
)
DAMAGED: Final = Counter(
    "mapyard_datasets_damaged_total",
    "Datasets that were taken out of service because a file was not as it was built.",
    registry=REGISTRY,
)
LOG_LINES_LOST: Final = Gauge(
    "mapyard_access_log_lines_lost",
    "Lines of the access log that were dropped, because whoever reads it takes none.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)


class _Tally:
    """Answers of one route, method and status since the last hand-over."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.buckets = [0] * (len(_BUCKETS_S) + 1)


class Requests:
    """Counts the requests of this process."""

    def __init__(self) -> None:
        self.running = 0
        self._bytes = 0
        self._tallies: dict[tuple[str, str, int], _Tally] = {}
        self._ways: dict[tuple[str, str], int] = {}

    def note(self, route: str, method: str, status: int, took_s: float, sent_bytes: int) -> None:
        """Count one answered request."""
        key = (route, method if method in _METHODS else "other", status)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = _Tally()
        tally.seconds += took_s
        tally.buckets[bisect_left(_BUCKETS_S, took_s)] += 1
        self._bytes += sent_bytes

    def note_ways(self, route: str, engine_calls: int) -> None:
        """Count one question about ways."""
        key = (route, "engine" if engine_calls else "prepared")
        self._ways[key] = self._ways.get(key, 0) + 1

    def hand_over(self) -> None:
        """Add what was counted to the metrics of all processes."""
        tallies, self._tallies = self._tallies, {}
        sent_bytes, self._bytes = self._bytes, 0
        ways, self._ways = self._ways, {}
        for way, asked in ways.items():
            WAYS.labels(*way).inc(asked)
        RUNNING.set(self.running)
        BYTES.inc(sent_bytes)
        for key, tally in tallies.items():
            child = REQUESTS.labels(*key)
            # What Histogram.observe does, for many at once: it has no call for that.
            child._sum.inc(tally.seconds)
            for bucket, count in zip(child._buckets, tally.buckets, strict=True):
                if count:
                    bucket.inc(count)


def render() -> bytes:
    """Return the metrics of all processes as Prometheus text."""
    return generate_latest(_of_all_processes())


def collect() -> Iterable[Metric]:
    """Return the metrics of all processes."""
    return _of_all_processes().collect()


def _of_all_processes() -> CollectorRegistry:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder or not Path(folder).is_dir():
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def forget_process(pid: int) -> None:
    """Drop the gauges of a process that ended; its counters stay."""
    if os.environ.get(FOLDER_VARIABLE):
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
