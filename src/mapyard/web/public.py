"""Pages for everybody: landing, pricing, status, attribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response
from starlette.routing import BaseRoute

from mapyard.accounts.plans import PLANS
from mapyard.accounts.uptime import share_of_days
from mapyard.errors import MapyardError
from mapyard.http.services import Services
from mapyard.store.reader import E7
from mapyard.web.playground import may_ask
from mapyard.web.system import age_hours, is_old, list_datasets
from mapyard.web.visit import Visit, page


def routes(services: Services) -> list[BaseRoute]:
    """Return the pages of this module."""
    return [
        page("/welcome", show_landing),
        page("/pricing", lambda visit: visit.render("pricing.html", offered=list(PLANS.values()))),
        page("/status", show_status),
        page("/attribution", lambda visit: visit.render("attribution.html")),
    ]


def show_landing(visit: Visit) -> Response:
    """Show what this is, with the map for those whom it would answer."""
    view = _start_view(visit) if may_ask(visit) else ""
    return visit.render("landing.html", dataset=_dataset(visit), view=view)


def show_status(visit: Visit) -> Response:
    """Show the dataset that is served, the age of its data, and the uptime."""
    dataset = _dataset(visit)
    is_updated = (
        dataset is not None
        and bool(dataset["row"].updated_by)
        and visit.services.settings.updates != "off"
    )
    days = share_of_days(visit.services.database) if visit.services.database else []
    known = [share for _, share in days if share is not None]
    return visit.render(
        "status.html",
        dataset=dataset,
        is_updated=is_updated,
        is_old=dataset is not None and is_old(dataset["age_hours"], is_updated=is_updated),
        days=days,
        uptime=sum(known) / len(known) if known else None,
    )


def _start_view(visit: Visit) -> str:
    """Return the fragment that opens the map where most of the data is, '' without data."""
    try:
        snapshot = visit.services.snapshots.lease()
    except MapyardError:
        return ""
    try:
        store = snapshot.store
        if not store.node_count:
            return ""
        sample = slice(None, None, max(1, store.node_count // 2_000))
        lon, lat = np.median(store.lon[sample]) / E7, np.median(store.lat[sample]) / E7
    finally:
        snapshot.release()
    return f"#map=13/{lat:.4f}/{lon:.4f}"


def _dataset(visit: Visit) -> dict[str, Any] | None:
    for row in list_datasets(visit.services.settings.data):
        if row.is_current:
            return {"row": row, "age_hours": age_hours(row.osm_timestamp)}
    return None
