from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest
from rich.console import Console

from mapyard.accounts import registry
from mapyard.accounts.open import OWNER_EMAIL, open_accounts
from mapyard.builder import steps
from mapyard.cli import build as build_command  # before a test puts in other steps
from mapyard.cli import demo
from mapyard.dataset.catalog import Catalog
from mapyard.errors import MapyardError
from mapyard.settings import Settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    select = steps.select_steps
    assert build_command.select_steps is select
    monkeypatch.setattr(steps, "select_steps", lambda: select(["store"]))  # quick
    return Settings(data=tmp_path / "data")


def build(settings: Settings) -> tuple[str | None, str]:
    output = io.StringIO()
    demo.build_demo(settings, Console(file=output))
    return Catalog(settings.data).find_current(), output.getvalue()


def test_builds_once(settings: Settings) -> None:
    first, said = build(settings)
    assert first is not None
    assert "Building the demo dataset" in said
    assert (settings.data / "elevation" / "N43E007.hgt.zip").is_file()
    assert build(settings) == (first, "")


def test_builds_again_when_the_extract_changed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = build(settings)
    state = settings.data / demo.STATE_FILE
    state.write_text(state.read_text().replace('"extract":"', '"extract":"0'))
    second, said = build(settings)
    assert second != first
    assert "Building" in said


def test_leaves_other_datasets_alone(settings: Settings) -> None:
    first, _ = build(settings)
    (settings.data / demo.STATE_FILE).unlink()
    assert build(settings) == (first, f"Serving the dataset that is here: {first}\n")


def test_key_is_kept_in_a_private_file_and_works(settings: Settings) -> None:
    key = demo.get_demo_key(settings)
    path = settings.data / demo.KEY_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() == key
    assert demo.get_demo_key(settings) == key
    database = open_accounts(settings.data)
    owner = registry.get_account(database, OWNER_EMAIL)
    assert owner.plan == "enterprise"
    (row,) = registry.list_keys(database, owner.id)
    registry.revoke_key(database, owner.id, row.id)
    database.close()
    assert demo.get_demo_key(settings) not in (key, "")


def test_greeting_names_everything(settings: Settings) -> None:
    output = io.StringIO()
    link = "http://localhost:4000/open?token=once"
    demo.greet(Console(file=output, width=60), settings, "pk_live_x", link)
    said = output.getvalue()
    for part in (
        "http://localhost:4000/",
        "/docs",
        f"\n{link}\n",
        "pk_live_x",
        "curl -H 'X-API-Key: pk_live_x'",
    ):
        assert part in said


def test_without_the_extract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "EXTRACT", "nowhere.osm.pbf")
    with pytest.raises(MapyardError, match="mapyard build SOURCE"):
        demo.find_examples()
