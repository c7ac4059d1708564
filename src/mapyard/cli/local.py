"""Ask a data folder as over HTTP, in this process: for commands that show answers."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from mapyard.errors import MapyardError
from mapyard.private import check_data_folder
from mapyard.settings import get_settings

Data = Annotated[Path | None, typer.Option(help="Data folder; default MAPYARD_DATA, else ./data.")]
Mode = Annotated[str, typer.Option(help="auto (a car), foot or bicycle.")]
GeoJson = Annotated[bool, typer.Option("--geojson", help="Print the GeoJSON answer instead.")]


def ask(data: Path | None, module: str, path: str, parameters: dict[str, Any]) -> Any:
    """Return the JSON answer of an endpoint of a route module; raise MapyardError for its errors.

    Only that module is loaded: the others would take seconds.
    """
    from mapyard.http.app import Application
    from mapyard.http.endpoints import collect
    from mapyard.http.services import Services
    from mapyard.library.snapshot import Snapshots
    from mapyard.server.local import LocalClient

    settings = get_settings()
    if data is not None:
        settings = settings.model_copy(update={"data": data})
    check_data_folder(settings.data)
    endpoints = collect([importlib.import_module(f"mapyard.http.routes.{module}")])
    services = Services(settings, Snapshots(settings), endpoints=endpoints)
    with LocalClient(application=Application(services, endpoints)) as client:
        answer = client.post(path, json=parameters)
        content = answer.json()
    if answer.status_code >= 400:
        error = content["error"]
        raise MapyardError(error["message"], status=answer.status_code, code=error["code"])
    return content


def format_distance(meters: float) -> str:
    """Return "850 m" or "12.3 km"."""
    return f"{meters:.0f} m" if meters < 1_000 else f"{meters / 1_000:.1f} km"


def format_duration(seconds: float) -> str:
    """Return "45 s", "12 min" or "3 h 05 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
