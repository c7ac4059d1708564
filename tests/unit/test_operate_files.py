"""The files for operators name metrics and settings that there are; their programs take them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mapyard.http import freshness, metrics
from mapyard.settings import list_settings

ROOT = Path(__file__).parents[2]
FILES = ROOT / "examples" / "operate"
TEXTS = [*FILES.iterdir(), ROOT / "docs" / "operate.md"]


def known_metrics() -> set[str]:
    source = Path(metrics.__file__).read_text() + Path(freshness.__file__).read_text()
    return set(re.findall(r'"(mapyard_\w+)"', source))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_names_are_right(path: Path) -> None:
    text = path.read_text()
    settings = {setting.variable for setting in list_settings()}
    assert set(re.findall(r"MAPYARD_[A-Z_]+[A-Z]", text)) <= settings
    named = {
        re.sub(r"_(count|sum|bucket)$", "", name) for name in re.findall(r"\bmapyard_\w+", text)
    }
    assert named <= known_metrics()


def test_every_metric_is_watched_or_drawn() -> None:
    drawn = (FILES / "grafana-dashboard.json").read_text() + (FILES / "alerts.yml").read_text()
    missing = {name for name in known_metrics() if name not in drawn}
    assert missing <= {
        "mapyard_dataset_timestamp_seconds", "mapyard_dataset_sequence", "mapyard_update_runs",
        "mapyard_update_last_start_seconds", "mapyard_update_last_duration_seconds",
    }  # fmt: skip


def test_the_dashboard_is_one() -> None:
    dashboard = json.loads((FILES / "grafana-dashboard.json").read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids)) > 10
    for panel in dashboard["panels"]:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        for target in panel["targets"]:
            assert target["expr"].count("(") == target["expr"].count(")")


def test_every_alert_has_its_chapter() -> None:
    chapters = (ROOT / "docs" / "operate.md").read_text().lower()
    rules = (FILES / "alerts.yml").read_text()
    runbooks = re.findall(r'runbook: "docs/operate\.md: ([^"]+)"', rules)
    assert len(runbooks) == rules.count("- alert:")
    for runbook in runbooks:
        assert f"**{runbook}" in chapters, runbook


def run(*command: object) -> None:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"needs {program}")
    return found


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with key and certificate, as all three proxies take it."""
    path = tmp_path / "both.pem"
    key = tmp_path / "key.pem"
    run(need("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", "/CN=maps.example.org", "-keyout", key, "-out", path)  # fmt: skip
    path.write_text(path.read_text() + key.read_text())
    return path


def test_nginx_takes_its_file(tmp_path: Path, certificate: Path) -> None:
    program = need("nginx")
    text = (FILES / "nginx.conf").read_text()
    text = re.sub(r"/etc/letsencrypt/live/\S+\.pem", str(certificate), text)
    text = re.sub(r"listen (\[::\]:)?(80|443)", r"listen \g<1>2\g<2>", text)
    file = tmp_path / "nginx.conf"
    file.write_text(f"pid {tmp_path}/nginx.pid;\nerror_log stderr;\n{text}")
    run(program, "-t", "-c", file)


def test_haproxy_takes_its_file(tmp_path: Path, certificate: Path) -> None:
    program = need("haproxy")
    file = tmp_path / "haproxy.cfg"
    text = (FILES / "haproxy.cfg").read_text()
    file.write_text(text.replace("/etc/haproxy/maps.example.org.pem", str(certificate)))
    run(program, "-c", "-f", file)


def test_caddy_takes_its_file() -> None:
    run(need("caddy"), "validate", "--adapter", "caddyfile", "--config", FILES / "Caddyfile")


def test_prometheus_takes_its_files() -> None:
    run(need("promtool"), "check", "config", FILES / "prometheus.yml")
