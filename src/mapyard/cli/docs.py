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
    share: Annotated[
        Path | None,
        typer.Option(
            help="Write man pages and completions below this folder, such as /usr/local/share, "
            "and nothing else."
        ),
    ] = None,
) -> None:
    """Write docs/reference, and the methods of the library, from the code itself.

    Examples:

      mapyard docs --check

      mapyard docs --share ~/.local/share
    """
    if share is not None:
        _write_manual(share)
        return
    from mapyard.cli.reference import build_pages
    from mapyard.library import generate

    pages = {folder / name: text for name, text in build_pages().items()}
    pages[Path(generate.__file__).with_name("methods.py")] = generate.write_methods()
    stale = [
        page.name for page, text in pages.items() if not page.is_file() or page.read_text() != text
    ]
    if check:
        if stale:
            raise MapyardError(f"not current: {', '.join(stale)}; run: mapyard docs")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for page, text in pages.items():
        if page.name in stale:
            page.write_text(text)
    typer.echo(f"{len(pages)} pages, {len(stale)} of them changed")


def _write_manual(share: Path) -> None:
    from mapyard.cli.manual import write_manual

    files = write_manual()
    for name, text in files.items():
        path = share / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    typer.echo(f"{len(files)} files below {share}")
