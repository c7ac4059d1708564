"""`mapyard keys`: create, list and revoke API keys."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from mapyard.accounts import registry
from mapyard.accounts.database import now_s
from mapyard.accounts.restrictions import GROUPS, make_restrictions
from mapyard.cli.accounts import DataOption, Email, actor, describe_keys, open_data, print_keys
from mapyard.cli.answers import AsJson, report

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)


@app.command(epilog="Example: mapyard keys create me@example.org --name 'web shop'")
def create(
    email: Email,
    test: Annotated[
        bool, typer.Option("--test", help="A pk_test_ key instead of pk_live_.")
    ] = False,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "",
    days: Annotated[
        int | None, typer.Option(min=1, max=3_650, help="Days after which the key expires.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help=f"Endpoints that it is for: {', '.join(GROUPS.values())}."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="GET requests only.")] = False,
    network: Annotated[
        list[str] | None, typer.Option(help="Network that may use it, such as 203.0.113.0/24.")
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="Origin of pages that may use it.")
    ] = None,
    data: DataOption = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it: on standard output only the key, this one time."""
    with open_data(data) as database:
        account = registry.get_account(database, email)
        key, secret = registry.create_key(
            database,
            account.id,
            "test" if test else "live",
            name,
            expires_at=None if days is None else now_s() + days * 86_400,
            restrictions=make_restrictions(
                endpoints=only or (),
                read_only=read_only,
                networks=network or (),
                origins=origin or (),
            ),
            actor=actor(),
        )
        # The key is the only line on standard output: KEY=$(mapyard keys create …) works.
        report(as_json, {"id": key.id, "key": secret, "name": key.name}, secret)
        Console(stderr=True).print(
            "Keep it: it is stored nowhere and cannot be shown again.", style="dim"
        )


@app.command("list", epilog="Example: mapyard keys list me@example.org")
def list_(email: Email, data: DataOption = None, as_json: AsJson = False) -> None:
    """List the keys of an account."""
    with open_data(data) as database:
        keys = registry.list_keys(database, registry.get_account(database, email).id)
    if as_json:
        report(True, describe_keys(keys))
    else:
        print_keys(keys)


@app.command(epilog="Example: mapyard keys revoke me@example.org 3")
def revoke(
    email: Email,
    key: Annotated[str, typer.Argument(help="Id of the key, or its last four characters.")],
    data: DataOption = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a key: it stops within two seconds, for good."""
    with open_data(data) as database:
        account = registry.get_account(database, email)
        found = registry.find_key(registry.list_keys(database, account.id), key)
        revoked = registry.revoke_key(database, account.id, found.id, actor=actor())
        report(as_json, {"id": revoked.id, "key": revoked.masked}, f"Revoked {revoked.masked}.")
