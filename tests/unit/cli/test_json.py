"""`--json` of every command that reports something: one document on standard output."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from mapyard.cli import COMMANDS, build_app
from osm_files import EXAMPLES
from servers import COMMAND, copy_data

#: They serve, or write what is no report: pages, units of systemd, a query in another form.
OTHERS = {
    "demo", "serve", "open", "mcp", "docs", "install-service", "uninstall-service",
    "overpass convert", "fleet build", "fleet open", "fleet serve", "fleet prune", "fleet close",
}  # fmt: skip
#: Their --format has json.
FORMATS = {"query", "plazaql", "sparql"}


def find_options() -> dict[str, set[str]]:
    """Return command → its options."""
    found: dict[str, set[str]] = {}

    def walk(name: str, command: Any) -> None:
        for child, inner in getattr(command, "commands", {}).items():
            walk(f"{name} {child}".strip(), inner)
        if not hasattr(command, "commands"):
            found[name] = {option for param in command.params for option in param.opts}

    walk("", typer.main.get_command(build_app(list(COMMANDS))))
    return found


def test_every_command_that_reports_has_it() -> None:
    options = find_options()
    assert set(options) >= OTHERS | FORMATS
    without = {name for name, taken in options.items() if "--json" not in taken}
    assert without == OTHERS | FORMATS


@pytest.fixture(scope="module")
def folder(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    copy_data(monaco, folder / "data")
    (folder / "shops.csv").write_text("name,lat,lon\nUn,43.7384,7.4246\nDeux,43.7314,7.4197\n")
    (folder / "slow.csv").write_text("way_id,direction,speed_kmh\n4097656,forward,12\n")
    return folder


def ask(folder: Path, command: str) -> Any:
    done = subprocess.run(
        [COMMAND, *command.split(), "--json"], cwd=folder, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_accounts_and_keys(folder: Path) -> None:
    assert ask(folder, "accounts create me@example.org --operator")["email"] == "me@example.org"
    assert ask(folder, "accounts plan me@example.org pro-100k")["plan"] == "pro-100k"
    key = ask(folder, "keys create me@example.org --name shop --read-only")
    assert key["key"].startswith("pk_live_")
    (listed,) = ask(folder, "keys list me@example.org")
    assert (listed["id"], listed["name"], listed["active"]) == (key["id"], "shop", True)
    assert listed["restrictions"]
    assert key["key"] not in json.dumps(listed)
    (account,) = ask(folder, "accounts list")
    assert (account["email"], account["active_keys"]) == ("me@example.org", 1)
    assert ask(folder, f"keys revoke me@example.org {key['id']}")["id"] == key["id"]
    shown = ask(folder, "accounts show me@example.org")
    assert shown["plan"] == "pro-100k"
    assert [one["active"] for one in shown["keys"]] == [False]
    assert "/reset?token=" in ask(folder, "accounts link me@example.org")["url"]
    assert ask(folder, "accounts migrate") == {"current": True}
    backup = ask(folder, "accounts backup accounts.sqlite")
    assert backup["accounts"] == 1
    assert ask(folder, "accounts restore accounts.sqlite --data new")["rows"] == backup["rows"]


def test_datasets(folder: Path) -> None:
    (listed,) = ask(folder, "datasets list")
    assert listed["served"]
    assert listed["counts"]["nodes"] > 30_000
    assert {"store", "text", "routing", "tiles"} <= set(listed["parts"])
    assert ask(folder, "datasets show")["id"] == listed["id"]
    assert ask(folder, "datasets verify")["faults"] == []
    assert ask(folder, "datasets use current") == {"id": listed["id"]}
    assert ask(folder, "datasets upgrade") == {"upgraded": False}
    assert ask(folder, "datasets prune") == {"removed": []}
    assert {"kind", "element", "reason"} == set(ask(folder, "datasets problems")[0])
    assert ask(folder, "status")["dataset"] == listed["id"]


def test_own_data(folder: Path) -> None:
    assert ask(folder, "datasets import shops.csv")["feature_count"] == 2
    (own,) = ask(folder, "datasets imported")
    assert (own["slug"], own["status"], own["feature_count"]) == ("shops", "ready", 2)
    assert ask(folder, "datasets delete shops") == {"deleted": "shops"}
    assert ask(folder, "datasets imported") == []
    assert ask(folder, "speeds import slow.csv")["modes"]["auto"]["rows"] == 1
    (own,) = ask(folder, "speeds list")
    assert (own["mode"], own["rows"], own["served"]) == ("auto", 1, True)
    assert ask(folder, "speeds status")["modes"] == ["auto"]
    assert ask(folder, "speeds remove") == {"removed": True}
    assert ask(folder, "speeds list") == []


def test_files(folder: Path) -> None:
    named = ask(folder, "bulk reverse shops.csv named.csv --workers 1")
    assert (named["rows"], named["failed"]) == (2, 0)
    cafes = ask(folder, "export csv cafes.csv --where amenity=cafe")
    assert cafes["elements"] == len((folder / "cafes.csv").read_text().splitlines()) - 1
    tiles = ask(folder, "tiles export map.pmtiles --zooms 0-6")
    assert tiles["size_bytes"] == (folder / "map.pmtiles").stat().st_size


def test_builds(folder: Path) -> None:
    needs = ask(folder, "build --estimate 4.5GB")
    assert needs["source_bytes"] == 4_500_000_000
    assert needs["disk_bytes"] == sum(part["disk_bytes"] for part in needs["parts"].values())
    source = EXAMPLES / "monaco.osm.pbf"
    built = ask(folder, f"build {source} --only store --data built")
    assert list(built["parts"]) == ["source", "store"]
    (listed,) = ask(folder, "datasets list --data built")
    assert (listed["id"], listed["counts"]) == (built["dataset"], built["counts"])
    split = ask(folder, f"regions split {source} --regions 2 --out split")
    assert len(split["regions"]) == 2


def test_settings_keep_secrets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPYARD_SECRET", "do not tell anybody")
    monkeypatch.setenv("MAPYARD_PORT", "4711")
    values = {one["variable"]: one["value"] for one in ask(folder, "settings")}
    assert values["MAPYARD_PORT"] == "4711"
    assert "tell" not in values["MAPYARD_SECRET"]


def test_names_with_brackets_are_shown_as_they_are(folder: Path) -> None:
    words = ("tiles", "export", "map[old] :smile:.pmtiles", "--zooms", "0-2")
    done = subprocess.run(
        [COMMAND, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.startswith("map[old] :smile:.pmtiles: ")


def test_the_list_of_datasets_fits_80_columns(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = subprocess.run(
        [COMMAND, "datasets", "list"], cwd=folder, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["Dataset", "Data", "of", "(UTC)", "Elements", "Size", "Without"]
    (served,) = (line for line in lines if line.startswith("●"))
    assert served.rstrip().endswith(" MB")
    assert "…" not in served
