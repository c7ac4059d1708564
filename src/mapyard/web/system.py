"""The operator's page on the state of the service: datasets, updates, queues, caches, webhook."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
from pathlib import Path
from typing import Final

import msgspec
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select
from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts.models import Account, WebhookDelivery
from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError
from mapyard.http import metrics
from mapyard.http.services import Services
from mapyard.updates.history import read_runs
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


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    if services.database is None:
        return []
    return [page("/operator/system", show_system, needs="operator")]


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
        datasets=list_datasets(data),
        state=read_gauges(),
        folders=[(name, folder_bytes(data / name)) for name in ("cache", "limits", "usage")],
        disk=disk,
        disk_share=disk.used / disk.total,
        deliveries=deliveries,
        updates=read_runs(data)[:-21:-1],
        webhook_url=visit.services.settings.webhook_url,
    )


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


def age_hours(timestamp: str) -> float | None:
    """Return the age of an ISO 8601 time in hours."""
    try:
        then = dt.datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (dt.datetime.now(dt.UTC) - then).total_seconds() / 3_600
