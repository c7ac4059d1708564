"""`mapyard accounts` and `mapyard keys`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.accounts.keys import is_well_formed
from mapyard.cli import build_app
from mapyard.errors import MapyardError


def run(data: Path, *arguments: str) -> tuple[str, str]:
    """Return standard output and error of a command; its MapyardError is raised."""
    app = build_app(["accounts", "keys"])
    result = CliRunner().invoke(app, [*arguments, "--data", str(data)], env={"COLUMNS": "200"})
    if isinstance(result.exception, MapyardError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_from_account_to_key_and_back(tmp_path: Path) -> None:
    out, _ = run(tmp_path, "accounts", "create", "me@example.org", "--plan", "pro-100k")
    assert "Pro 100K" in out
    key, note = run(tmp_path, "keys", "create", "me@example.org", "--test", "--name", "shop")
    assert is_well_formed(key.strip())
    assert key.startswith("pk_test_")
    assert "cannot be shown again" in note
    listed, _ = run(tmp_path, "keys", "list", "me@example.org")
    assert "shop" in listed
    assert key.strip() not in listed
    shown, _ = run(tmp_path, "accounts", "show", "ME@example.org")
    assert "100,000" in shown
    run(tmp_path, "keys", "revoke", "me@example.org", key.strip()[-4:])
    assert "revoked" in run(tmp_path, "keys", "list", "me@example.org")[0]
    run(tmp_path, "accounts", "plan", "me@example.org", "enterprise")
    assert "Enterprise" in run(tmp_path, "accounts", "list")[0]
    run(tmp_path, "accounts", "migrate")


def test_a_link_to_choose_a_password(tmp_path: Path) -> None:
    run(tmp_path, "accounts", "create", "me@example.org", "--operator")
    link, _ = run(tmp_path, "accounts", "link", "me@example.org")
    assert link.startswith("http://localhost:4000/reset?token=")


def test_a_folder_without_accounts_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(MapyardError, match="no accounts in the folder"):
        run(tmp_path / "typo", "accounts", "list")
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("accounts", "create", "nobody"), "not an e-mail address"),
        (("accounts", "create", "me@example.org"), "exists"),
        (("accounts", "plan", "me@example.org", "gold"), "free, pro-100k"),
        (("keys", "create", "you@example.org"), "no account has the address"),
        (("keys", "revoke", "me@example.org", "zzzz"), "no key 'zzzz'"),
    ],
)
def test_mistakes_are_said_clearly(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    run(tmp_path, "accounts", "create", "me@example.org")
    with pytest.raises(MapyardError, match=message):
        run(tmp_path, *arguments)
