"""`mapyard keys`: create, list and revoke API keys."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from mapyard.accounts import registry
from mapyard.cli.accounts import DataOption, Email, actor, open_data, print_keys

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)


@app.command(epilog="Example: mapyard keys create me@example.org --name 'web shop'")
def create(
    email: Email,
    test: Annotated[
        bool, typer.Option("--test", help="A pk_test_ key instead of pk_live_.")
    ] = False,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "",
    data: DataOption = None,
) -> None:
    """Create a key and print it: on standard output only the key, this one time."""
    with open_data(data) as database:
        account = registry.get_account(database, email)
        _, secret = registry.create_key(
            database, account.id, "test" if test else "live", name, actor=actor()
        )
        # The key is the only line on standard output: KEY=$(mapyard keys create …) works.
        sys.stdout.write(secret + "\n")
        Console(stderr=True).print(
            "Keep it: it is stored nowhere and cannot be shown again.", style="dim"
        )


@app.command("list", epilog="Example: mapyard keys list me@example.org")
def list_(email: Email, data: DataOption = None) -> None:
    """List the keys of an account."""
    with open_data(data) as database:
        print_keys(registry.list_keys(database, registry.get_account(database, email).id))


@app.command(epilog="Example: mapyard keys revoke me@example.org 3")
def revoke(
    email: Email,
    key: Annotated[str, typer.Argument(help="Id of the key, or its last four characters.")],
    data: DataOption = None,
) -> None:
    """Revoke a key: it stops within two seconds, for good."""
    with open_data(data) as database:
        account = registry.get_account(database, email)
        found = registry.find_key(registry.list_keys(database, account.id), key)
        revoked = registry.revoke_key(database, account.id, found.id, actor=actor())
        Console().print(f"Revoked {revoked.masked}.")
