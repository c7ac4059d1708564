from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mapyard.accounts.open import open_accounts
from mapyard.server import checks
from mapyard.server.checks import Finding, check_all
from mapyard.settings import Settings
from servers import free_port

COMMAND = Path(sys.executable).with_name("mapyard")


def about(findings: list[Finding], name: str) -> list[Finding]:
    return [finding for finding in findings if finding.about == name]


def states(findings: list[Finding], name: str) -> set[str]:
    return {finding.state for finding in about(findings, name)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    open_accounts(folder).close()
    return folder


@pytest.mark.parametrize(
    ("settings", "name", "state", "says", "do"),
    [
        ({"public_url": "http://maps.example.org"}, "settings", "bad", "in the clear", "TLS"),
        ({"public_url": "maps.example.org"}, "settings", "bad", "not an address", "https://"),
        ({"host": "0.0.0.0"}, "settings", "look", "no public address", "MAPYARD_PUBLIC_URL"),
        ({"public_url": "https://maps.example.org"}, "settings", "look", "no proxy is named",
         "MAPYARD_TRUSTED_PROXIES"),
        ({"trusted_proxies": ["*"]}, "settings", "bad", "claim any address", "proxy's own"),
        ({"trusted_networks": ["0.0.0.0/0"]}, "settings", "bad", "strangers", "private networks"),
        ({"metrics_token": "short"}, "settings", "bad", "guessed", "openssl"),
        ({"secret": "short"}, "settings", "bad", "guessed", "openssl"),
        ({"smtp_url": "smtp://mail"}, "mail", "bad", "No mail is sent", "MAPYARD_PUBLIC_URL"),
        ({"signup": "open"}, "mail", "look", "without confirming", "MAPYARD_SMTP_URL"),
        ({"connections": 10_000_000}, "limits", "bad", "files", "ulimit"),
        ({"workers": 200}, "memory", "look", "page cache", "MAPYARD_WORKERS"),
        ({}, "dataset", "bad", "no dataset", "mapyard build"),
    ],
)  # fmt: skip
def test_each_says_what_to_change(
    data: Path, settings: dict[str, Any], name: str, state: str, says: str, do: str
) -> None:
    findings = about(check_all(Settings(data=data, **settings)), name)
    assert [f for f in findings if f.state == state and says in f.says and do in f.do], findings


def test_a_sound_server(monaco: Path, tmp_path: Path) -> None:
    findings = check_all(Settings(data=monaco, updates="off"))
    for name in ("settings", "limits", "disk", "dataset", "redis"):
        assert states(findings, name) == {"good"}, findings
    assert "Data" not in str(findings)


def test_what_is_open_to_others(data: Path) -> None:
    (data / "accounts.sqlite").chmod(0o644)
    (data / "limits").mkdir()
    (data / "limits").chmod(0o755)
    (found,) = [f for f in about(check_all(Settings(data=data)), "permissions") if f.state == "bad"]
    assert "accounts.sqlite, limits" in found.says
    assert found.do.startswith("chmod -R go= ")
    data.chmod(0o777)
    findings = check_all(Settings(data=data))
    assert "anybody may write" in about(findings, "permissions")[0].says
    assert "bad" in states(findings, "dataset")  # each check that cannot look says why


def test_a_damaged_database(data: Path) -> None:
    path = data / "accounts.sqlite"
    content = bytearray(path.read_bytes())
    for at in range(8_192, len(content), 4_096):
        content[at : at + 100] = b"\xff" * 100
    path.write_bytes(content)
    assert "bad" in states(check_all(Settings(data=data)), "database")


def test_servers_that_are_away(data: Path) -> None:
    port = free_port()
    settings = Settings(
        data=data,
        accounts_url=f"postgresql://nobody@127.0.0.1:{port}/none",
        redis_url=f"redis://127.0.0.1:{port}",
    )
    findings = check_all(settings)
    assert states(findings, "database") == {"bad"}
    assert states(findings, "redis") == {"bad"}


def test_a_mistyped_setting(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPYARD_PUBLICURL", "https://x")
    found = about(check_all(Settings(data=data)), "settings")[0]
    assert found.state == "bad"
    assert found.do == "did you mean MAPYARD_PUBLIC_URL?"


def test_rasters_that_nothing_here_reads(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = data / "elevation"
    folder.mkdir()
    (folder / "N47E009.hgt").touch()
    (folder / "alps.tif").touch()
    (folder / "broken.zip").write_bytes(b"PK")
    settings = Settings(data=data)
    assert states(check_all(settings), "elevation") == {"good"}
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    [finding] = about(check_all(settings), "elevation")
    assert finding.state == "bad"
    assert "1 files give no heights, such as alps.tif" in finding.says
    assert "mapyard[geotiff]" in finding.do


def test_a_clock_that_went_back(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks.time, "time", lambda: 1_000_000_000.0)
    assert states(check_all(Settings(data=data)), "clock") == {"bad"}


def test_the_kernel_says_whether_the_clock_is_kept() -> None:
    assert checks.is_synchronized() in (True, False, None)


def test_the_command(data: Path) -> None:
    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, "doctor", "--data", data, *arguments],
            env={**os.environ, **environment},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    done = run("--json")
    assert done.returncode == 1  # there is no dataset
    document = json.loads(done.stdout)
    assert document["state"] == "bad"
    assert {"about", "state", "says"} <= set(document["findings"][0])
    shown = run()
    assert "→ mapyard build SOURCE" in shown.stdout
    assert "to correct" in shown.stdout
    broken = run("--json", MAPYARD_WORKERS="many")
    assert "MAPYARD_WORKERS" in json.loads(broken.stdout)["findings"][0]["says"]
