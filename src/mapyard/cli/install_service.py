"""`mapyard install-service`: units for systemd, their user and folders, man pages, completions."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from mapyard.cli.units import MARK, Service, write_units
from mapyard.errors import InvalidRequest, MapyardError

UNITS: Final = Path("/etc/systemd/system")
SHARE: Final = Path("/usr/local/share")
#: Folders that ProtectHome hides from the service.
_HIDDEN: Final = (Path("/home"), Path("/root"), Path("/run/user"))
#: What a path in a unit may be made of: no spaces, quotes or variables.
_PLAIN: Final = re.compile(r"/[\w./@+-]*")
_ENVIRONMENT: Final = """\
# Settings of Mapyard as a service: `mapyard settings` lists all. After a change:
#   systemctl restart mapyard
#MAPYARD_PUBLIC_URL=https://maps.example.org
#MAPYARD_TRUSTED_PROXIES=["127.0.0.1"]
#MAPYARD_METRICS_LISTEN=127.0.0.1:9464
MAPYARD_ACCESS_LOG=-
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file to write; one that is there is kept unless it is ours."""

    path: Path
    text: str
    mode: int = 0o644
    is_kept: bool = False


def command(
    data: Annotated[Path, typer.Option(help="Data folder of the service.")] = Path(
        "/var/lib/mapyard"
    ),
    user: Annotated[str, typer.Option(help="System user; made when it is not there.")] = "mapyard",
    environment: Annotated[
        Path, typer.Option(help="File of the settings; written when it is not there.")
    ] = Path("/etc/mapyard.env"),
    update_at: Annotated[
        str,
        typer.Option(
            help='When to update, such as hourly or "*-*-* 04:00"; "" leaves it to serve.'
        ),
    ] = "daily",
    backups: Annotated[
        str, typer.Option(help='Folder of the nightly backups of accounts; "" for none.')
    ] = "/var/backups/mapyard",
    program: Annotated[
        Path | None,
        typer.Option(help="The mapyard to run; default: this one.", show_default=False),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(help="Write below this folder only and start nothing, as for an image."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the files and commands; change nothing.")
    ] = False,
) -> None:
    """Write hardened systemd units that serve, update and back up, and start them.

    Needs root, but for --dry-run and --root. Settings go into /etc/mapyard.env. Run it again after
    an upgrade: it rewrites the units and keeps settings and data.

    Examples:

      mapyard install-service --dry-run

      sudo /opt/mapyard/bin/mapyard install-service --update-at hourly
    """
    service = Service(
        executable=program or find_program(),
        data=data,
        user=user,
        environment=environment,
        update_at=update_at,
        backups=Path(backups) if backups else None,
    )
    check(service)
    files = [*list_files(service)]
    commands = list_commands(service)
    if dry_run:
        for file in files:
            typer.echo(f"# ---- {file.path}\n{file.text}")
        typer.echo("# ---- then")
        for words in commands:
            typer.echo(" ".join(words))
        return
    if root is None:
        check_machine()
        make_user(service)
    for file in [*files, *list_shell_files()]:
        typer.echo(write_file(file, root or Path("/")))
    if root is not None:
        return
    for words in commands:
        typer.echo(" ".join(words))
        run(words)
    typer.echo(f"Serving. Settings: {environment}; log: journalctl -u mapyard; what is next:")
    typer.echo(
        f"  systemd-run --pipe --quiet --uid={user} --property=EnvironmentFile={environment} "
        f"--setenv=MAPYARD_DATA={data} {service.executable} build SOURCE"
    )


def find_program() -> Path:
    """Return the mapyard that runs here, as a path that stays."""
    beside = Path(sys.executable).with_name("mapyard")
    if beside.is_file():
        return beside
    found = shutil.which("mapyard")
    if found is None:
        raise MapyardError("the mapyard command was not found; name it with --program")
    return Path(found)


def check(service: Service) -> None:
    """Raise InvalidRequest for what a unit cannot hold or its hardening hides."""
    paths = {
        "program": service.executable, "data": service.data, "environment": service.environment,
        "backups": service.backups or Path("/"),
    }  # fmt: skip
    for name, path in paths.items():
        if not _PLAIN.fullmatch(str(path)) or ".." in path.parts:
            raise InvalidRequest.of(
                name, f"{str(path)!r}: give a whole path of letters, digits and ._@+-"
            )
        if any(path.is_relative_to(folder) for folder in _HIDDEN):
            raise InvalidRequest.of(
                name,
                f"{path} is in a home folder, which the service cannot see; "
                "install Mapyard into /opt/mapyard (python3 -m venv /opt/mapyard)"
                if name == "program"
                else f"{path} is in a home folder, which the service cannot see",
            )
    if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,30}", service.user) or service.user == "root":
        raise InvalidRequest.of("user", f"{service.user!r} is not a name for a system user")
    if not re.fullmatch(r"[\w*:.,/ ~-]*", service.update_at):
        raise InvalidRequest.of(
            "update_at", f"{service.update_at!r} is not a time of systemd, such as daily"
        )


def check_machine() -> None:
    """Raise MapyardError where nothing can be installed."""
    if not Path("/run/systemd/system").is_dir():
        raise MapyardError(
            "systemd does not run here; --dry-run prints the units, --root FOLDER writes them"
        )
    if os.geteuid() != 0:
        raise MapyardError("this needs root: run it with sudo, or look with --dry-run")


def list_files(service: Service) -> Iterator[File]:
    """Yield the units, and the settings where there are none."""
    for name, text in write_units(service).items():
        yield File(UNITS / name, text)
    yield File(service.environment, _ENVIRONMENT, 0o600, is_kept=True)


def list_shell_files() -> Iterator[File]:
    """Yield man pages and completions."""
    from mapyard.cli.manual import write_manual

    for name, text in write_manual().items():
        yield File(SHARE / name, text)


def list_commands(service: Service) -> list[list[str]]:
    """Return what makes the units run."""
    names = write_units(service)
    started = [name for name in names if name.endswith(".timer")] + ["mapyard.service"]
    return [["systemctl", "daemon-reload"], ["systemctl", "enable", "--now", *started]]


def make_user(service: Service) -> None:
    """Make user and folders where they are missing."""
    try:
        pwd.getpwnam(service.user)
    except KeyError:
        home = str(service.data)
        run(["useradd", "--system", "--user-group", "--home-dir", home, "--no-create-home",
             "--shell", "/usr/sbin/nologin", service.user])  # fmt: skip
        typer.echo(f"made the user {service.user}")
    entry = pwd.getpwnam(service.user)
    for folder in filter(None, (service.data, service.backups)):
        if not folder.is_dir():
            folder.mkdir(parents=True, mode=0o700)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            typer.echo(f"made {folder}")


def write_file(file: File, root: Path) -> str:
    """Write a file below `root`; return what was done."""
    path = root / file.path.relative_to("/")
    if path.exists():
        if file.is_kept:
            return f"kept {file.path}"
        if path.suffix in (".service", ".timer") and not path.read_text().startswith(MARK):
            raise MapyardError(
                f"{file.path} is there and was not written by this command; move it away, or keep "
                "what you changed in a drop-in (systemctl edit)"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.partial")
    draft.write_text(file.text, encoding="utf-8")
    draft.chmod(file.mode)
    draft.replace(path)
    return f"wrote {file.path}"


def run(words: list[str]) -> None:
    """Run a program of the system; raise MapyardError with its words when it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise MapyardError(f"{words[0]}: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise MapyardError(f"{' '.join(words)} failed: {said[-1] if said else done.returncode}")
