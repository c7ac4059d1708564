"""`mapyard uninstall-service`: stop the units and remove what install-service wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapyard.cli.install_service import SHARE, UNITS, check_machine, run
from mapyard.cli.units import MARK


def command(
    root: Annotated[
        Path | None, typer.Option(help="Remove below this folder only, and stop nothing.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be removed; change nothing.")
    ] = False,
) -> None:
    """Stop the service and its timers, and remove their units, man pages and completions.

    Settings, data, backups and the user stay: remove them by hand when they are no longer needed.
    """
    top = root or Path("/")
    ours = sorted(
        path
        for path in (top / UNITS.relative_to("/")).glob("mapyard*")
        if path.is_file() and path.read_text(errors="replace").startswith(MARK)
    )
    share = top / SHARE.relative_to("/")
    pages = sorted((share / "man" / "man1").glob("mapyard*.1"))
    pages += [path for path in _completions(share) if path.is_file()]
    if dry_run:
        for path in (*ours, *pages):
            typer.echo(f"would remove {path}")
        return
    if root is None:
        check_machine()
        if ours:
            run(["systemctl", "disable", "--now", *(path.name for path in ours)])
    for path in (*ours, *pages):
        path.unlink()
        typer.echo(f"removed {path}")
    if root is None:
        run(["systemctl", "daemon-reload"])
    if not ours:
        typer.echo("no units of `mapyard install-service` were there")
    typer.echo("Settings, data, backups and the user stay.")


def _completions(share: Path) -> list[Path]:
    from mapyard.cli.manual import COMPLETIONS

    return [share / name for name in COMPLETIONS.values()]
