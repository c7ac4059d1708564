"""`mapyard accounts`: who may use the API, on which plan."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mapyard.accounts import registry
from mapyard.accounts.database import FILE_NAME, Database, now_s
from mapyard.accounts.links import make_link
from mapyard.accounts.models import Account, Key
from mapyard.accounts.open import open_accounts
from mapyard.accounts.plans import PLANS
from mapyard.accounts.restrictions import read_restrictions
from mapyard.cli.answers import AsJson, report
from mapyard.errors import NotFound
from mapyard.private import check_data_folder
from mapyard.settings import get_settings

app = typer.Typer(help="Accounts: create, list, show, change the plan.", no_args_is_help=True)

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Data folder (default: MAPYARD_DATA, else ./data).", show_default=False
    ),
]
Email = Annotated[str, typer.Argument(help="E-mail address of the account.")]
OperatorOption = Annotated[
    bool, typer.Option("--operator", help="May manage all accounts on the web pages.")
]
PlanOption = Annotated[str, typer.Option(help=f"One of {', '.join(PLANS)}.")]


@contextmanager
def open_data(data: Path | None, *, new: bool = False) -> Iterator[Database]:
    """Yield the accounts of --data, or of the settings; only `new` makes a folder."""
    settings = get_settings()
    folder = data or settings.data
    check_data_folder(folder)
    if not new and not settings.accounts_url and not (folder / FILE_NAME).exists():
        raise NotFound(
            f"there are no accounts in the folder {folder}; name another one with --data, "
            "or begin with: mapyard accounts create EMAIL"
        )
    database = open_accounts(folder, settings.accounts_url or None)
    try:
        yield database
    finally:
        database.close()


def actor() -> str:
    """Return who runs this command, for the audit log."""
    return f"command line ({os.environ.get('USER') or os.getuid()})"


@app.command(epilog="Example: mapyard accounts create me@example.org --plan pro-100k")
def create(
    email: Email,
    plan: PlanOption = "free",
    operator: OperatorOption = False,
    data: DataOption = None,
    as_json: AsJson = False,
) -> None:
    """Create an account; its keys come from: mapyard keys create EMAIL."""
    with open_data(data, new=True) as database:
        account = registry.create_account(
            database,
            email,
            plan,
            operator=operator,
            actor=actor(),
            verified_at=now_s(),  # who may write here stands for the address
        )
    report(
        as_json, {"email": account.email, "plan": account.plan, "operator": account.is_operator},
        f"Created {account.email} on the plan {PLANS[account.plan].name}.",
        f"Next: mapyard keys create {account.email}",
    )  # fmt: skip


@app.command("list", epilog="Example: mapyard accounts list --data data")
def list_(data: DataOption = None, as_json: AsJson = False) -> None:
    """List all accounts."""
    table = Table(
        "E-mail", "Plan", "Per minute", "Active keys", "Created", "State", box=None,
        header_style="bold",
    )  # fmt: skip
    table.columns[2].justify = table.columns[3].justify = "right"
    listed = []
    with open_data(data) as database:
        for account in registry.list_accounts(database):
            keys = [
                key for key in registry.list_keys(database, account.id) if key.works_at(now_s())
            ]
            listed.append({**_describe(account), "active_keys": len(keys)})
            table.add_row(
                account.email,
                PLANS[account.plan].name,
                f"{registry.limits_of(account).per_minute:,}",
                str(len(keys)),
                when(account.created_at),
                _state(account),
            )
    report(as_json, listed, table)


@app.command(epilog="Example: mapyard accounts show me@example.org")
def show(email: Email, data: DataOption = None, as_json: AsJson = False) -> None:
    """Show one account with its limits and keys."""
    with open_data(data) as database:
        account = registry.get_account(database, email)
        limits = registry.limits_of(account)
        keys = registry.list_keys(database, account.id)
        if as_json:
            report(True, {**_describe(account), "keys": describe_keys(keys)})
            return
        table = Table(box=None, show_header=False)
        for name, value in (
            ("E-mail", account.email),
            ("Plan", PLANS[account.plan].name),
            ("State", _state(account)),
            ("Created", when(account.created_at)),
            ("Requests per minute", f"{limits.per_minute:,}"),
            ("Standard units per day", _amount(limits.day_standard_units)),
            ("Premium units per day", _amount(limits.day_premium_units)),
            ("Units per month", _amount(limits.month_units)),
            ("Beyond a month's units", "metered as overage" if limits.overage else "refused"),
        ):
            table.add_row(f"[bold]{name}[/]", value)
        Console().print(table)
        print_keys(keys)


@app.command(epilog="Example: mapyard accounts plan me@example.org pro-300k")
def plan(
    email: Email,
    plan: Annotated[str, typer.Argument(help=f"One of {', '.join(PLANS)}.")],
    data: DataOption = None,
    as_json: AsJson = False,
) -> None:
    """Change the plan of an account; it holds within two seconds, nothing counted is lost."""
    with open_data(data) as database:
        account = registry.get_account(database, email)
        account = registry.change_account(
            database, account.id, action="account.plan", actor=actor(), plan=plan
        )
    said = f"{account.email} is on the plan {PLANS[account.plan].name} now."
    report(as_json, _describe(account), said)


@app.command(epilog="Example: mapyard accounts link me@example.org")
def link(email: Email, data: DataOption = None, as_json: AsJson = False) -> None:
    """Print a link to choose a password with, for signing in to the web pages."""
    with open_data(data) as database:
        account = registry.get_account(database, email)
        settings = get_settings()
        base = settings.public_url.rstrip("/") or f"http://localhost:{settings.port}"
        # On standard output only the link, which works once.
        url = base + make_link(database, "reset", account.email, actor=actor())
    report(as_json, {"email": account.email, "url": url}, url)


@app.command(epilog="Example: mapyard accounts migrate")
def migrate(data: DataOption = None, as_json: AsJson = False) -> None:
    """Bring the accounts database to this version (other commands and serve do it, too)."""
    with open_data(data):
        report(as_json, {"current": True}, "The accounts database is up to date.")


@app.command(epilog="Example: mapyard accounts backup /var/backups/accounts-2026-04-07.sqlite")
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist yet.")],
    data: DataOption = None,
    as_json: AsJson = False,
) -> None:
    """Write accounts, keys, usage, jobs and audit log to one file, while the server runs.

    The file is as secret as the database: only you may read it. It is SQLite, also when the
    accounts are kept in PostgreSQL.
    """
    from mapyard.accounts.backup import write_backup

    with open_data(data) as database:
        copied = write_backup(database, file)
    value = {"file": str(file), "accounts": copied.accounts, "rows": copied.rows}
    said = f"Wrote {file}: {copied.accounts:,} accounts, {copied.rows:,} rows."
    report(as_json, value, said)


@app.command(epilog="Example: mapyard accounts restore accounts-2026-04-07.sqlite --data /srv/new")
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `mapyard accounts backup` wrote.")],
    data: DataOption = None,
    as_json: AsJson = False,
) -> None:
    """Fill a new data folder, or an empty database (MAPYARD_ACCOUNTS_URL), from a backup."""
    from mapyard.accounts.backup import restore_backup

    with open_data(data, new=True) as database:
        copied = restore_backup(database, file)
    value = {"accounts": copied.accounts, "rows": copied.rows}
    report(as_json, value, f"Restored {copied.accounts:,} accounts, {copied.rows:,} rows.")


def print_keys(keys: list[Key]) -> None:
    """Print a table of keys."""
    if not keys:
        Console().print("No keys.", style="dim")
        return
    table = Table(
        "Id", "Key", "Name", "Created", "Last used", "State", box=None, header_style="bold"
    )
    for key in keys:
        restrictions = read_restrictions(key.restrictions)
        state = "; ".join(["active", *(restrictions.describe() if restrictions else ())])
        if key.expires_at is not None:
            state = f"expires {when(key.expires_at)}" if key.works_at(now_s()) else "expired"
        if key.revoked_at is not None:
            state = f"revoked {when(key.revoked_at)}"
        used = when(key.last_used_at) if key.last_used_at else "never"
        table.add_row(str(key.id), key.masked, key.name, when(key.created_at), used, state)
    Console().print(table)


def describe_keys(keys: list[Key]) -> list[dict[str, Any]]:
    """Return keys for programs; times in Unix seconds."""
    return [
        {
            "id": key.id, "key": key.masked, "name": key.name, "created_at": key.created_at,
            "last_used_at": key.last_used_at, "expires_at": key.expires_at,
            "revoked_at": key.revoked_at, "active": key.works_at(now_s()),
            "restrictions": list(found.describe())
            if (found := read_restrictions(key.restrictions)) else [],
        }
        for key in keys
    ]  # fmt: skip


def _describe(account: Account) -> dict[str, Any]:
    """Return an account for programs; times in Unix seconds, null is no limit."""
    limits = registry.limits_of(account)
    return {
        "email": account.email, "plan": account.plan, "state": _state(account),
        "created_at": account.created_at, "per_minute": limits.per_minute,
        "day_standard_units": limits.day_standard_units,
        "day_premium_units": limits.day_premium_units, "month_units": limits.month_units,
        "overage": limits.overage,
    }  # fmt: skip


def when(unix_s: int) -> str:
    """Return a time as people read it, in UTC."""
    return f"{dt.datetime.fromtimestamp(unix_s, dt.UTC):%Y-%m-%d %H:%M} UTC"


def _state(account: Account) -> str:
    if account.suspended_at is not None:
        return "suspended"
    return "operator" if account.is_operator else "active"


def _amount(units: int | None) -> str:
    return "no limit" if units is None else f"{units:,}"
