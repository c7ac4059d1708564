"""What a command reports: text and tables for people, with --json the same for programs."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console, RenderableType
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def report(as_json: bool, value: Any, *shown: RenderableType) -> None:
    """Print to standard output: `value` as JSON, or else what people are shown, a line each.

    Texts are shown as they are, names of files and keys with brackets too.
    """
    if as_json:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2)
        sys.stdout.write(text.decode() + "\n")
        return
    console = Console()
    for one in shown:
        line = Text(one) if isinstance(one, str) else one
        if isinstance(line, Text) and line.plain.startswith("✓"):
            line.stylize("green", 0, 1)
        console.print(line, highlight=False, soft_wrap=isinstance(line, Text))
