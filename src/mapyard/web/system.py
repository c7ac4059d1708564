"""The operator's page on the state of the service: datasets, updates, queues, caches, webhook."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select
from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts.models import Account, WebhookDelivery
from mapyard.addresses import split_login
from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError, NotFound
from mapyard.http import metrics
from mapyard.http.minutes import read_minutes
from mapyard.http.services import Services
from mapyard.settings import list_settings, show_setting
from mapyard.updates.history import read_log, read_runs
from mapyard.web.charts import Bar, draw_bars
from mapyard.web.visit import Visit, page

#: Metrics that say how the service feels, with their names here.
_GAUGES: Final = {
    "mapyard_http_requests_in_flight": "Requests being answered",
    "mapyard_pool_busy": "Jobs in the thread pool",
    "mapyard_worker_restarts_total": "Processes started again",
    "mapyard_usage_records_lost": "Usage records lost",
    "mapyard_requests_refused_total": "Requests refused",
    "mapyard_http_response_bytes_total": "Bytes sent",
}


#: Problems of one kind that a dataset's page lists.
_SHOWN_PROBLEMS: Final = 50
#: Minutes of one bar of a chart.
_BAR_MINUTES: Final = 30


class DatasetRow(msgspec.Struct, frozen=True):
    """One dataset of the data folder."""

    id: str
    is_current: bool
    created: str
    osm_timestamp: str
    sequence: int | None
    size_bytes: int
    counts: dict[str, int]
    parts: list[str]
    #: Parts whose data is older than the dataset's, with its time.
    older: list[tuple[str, str]]
    #: The address that updates come from, "" for none.
    updated_by: str = ""
    #: Name, seconds of its build, bytes and report of each part.
    built: list[tuple[str, float, int, dict[str, Any]]] = []


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [
        page("/operator/system", show_system, needs="operator"),
        page("/operator/system/updates/{name}", show_run, needs="operator"),
        page("/operator/system/datasets/{id}", show_dataset, needs="operator"),
        page("/operator/settings", show_settings, needs="operator"),
    ]


def show_system(visit: Visit) -> Response:
    """Show what an operator looks at first."""
    data = visit.services.settings.data
    with visit.database.read() as session:
        deliveries = session.execute(
            select(WebhookDelivery, Account.email)
            .join(Account, Account.id == WebhookDelivery.account_id)
            .order_by(WebhookDelivery.month.desc(), WebhookDelivery.account_id)
            .limit(20)
        ).all()
    disk = shutil.disk_usage(data)
    return visit.render(
        "operator_system.html",
        charts=draw_day(read_minutes(visit.services.own_folder, now_s=_end_of_bar(time.time()))),
        datasets=list_datasets(data),
        state=read_gauges(),
        folders=[(name, folder_bytes(data / name)) for name in ("cache", "limits", "usage")],
        disk=disk,
        disk_share=disk.used / disk.total,
        deliveries=deliveries,
        updates=read_runs(data)[:-21:-1],
        webhook_url=visit.services.settings.webhook_url,
    )


def show_run(visit: Visit) -> Response:
    """Show what an update run did, and its log."""
    data = visit.services.settings.data
    name = visit.request.path_params["name"]
    # Several rounds that found nothing to do may have begun in one second, and have one log.
    run = next((run for run in reversed(read_runs(data)) if run.log_name == name), None)
    if run is None:
        raise NotFound("there is no such update run; the last 200 are kept")
    return visit.render("operator_run.html", run=run, log=read_log(data, run))


def show_dataset(visit: Visit) -> Response:
    """Show how a dataset was built: its stages, and what was wrong with the data."""
    data = visit.services.settings.data
    wanted = visit.request.path_params["id"]
    row = next((row for row in list_datasets(data) if row.id == wanted), None)
    if row is None:
        raise NotFound("there is no such dataset; mapyard datasets list shows those there are")
    report = read_report(data, row.id)
    return visit.render(
        "operator_dataset.html",
        row=row,
        report=report,
        longest_s=max((stage.seconds for stage in report.stages), default=0.0),
        shown=_SHOWN_PROBLEMS,
    )


class Stage(msgspec.Struct, frozen=True):
    """A stage of a build."""

    name: str
    seconds: float


class Report(msgspec.Struct, frozen=True):
    """What a build wrote down: its stages, and (element, reason) of problems by their kind."""

    stages: list[Stage] = []
    problems: dict[str, list[tuple[str, str]]] = {}


def read_report(data: Path, dataset_id: str) -> Report:
    """Return a dataset's report; an empty one where there is none that can be read."""
    try:
        path = Catalog(data).path(dataset_id) / "report.json"
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError):
        return Report()


def show_settings(visit: Visit) -> Response:
    """Show the settings in force, secrets as dots."""
    settings = visit.services.settings
    rows = [
        (
            setting,
            show_setting(setting, settings),
            getattr(settings, setting.name) != setting.default,
        )
        for setting in list_settings()
    ]
    return visit.render("operator_settings.html", rows=rows)


def _end_of_bar(now_s: float) -> float:
    """Return a time in the last minute of the bar that is filling."""
    length_s = 60 * _BAR_MINUTES
    return (now_s // length_s + 1) * length_s - 1


class Chart(NamedTuple):
    """A chart of the last day, and what its colors mean."""

    title: str
    #: Class of the color and what it shows.
    legend: tuple[tuple[str, str], ...]
    drawing: Markup


def draw_day(rows: NDArray[Any]) -> list[Chart]:
    """Return charts of the minutes of a day, in half hours: requests, queues, tiles."""
    halves = rows.reshape(-1, _BAR_MINUTES)
    starts = halves["minute"][:, 0]
    ok = halves["requests"] - halves["client_errors"] - halves["server_errors"]
    kept = np.maximum(halves["tiles"] - halves["tiles_made"], 0)
    pools = {name: halves[name].max(axis=1) for name in ("light", "heavy", "queries", "accounts")}

    def chart(title: str, unit: str, *series: tuple[str, str, NDArray[Any]]) -> Chart:
        bars = []
        for i, start in enumerate(starts.tolist()):
            clock = time.strftime("%H:%M", time.gmtime(start * 60))
            said = ", ".join(f"{int(values[i]):,} {name}" for _, name, values in series)
            parts = [(color, int(values[i])) for color, _, values in series]
            bars.append(Bar(clock, f"{clock} UTC: {said}", parts))
        total = sum(int(values.sum()) for _, _, values in series)
        summary = f"{title} in the last 24 hours: {total:,} {unit}"
        legend = tuple((color, name) for color, name, _ in series)
        return Chart(title, legend, draw_bars(bars, summary))

    return [
        chart(
            "Requests", "requests",
            ("standard", "answered", ok.sum(axis=1)),
            ("premium", "refused (4xx)", halves["client_errors"].sum(axis=1)),
            ("errors", "failed (5xx)", halves["server_errors"].sum(axis=1)),
        ),
        chart(
            "Queues", "jobs at most at a time",
            ("standard", "short and long work", pools["light"] + pools["heavy"]),
            ("premium", "queries", pools["queries"]),
            ("errors", "accounts", pools["accounts"]),
        ),
        chart(
            "Tiles", "tiles",
            ("standard", "from the cache", kept.sum(axis=1)),
            ("premium", "drawn", halves["tiles_made"].sum(axis=1)),
        ),
    ]  # fmt: skip


def list_datasets(data: Path) -> list[DatasetRow]:
    """Return the datasets, newest first; a broken one is left out."""
    catalog = Catalog(data)
    current = catalog.find_current()
    rows = []
    for dataset_id in reversed(catalog.ids()):
        with contextlib.suppress(MapyardError):
            manifest = catalog.manifest(dataset_id)
            rows.append(
                DatasetRow(
                    id=dataset_id,
                    is_current=dataset_id == current,
                    created=manifest.created,
                    osm_timestamp=manifest.osm_timestamp,
                    sequence=manifest.replication.sequence,
                    size_bytes=manifest.size_bytes,
                    counts=manifest.counts,
                    parts=sorted(manifest.parts),
                    older=[
                        (name, stamp)
                        for name in sorted(manifest.parts)
                        if (stamp := manifest.find_data_time(name)) != manifest.osm_timestamp
                    ],
                    updated_by=split_login(manifest.replication.url)[0],
                    built=[
                        (name, part.seconds, part.size_bytes, part.report)
                        for name, part in sorted(manifest.parts.items())
                    ],
                )
            )
    return rows


def read_gauges() -> list[tuple[str, str, float]]:
    """Return name, labels and value of the metrics above, summed over the workers."""
    found: list[tuple[str, str, float]] = []
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            title = _GAUGES.get(sample.name)
            if title is not None:
                found.append((title, ", ".join(sample.labels.values()), sample.value))
    return found


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files in a folder, 0 when it is not there."""
    if not folder.is_dir():
        return 0
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


#: Data that is updated, or not, is called old from here on, hours.
_LATE_HOURS: Final = 72
_OLD_HOURS: Final = 30 * 24


def is_old(hours: float | None, *, is_updated: bool) -> bool:
    """Return whether visitors should be warned of the age of the data."""
    return hours is not None and hours > (_LATE_HOURS if is_updated else _OLD_HOURS)


def age_hours(timestamp: str) -> float | None:
    """Return the age of an ISO 8601 time in hours."""
    try:
        then = dt.datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (dt.datetime.now(dt.UTC) - then).total_seconds() / 3_600
