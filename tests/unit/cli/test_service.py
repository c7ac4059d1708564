"""Units of systemd, man pages and completions: complete, taken by their programs, removed again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.cli import COMMANDS, build_app, install_service
from mapyard.cli.manual import write_manual
from mapyard.cli.units import Service, write_units
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.settings import list_settings

UNITS = {
    "mapyard.service", "mapyard-update.service", "mapyard-update.timer",
    "mapyard-backup.service", "mapyard-backup.timer",
}  # fmt: skip


def install(root: Path, *more: str) -> str:
    arguments = ["install-service", "--root", str(root), "--program", "/opt/mapyard/bin/mapyard"]
    done = CliRunner().invoke(
        build_app(["install-service"]), [*arguments, *more], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.output


def uninstall(root: Path, *more: str) -> str:
    done = CliRunner().invoke(
        build_app(["uninstall-service"]),
        ["uninstall-service", "--root", str(root), *more],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    return done.output


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_is_installed_is_removed_and_settings_stay(tmp_path: Path) -> None:
    install(tmp_path)
    units = tmp_path / "etc/systemd/system"
    assert names(units) == UNITS
    environment = tmp_path / "etc/mapyard.env"
    assert environment.stat().st_mode & 0o777 == 0o600
    environment.write_text("MAPYARD_PORT=1\n")
    assert "kept /etc/mapyard.env" in install(tmp_path)
    assert environment.read_text() == "MAPYARD_PORT=1\n"
    (units / "mapyard-other.service").write_text("[Unit]\n")  # somebody else's
    said = uninstall(tmp_path, "--dry-run")
    assert "would remove" in said
    assert names(units) == UNITS | {"mapyard-other.service"}
    uninstall(tmp_path)
    assert names(tmp_path) == {"etc/systemd/system/mapyard-other.service", "etc/mapyard.env"}


def test_a_dry_run_prints_what_is_written_and_writes_nothing(tmp_path: Path) -> None:
    install(tmp_path / "a")
    said = install(tmp_path / "b", "--dry-run")
    for path in (tmp_path / "a/etc/systemd/system").iterdir():
        assert path.read_text() in said
    assert (
        "systemctl enable --now mapyard-update.timer mapyard-backup.timer mapyard.service" in said
    )
    assert not (tmp_path / "b").exists()


def test_units_of_somebody_else_are_not_overwritten(tmp_path: Path) -> None:
    unit = tmp_path / "etc/systemd/system/mapyard.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n")
    with pytest.raises(MapyardError, match="was not written by this command; move it away"):
        install(tmp_path)
    assert unit.read_text() == "[Service]\n"


def test_without_timers_the_server_updates_by_itself(tmp_path: Path) -> None:
    install(tmp_path, "--update-at", "", "--backups", "")
    assert names(tmp_path / "etc/systemd/system") == {"mapyard.service"}
    text = (tmp_path / "etc/systemd/system/mapyard.service").read_text()
    assert "MAPYARD_UPDATES" not in text


def test_another_folder_may_be_written_to(tmp_path: Path) -> None:
    install(tmp_path, "--data", "/srv/maps", "--user", "maps")
    text = (tmp_path / "etc/systemd/system/mapyard.service").read_text()
    assert "\nReadWritePaths=/srv/maps\n" in text
    assert "\nUser=maps\n" in text
    assert "StateDirectory" not in text


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--program", "/home/me/.venv/bin/mapyard", "install Mapyard into /opt/mapyard"),
        ("--data", "/root/data", "in a home folder"),
        ("--data", "data", "give a whole path"),
        ("--data", "/srv/my maps", "give a whole path"),
        ("--user", "root", "not a name for a system user"),
        ("--user", "a b", "not a name for a system user"),
        ("--update-at", "daily\nExecStart=/bin/x", "not a time of systemd"),
    ],
)
def test_what_no_unit_can_hold_is_refused(
    tmp_path: Path, option: str, value: str, says: str
) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(says)):
        install(tmp_path, option, value)
    assert not names(tmp_path)


def test_a_machine_without_systemd_is_told_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_dir", lambda self: False)
    with pytest.raises(MapyardError, match="--dry-run prints the units"):
        install_service.check_machine()


def test_settings_in_units_are_settings(tmp_path: Path) -> None:
    install(tmp_path)
    known = {setting.variable for setting in list_settings()}
    for name in names(tmp_path / "etc"):
        named = set(re.findall(r"MAPYARD_[A-Z_]+[A-Z]", (tmp_path / "etc" / name).read_text()))
        assert named <= known, name


@pytest.fixture
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("needs systemd-analyze")
    return found


def test_systemd_takes_the_units(tmp_path: Path, analyze: str) -> None:
    program = Path(sys.executable).with_name("mapyard")
    for data in (Path("/var/lib/mapyard"), tmp_path):
        service = Service(program, data=data, user="daemon", backups=tmp_path)
        for name, text in write_units(service).items():
            (tmp_path / name).write_text(text)
        done = subprocess.run(
            [analyze, "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert "mapyard" not in done.stderr, done.stderr


def test_systemd_finds_them_safe(tmp_path: Path, analyze: str) -> None:
    for name, text in write_units(Service(Path("/usr/bin/true"))).items():
        (tmp_path / name).write_text(text)
    for name in sorted(name for name in UNITS if name.endswith(".service")):
        done = subprocess.run(
            [analyze, "security", "--offline=true", "--no-pager", str(tmp_path / name)],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        level = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", done.stdout)
        if level is None:
            pytest.skip("this systemd-analyze judges running units only")
        assert float(level[1]) <= 2.0, done.stdout


def test_every_command_has_a_page_with_all_its_options() -> None:
    pages = write_manual()
    for name in COMMANDS:
        assert f"mapyard\\-{name.replace('-', chr(92) + '-')}" in pages["man/man1/mapyard.1"]
        assert pages[f"man/man1/mapyard-{name}.1"].count(".SH NAME") == 1
    serve = pages["man/man1/mapyard-serve.1"]
    for option in ("host", "port", "workers", "data"):
        assert f"\\-\\-{option}" in serve
    assert "[bold]" not in "".join(pages.values())


def test_man_reads_all_pages_without_a_warning(tmp_path: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("needs groff")
    for name, text in write_manual().items():
        if name.endswith(".1"):
            done = subprocess.run(
                [groff, "-man", "-ww", "-Kutf8", "-Tutf8"],
                input=text, capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            assert done.stderr == "", (name, done.stderr)


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    install(tmp_path)
    script = tmp_path / "usr/local/share/bash-completion/completions/mapyard"

    def complete(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        code = (
            f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
            '_mapyard_completion mapyard; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [bash, "-c", code], env={**os.environ, "PATH": path},
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return done.stdout.split()

    assert "install-service" in complete("mapyard", "inst")
    assert "--workers" in complete("mapyard", "serve", "--wor")
