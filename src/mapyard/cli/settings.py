"""`mapyard settings`: print every setting with its value, variable and meaning."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from mapyard.settings import get_settings, list_settings

SECRET_WORDS = ("token", "password", "secret", "url")


def command() -> None:
    """Print every setting: variable, value, meaning. Secrets are masked."""
    settings = get_settings()
    table = Table("Variable", "Value", "Meaning", box=None, header_style="bold")
    for setting in list_settings():
        name = setting.name
        value = getattr(settings, name)
        masked = value and any(word in name for word in SECRET_WORDS) and name != "public_url"
        table.add_row(setting.variable, "••••" if masked else str(value), setting.description)
    Console().print(table)
