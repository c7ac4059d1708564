"""`mapyard serve`: answer requests until stopped."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from mapyard.settings import Settings, get_settings

log = logging.getLogger(__name__)


def command(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (MAPYARD_HOST).", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port (MAPYARD_PORT).", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=256, help="Worker processes (MAPYARD_WORKERS).", show_default=False
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Data folder (MAPYARD_DATA, else ./data).", show_default=False),
    ] = None,
) -> None:
    """Serve the current dataset, and switch to a newer one as soon as there is one."""
    from mapyard.accounts.open import ensure_owner, find_owner, make_map_link, open_accounts
    from mapyard.http.access_log import set_up_logging
    from mapyard.server.supervisor import Supervisor

    settings, environment = apply_options(host=host, port=port, workers=workers, data=data)
    database = open_accounts(settings.data, settings.accounts_url or None)
    map_link = ""
    if sys.stdout.isatty():  # else key and link would land in a log
        key = ensure_owner(database)
        if key is not None:
            typer.echo(f"The owner's API key, shown this once: {key}")
        if find_owner(database) is not None:
            map_link = make_map_link(database)
    database.close()
    set_up_logging(settings.log_level)

    def on_ready() -> None:
        if sys.stdout.isatty():
            typer.echo(f"Serving {address_of(settings)} with {settings.workers} workers.")
            if map_link:
                typer.echo(f"Your map, for the first browser: {address_of(settings)}{map_link}")
        log.info("serving %s with %d workers", address_of(settings), settings.workers)

    raise SystemExit(Supervisor(settings, environment=environment, on_ready=on_ready).run())


def address_of(settings: Settings) -> str:
    """Return the address to open in a browser on this machine."""
    host = "localhost" if settings.host in ("0.0.0.0", "::", "127.0.0.1") else settings.host  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def apply_options(
    **options: str | int | Path | None,
) -> tuple[Settings, dict[str, str]]:
    """Return the settings with the given options, and the variables that say so to workers."""
    given = {name: value for name, value in options.items() if value is not None}
    settings = get_settings().replace(**given)
    return settings, {f"MAPYARD_{name.upper()}": str(value) for name, value in given.items()}
