"""Importing, listing and deleting people's own datasets at the command line."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from mapyard.accounts import datasets as accounts
from mapyard.accounts.database import Database
from mapyard.accounts.open import ensure_owner, find_owner, open_accounts
from mapyard.accounts.registry import get_account
from mapyard.cli.answers import report
from mapyard.errors import MapyardError, NotFound
from mapyard.library.import_process import Task, run_import
from mapyard.settings import get_settings
from mapyard.userdata.folders import version_folder
from mapyard.userdata.importing import SHOWN, Imported
from mapyard.userdata.rows import Options


@contextmanager
def _open(data: Path | None, account: str) -> Iterator[tuple[Path, Database, int]]:
    """Yield the data folder, its accounts, and the account that is meant."""
    settings = get_settings()
    folder = data or settings.data
    if not folder.is_dir():
        raise NotFound(f"there is no data folder {folder}; make one with: mapyard build SOURCE")
    database = open_accounts(folder, settings.accounts_url or None)
    try:
        if account:
            yield folder, database, get_account(database, account).id
            return
        ensure_owner(database)
        owner = find_owner(database)
        if owner is None:
            raise NotFound("there is no operator's account; name one by --account EMAIL")
        yield folder, database, owner.id
    finally:
        database.close()


def import_own(
    file: Path, slug: str, name: str, account: str, options: Options, data: Path | None,
    *, as_json: bool = False,
) -> None:  # fmt: skip
    """Import a file, with a line that says how far it is; print what came of it."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    slug = slug or re.sub(r"[^a-z0-9_-]+", "-", file.stem.lower()).strip("-_")[:64]
    with _open(data, account) as (folder, database, account_id):
        try:
            found = accounts.find_dataset(database, account_id, slug)
        except NotFound:
            fields = {"name": name or slug, "strict_mode": options.strict}
            found = accounts.create_dataset(database, account_id, slug, fields)
        upload, version = str(uuid.uuid4()), str(uuid.uuid4())
        accounts.begin_import(database, account_id, found.id, upload)
        limits = accounts.limits_of(database, account_id)
        target = version_folder(folder, found.id, version)
        target.parent.mkdir(parents=True, exist_ok=True)
        task = Task(
            str(folder.absolute()), str(file.absolute()), str(target.absolute()),
            options._asdict(), limits.features, limits.storage_bytes,
        )  # fmt: skip
        try:
            done = _run(task, file.name)
        except MapyardError as error:
            accounts.fail_import(database, found.id, upload, error.message)
            raise
        accounts.finish_import(database, found.id, upload, version, done.values())
    if as_json:
        report(True, {"slug": slug, **done._asdict()})
    else:
        _print_done(slug, done)


def _run(task: Task, name: str) -> Imported:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        line = progress.add_task(f"reading {name}")
        return run_import(
            task, lambda rows: progress.update(line, description=f"{name}: {rows:,} rows")
        )


def _print_done(slug: str, done: Imported) -> None:
    console = Console()
    console.print(
        f"[green]✓[/green] {slug}: {done.feature_count:,} rows of {done.format}, "
        f"{done.storage_bytes / 1e6:,.1f} MB"
    )
    for problem in done.problems[:SHOWN]:
        typer.secho(f"  row {problem['row']}: {problem['message']}", fg="yellow", err=True)
    if done.problem_count > SHOWN:
        typer.secho(f"  and {done.problem_count - SHOWN:,} more", fg="yellow", err=True)
    console.print(f"Ask it: mapyard plazaql 'search(dataset(\"{slug}\")).limit(5);'", markup=False)


def print_own(account: str, data: Path | None, *, as_json: bool = False) -> None:
    """Print an account's datasets as a table."""
    with _open(data, account) as (_, database, account_id):
        found = accounts.list_datasets(database, account_id)
    none = "No datasets of your own; make one with: mapyard datasets import FILE"
    table = Table("Slug", "Name", "State", "Rows", "Size", "Problems", box=None)
    for index in range(3, 6):
        table.columns[index].justify = "right"
    listed = []
    for one in found:
        listed.append({
            "id": one.id, "slug": one.slug, "name": one.name, "status": one.status,
            "feature_count": one.feature_count or 0, "storage_bytes": one.storage_bytes or 0,
            "problem_count": one.problem_count or 0,
        })  # fmt: skip
        table.add_row(
            one.slug, one.name, one.status, f"{one.feature_count or 0:,}",
            f"{(one.storage_bytes or 0) / 1e6:,.1f} MB", f"{one.problem_count or 0:,}",
        )  # fmt: skip
    report(as_json, listed, table if listed else none)


def delete_own(slug: str, account: str, data: Path | None, *, as_json: bool = False) -> None:
    """Delete a dataset."""
    with _open(data, account) as (_, database, account_id):
        accounts.delete_dataset(database, account_id, slug)
    said = f"✓ {slug} is deleted; its files go within an hour or so"
    report(as_json, {"deleted": slug}, said)
