"""`mapyard docs`: write the generated reference pages again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapyard.errors import MapyardError


def command(
    folder: Annotated[Path, typer.Option(help="Folder of the pages.")] = Path("docs/reference"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail when a page is not current.")
    ] = False,
) -> None:
    """Write docs/reference: endpoints, errors, settings and commands, from the code itself."""
    from mapyard.cli.reference import build_pages

    pages = build_pages()
    stale = [
        name
        for name, text in pages.items()
        if not (folder / name).is_file() or (folder / name).read_text() != text
    ]
    if check:
        if stale:
            raise MapyardError(f"not current: {', '.join(stale)}; run: mapyard docs")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (folder / name).write_text(pages[name])
    typer.echo(f"{len(pages)} pages in {folder}, {len(stale)} of them changed")
