"""`mapyard settings`: print every setting with its value, variable and meaning."""

from __future__ import annotations

from rich.table import Table

from mapyard.cli.answers import AsJson, report
from mapyard.settings import get_settings, list_settings, show_setting


def command(as_json: AsJson = False) -> None:
    """Print every setting: variable, value, meaning. Secrets are masked."""
    settings = get_settings()
    table = Table("Variable", "Value", "Meaning", box=None, header_style="bold")
    rows = [(one.variable, show_setting(one, settings), one.description) for one in list_settings()]
    for row in rows:
        table.add_row(*row)
    names = ("variable", "value", "meaning")
    report(as_json, [dict(zip(names, row, strict=True)) for row in rows], table)
