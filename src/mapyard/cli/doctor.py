"""`mapyard doctor`: what of this machine and its settings should be changed, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mapyard.cli.accounts import DataOption
from mapyard.cli.answers import AsJson, report
from mapyard.errors import MapyardError

if TYPE_CHECKING:
    from mapyard.server.checks import Finding

_COLORS = {"good": "green", "look": "yellow", "bad": "red"}
_MARKS = {"good": "✓", "look": "!", "bad": "✗"}


def command(
    data: DataOption = None,
    as_json: AsJson = False,
) -> None:
    """Look at settings, permissions, limits, disk, clock, database, Redis and dataset.

    Changes nothing. The exit code is 1 when something is bad, 0 when things are good or only worth
    a look.
    """
    from mapyard.server.checks import Finding, check_all
    from mapyard.settings import get_settings

    try:
        settings = get_settings()
    except MapyardError as error:
        findings = [Finding("settings", "bad", error.message, "correct them; mapyard settings")]
    else:
        if data is not None:
            settings = msgspec.structs.replace(settings, data=data)
        findings = check_all(settings)
    worst = "good"
    for state in ("look", "bad"):
        if any(finding.state == state for finding in findings):
            worst = state
    console = Console()
    if as_json:
        report(True, {"state": worst, "findings": findings})
    else:
        _print(console, findings)
    raise SystemExit(1 if worst == "bad" else 0)


def _print(console: Console, findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for finding in findings:
        text = Text(finding.says)
        if finding.do:
            text.append(f"\n→ {finding.do}", style=_COLORS[finding.state])
        table.add_row(
            Text(_MARKS[finding.state], style=_COLORS[finding.state]), finding.about, text
        )
    console.print(table)
    bad = sum(finding.state == "bad" for finding in findings)
    look = sum(finding.state == "look" for finding in findings)
    if not bad and not look:
        console.print("All is well.", style="green")
    else:
        console.print(f"{bad} to correct, {look} worth a look.", style="red" if bad else "yellow")
