"""`mapyard demo`: Monaco with everything in it, built when needed, served with a key to try."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from mapyard.cli.serve import address_of, apply_options
from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError
from mapyard.settings import Settings

EXTRACT: Final = "monaco.osm.pbf"
ELEVATION: Final = ("N43E007.hgt.zip",)
STATE_FILE: Final = "demo.json"
KEY_FILE: Final = "demo.key"
KEY_NAME: Final = "demo"


class DemoState(msgspec.Struct):
    """Which dataset the demo built from which extract."""

    dataset: str
    extract: str


def command(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port (MAPYARD_PORT).", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Data folder (MAPYARD_DATA, else ./data).", show_default=False),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=256, help="Worker processes (MAPYARD_WORKERS).", show_default=False
        ),
    ] = None,
) -> None:
    """Build the demo dataset when it is absent or changed, and serve it with a key to try."""
    from mapyard.http.access_log import set_up_logging
    from mapyard.server.supervisor import Supervisor, check_port

    settings, environment = apply_options(port=port, data=data, workers=workers)
    console = Console()
    check_port(settings)
    build_demo(settings, console)
    key, map_link = get_demo_key(settings), get_map_link(settings)
    if "MAPYARD_ACCESS_LOG" not in os.environ:
        environment["MAPYARD_ACCESS_LOG"] = str(settings.data / "access.log")
    set_up_logging("warning")
    environment.setdefault("MAPYARD_LOG_LEVEL", "warning")
    if "MAPYARD_UPDATES" not in os.environ:
        environment["MAPYARD_UPDATES"] = "off"  # the demo stays as it was shipped
    supervisor = Supervisor(
        settings, environment=environment, on_ready=lambda: greet(console, settings, key, map_link)
    )
    raise SystemExit(supervisor.run())


def find_examples() -> Path:
    """Return the folder of the demo extract: of the package, or of the source tree."""
    package = Path(__file__).parents[1]
    for folder in (package / "examples", package.parents[1] / "examples"):
        if (folder / EXTRACT).is_file():
            return folder
    raise MapyardError(
        f"the demo extract {EXTRACT} is not part of this installation; install Mapyard again, "
        "or build an extract of your own: mapyard build SOURCE, then mapyard serve"
    )


def build_demo(settings: Settings, console: Console) -> None:
    """Build the demo dataset, unless it is there already or the folder holds another one."""
    from mapyard.builder.pipeline import build_dataset
    from mapyard.builder.progress import Reporter
    from mapyard.builder.steps import select_steps
    from mapyard.cli.build import print_report

    catalog = Catalog(settings.data)
    current = catalog.find_current()
    state = _read_state(settings.data)
    if current is not None and (state is None or state.dataset != current):
        console.print(f"Serving the dataset that is here: [bold]{current}[/bold]", highlight=False)
        return
    examples = find_examples()
    digest = hashlib.blake2b((examples / EXTRACT).read_bytes(), digest_size=16).hexdigest()
    steps = select_steps()
    if current is not None and state is not None and state.extract == digest:
        try:
            parts = set(catalog.manifest(current).parts)
        except MapyardError:  # made by another version
            parts = set()
        if {step.name for step in steps} <= parts:
            return
    console.print("Building the demo dataset, Monaco. This takes a moment, once.")
    folder = settings.data / "elevation"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ELEVATION:
        if (examples / name).is_file() and not (folder / name).exists():
            shutil.copyfile(examples / name, folder / name)
    with Reporter(console) as progress:
        report = build_dataset(
            [examples / EXTRACT], settings.data, steps, progress, settings=settings
        )
    print_report(report, console)
    written = msgspec.json.encode(DemoState(report.dataset_id, digest))
    (settings.data / STATE_FILE).write_bytes(written)
    catalog.prune(settings.keep_datasets)


def _read_state(data: Path) -> DemoState | None:
    try:
        return msgspec.json.decode((data / STATE_FILE).read_bytes(), type=DemoState)
    except (OSError, msgspec.DecodeError):
        return None


def get_demo_key(settings: Settings) -> str:
    """Return a working key: the one kept in DATA/demo.key, or a new one of the owner's account."""
    from mapyard.accounts import registry
    from mapyard.accounts.lookup import KeyLookup
    from mapyard.accounts.open import OWNER_EMAIL, ensure_owner, open_accounts

    database = open_accounts(settings.data, settings.accounts_url or None)
    try:
        path = settings.data / KEY_FILE
        if path.is_file():
            key = path.read_text().strip()
            try:
                KeyLookup(database).find_account_by_key(key)
            except MapyardError:
                pass  # revoked, or the accounts were begun anew: make another one
            else:
                return key
        made = ensure_owner(database)
        if made is None:
            owner = registry.get_account(database, OWNER_EMAIL)
            _, made = registry.create_key(database, owner.id, name=KEY_NAME)
        _write_secret(path, made)
        return made
    finally:
        database.close()


def get_map_link(settings: Settings) -> str:
    """Return the address that opens the operator's map page in the first browser."""
    from mapyard.accounts.open import make_map_link, open_accounts

    database = open_accounts(settings.data, settings.accounts_url or None)
    try:
        return address_of(settings) + make_map_link(database)
    finally:
        database.close()


def _write_secret(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")


def greet(console: Console, settings: Settings, key: str, map_link: str) -> None:
    """Print where the server is, the key, and a request to try."""
    address = address_of(settings)
    curl = (
        f"curl -H 'X-API-Key: {key}' \\\n"
        f"  '{address}/api/v1/features/nearby?lat=43.7384&lng=7.4246&tags=amenity:cafe&limit=3'"
    )
    text = Text()
    for label, value in (
        ("Map", f"{address}/, by the link below"),
        ("API reference", f"{address}/docs"),
        ("API key", key),
    ):
        text.append(f"{label:<15}", style="bold")
        text.append(f"{value}\n", style="cyan" if value.startswith("http") else "green")
    text.append("\nTry it:\n", style="bold")
    text.append(curl, style="yellow")
    text.append(
        f"\n\nThe map's link works in one browser (another: mapyard open). "
        f"Key kept in {settings.data / KEY_FILE}; Ctrl-C stops.",
        style="dim",
    )
    if console.is_terminal:
        console.print(Panel(text, title="Mapyard", border_style="cyan", expand=False))
    else:
        console.print(text, soft_wrap=True)
    # On a line of its own, never folded: a terminal makes it one to click on.
    console.print(f"\nOpen the map:\n{map_link}\n", soft_wrap=True, highlight=False, markup=False)
