"""`mapyard settings`: print every setting with its value, variable and meaning."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from mapyard.settings import get_settings, list_settings, show_setting


def command() -> None:
    """Print every setting: variable, value, meaning. Secrets are masked."""
    settings = get_settings()
    table = Table("Variable", "Value", "Meaning", box=None, header_style="bold")
    for setting in list_settings():
        table.add_row(setting.variable, show_setting(setting, settings), setting.description)
    Console().print(table)
