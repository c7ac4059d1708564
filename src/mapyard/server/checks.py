"""The checks of `mapyard doctor`: each looks at one thing and says what to change.

Nothing here changes anything, and nothing waits long: a server that is away is itself a finding.
"""

from __future__ import annotations

import ctypes
import difflib
import os
import shutil
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from mapyard.accounts.database import FILE_NAME, open_database
from mapyard.dataset.catalog import Catalog
from mapyard.elevation.hgt import is_hgt
from mapyard.elevation.rasters import SUFFIXES
from mapyard.errors import MapyardError
from mapyard.private import find_problem
from mapyard.server.files import OWN_FILES, raise_file_limit
from mapyard.settings import PREFIX, Settings, list_settings

State = Literal["good", "look", "bad"]

_MAX_CLOCK_DRIFT_S: Final = 2.0
_LIMIT_S: Final = 3.0
_OLD_DATA_S: Final = 8 * 86_400
#: What adjtimex returns where nothing keeps the clock right.
_TIME_ERROR: Final = 5
_PRIVATE: Final = (
    FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", "secret", "demo.key", "limits", "usage",
)  # fmt: skip


class Finding(msgspec.Struct, frozen=True):
    """What was looked at, how it is, and what to do about it."""

    about: str
    state: State
    says: str
    do: str = ""


def check_all(settings: Settings) -> list[Finding]:
    """Return the findings of all checks, in the order in which one would look."""
    checks: tuple[tuple[str, Callable[[Settings], Iterator[Finding]]], ...] = (
        ("settings", _check_names),
        ("settings", _check_openness),
        ("mail", _check_mail),
        ("permissions", _check_permissions),
        ("limits", _check_limits),
        ("memory", _check_memory),
        ("disk", _check_disk),
        ("clock", _check_clock),
        ("database", _check_database),
        ("redis", _check_redis),
        ("dataset", _check_dataset),
        ("elevation", _check_elevation),
    )
    findings: list[Finding] = []
    for about, check in checks:
        before = len(findings)
        try:
            findings.extend(check(settings))
        except (MapyardError, OSError) as error:
            says = error.message if isinstance(error, MapyardError) else str(error)
            findings.append(Finding(about, "bad", says))
        if len(findings) == before:
            findings.append(Finding(about, "good", _GOOD[check.__name__]))
    return findings


#: What a check says that found nothing to say.
_GOOD: Final = {
    "_check_names": "All MAPYARD_ variables are settings.",
    "_check_openness": "Nothing is more open than it should be.",
    "_check_mail": "No mail server is set: operators hand links out.",
    "_check_permissions": "Only this user reads accounts, secret, limits and usage.",
    "_check_elevation": "All files of DATA/elevation can be read, or there are none.",
    "_check_redis": "Not used: each machine keeps its own limits.",
}


def _check_names(_: Settings) -> Iterator[Finding]:
    known = {setting.variable for setting in list_settings()}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            do = f"did you mean {near[0]}?" if near else "remove it, or look: mapyard settings"
            yield Finding("settings", "bad", f"{name} is not a setting and does nothing.", do)


def _check_openness(settings: Settings) -> Iterator[Finding]:
    url = urlsplit(settings.public_url)
    if settings.public_url and (url.scheme not in ("http", "https") or not url.hostname):
        yield Finding(
            "settings", "bad", f"MAPYARD_PUBLIC_URL is not an address: {settings.public_url}",
            "write it like https://maps.example.org",
        )  # fmt: skip
    elif settings.public_url and url.scheme == "http" and url.hostname != "localhost":
        yield Finding(
            "settings", "bad",
            "MAPYARD_PUBLIC_URL is http: passwords and keys travel in the clear.",
            "put a proxy with TLS in front and name its https address (docs/operate.md)",
        )  # fmt: skip
    if not _is_loopback(settings.host) and not settings.public_url:
        yield Finding(
            "settings", "look",
            f"The server listens on {settings.host}, and no public address is set.",
            "set MAPYARD_PUBLIC_URL; listen on 127.0.0.1 behind a proxy with TLS",
        )  # fmt: skip
    if url.scheme == "https" and not settings.trusted_proxies:
        yield Finding(
            "settings", "look",
            "MAPYARD_PUBLIC_URL is https, but no proxy is named: all clients are counted as one.",
            """set MAPYARD_TRUSTED_PROXIES='["127.0.0.1"]' to the proxy's address""",
        )  # fmt: skip
    if "*" in settings.trusted_proxies:
        yield Finding(
            "settings", "bad", "MAPYARD_TRUSTED_PROXIES is *: anybody may claim any address.",
            "name the proxy's own address",
        )  # fmt: skip
    named = [("MAPYARD_TRUSTED_NETWORKS", text) for text in settings.trusted_networks]
    named += [("MAPYARD_OPEN_NETWORKS", text) for text in settings.open_networks]
    for name, text in named:
        network = ip_network(text.strip(), strict=False)
        if network.prefixlen < 8 or network.is_global:
            yield Finding(
                "settings", "bad", f"{name} has {text}, which strangers are in.",
                "name private networks only",
            )  # fmt: skip
        elif network.is_loopback and url.scheme == "https":
            yield Finding(
                "settings", "look", f"{name} has {text}.",
                "a proxy on this machine that forwards no addresses lets everybody in",
            )  # fmt: skip
    if settings.metrics_token and len(settings.metrics_token) < 16:
        yield Finding(
            "settings", "bad", "MAPYARD_METRICS_TOKEN is short enough to be guessed.",
            "openssl rand -hex 24",
        )  # fmt: skip
    if settings.accounts_url and not settings.secret:
        yield Finding(
            "settings", "look", "Accounts are shared (MAPYARD_ACCOUNTS_URL), the secret is not.",
            "with several machines set MAPYARD_SECRET to one value on all: openssl rand -hex 32",
        )  # fmt: skip
    if settings.secret and len(settings.secret) < 32:
        yield Finding(
            "settings", "bad", "MAPYARD_SECRET is short enough to be guessed.",
            "openssl rand -hex 32",
        )  # fmt: skip
    if "*" in settings.cors_origins:
        yield Finding(
            "settings", "look", "MAPYARD_CORS_ORIGINS is *: any page may use keys it knows.",
            "name the origins of your pages",
        )  # fmt: skip


def _check_mail(settings: Settings) -> Iterator[Finding]:
    if settings.smtp_url and not settings.public_url:
        yield Finding(
            "mail", "bad",
            "No mail is sent: MAPYARD_SMTP_URL is set, but not MAPYARD_PUBLIC_URL.",
            "set MAPYARD_PUBLIC_URL: links in mails begin with it, never with what a request says",
        )  # fmt: skip
    elif settings.smtp_url:
        host = urlsplit(settings.smtp_url).hostname or "?"
        yield Finding("mail", "good", f"Mail goes through {host}.")
    elif settings.signup == "open":
        yield Finding(
            "mail", "look",
            "Everybody may sign up (MAPYARD_SIGNUP=open) without confirming an address.",
            "set MAPYARD_SMTP_URL and MAPYARD_PUBLIC_URL",
        )  # fmt: skip


def _check_permissions(settings: Settings) -> Iterator[Finding]:
    problem = find_problem(settings.data)
    if problem:
        yield Finding("permissions", "bad", problem)
        return
    open_names = [name for name in _PRIVATE if _mode(settings.data / name) & 0o077]
    if open_names:
        yield Finding(
            "permissions", "bad",
            f"Others may read {', '.join(open_names)} in {settings.data}.",
            f"chmod -R go= {' '.join(str(settings.data / name) for name in open_names)}",
        )  # fmt: skip
    if _mode(settings.data) & 0o020:
        yield Finding(
            "permissions", "look", f"A group may write into {settings.data}.",
            f"chmod g-w {settings.data}, unless everybody in the group runs this service",
        )  # fmt: skip
    if _mode(Path(".env")) & 0o077:
        yield Finding("permissions", "bad", "Others may read .env, which may hold secrets.",
                      "chmod go= .env")  # fmt: skip
    if os.geteuid() == 0:
        yield Finding(
            "permissions", "look", "This runs as root, which the service needs for nothing.",
            "run it as a user of its own (docs/operate.md has a unit for systemd)",
        )  # fmt: skip


def _check_limits(settings: Settings) -> Iterator[Finding]:
    limit = raise_file_limit()  # as the server does for itself
    wanted = settings.connections + OWN_FILES
    if limit < wanted:
        yield Finding(
            "limits", "bad",
            f"A worker may open {limit:,} files; {settings.connections:,} connections "
            f"(MAPYARD_CONNECTIONS) and its data want {wanted:,}.",
            "ulimit -n 65536, LimitNOFILE=65536 in the unit, or "
            f"MAPYARD_CONNECTIONS={max(1, limit - OWN_FILES)}",
        )  # fmt: skip
    else:
        yield Finding("limits", "good", f"A worker may open {limit:,} files.")
    cores = len(os.sched_getaffinity(0))
    if settings.workers > 2 * cores:
        yield Finding(
            "limits", "look", f"{settings.workers} workers share {cores} cores.",
            f"MAPYARD_WORKERS={cores} answers as much and needs less memory",
        )  # fmt: skip


def _check_memory(settings: Settings) -> Iterator[Finding]:
    total = _memory_bytes()
    # The most that queries may hold, and what the workers' code and threads take.
    wanted = settings.workers * (settings.query_bytes + (400 << 20))
    says = f"{_gigabytes(total)} of memory; {settings.workers} workers may use {_gigabytes(wanted)}"
    if wanted > 0.8 * total:
        yield Finding(
            "memory", "look", f"{says}, and the page cache wants the rest.",
            "lower MAPYARD_WORKERS or MAPYARD_QUERY_BYTES",
        )  # fmt: skip
    else:
        yield Finding("memory", "good", f"{says}.")


def _check_disk(settings: Settings) -> Iterator[Finding]:
    folder = settings.data if settings.data.exists() else Path()
    disk = shutil.disk_usage(folder)
    size = 0
    catalog = Catalog(settings.data)
    current = catalog.find_current()
    if current is not None:
        size = catalog.manifest(current).size_bytes
    # An update writes a whole dataset beside the served one before it is switched.
    wanted = max(2 * size, 1 << 30)
    says = f"{_gigabytes(disk.free)} free of {_gigabytes(disk.total)}"
    if disk.free < wanted:
        yield Finding(
            "disk", "bad", f"{says}; an update needs up to {_gigabytes(wanted)}.",
            "free some: mapyard datasets prune, MAPYARD_TILE_CACHE_BYTES; or a larger disk",
        )  # fmt: skip
    else:
        yield Finding("disk", "good", f"{says}.")
    files = os.statvfs(folder)
    if files.f_files and files.f_favail < 10_000:
        yield Finding("disk", "bad", f"Only {files.f_favail:,} inodes are free.", "remove files")


def _check_clock(settings: Settings) -> Iterator[Finding]:
    now = time.time()
    newest = 0.0
    for path in (settings.data / "current" / "manifest.json", settings.data / FILE_NAME):
        if path.exists():
            newest = max(newest, path.stat().st_mtime)
    if newest > now + 60:
        yield Finding(
            "clock", "bad", "The clock is behind the time at which files here were written.",
            "set it: timedatectl set-ntp true",
        )  # fmt: skip
    elif is_synchronized() is False:
        yield Finding(
            "clock", "look",
            "No program keeps the clock right; days and months of limits and bills go by it.",
            "timedatectl set-ntp true, or run chrony",
        )  # fmt: skip
    else:
        text = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        yield Finding("clock", "good", f"It is {text}.")


def _check_database(settings: Settings) -> Iterator[Finding]:
    from sqlalchemy import text
    from sqlalchemy.exc import SQLAlchemyError

    from mapyard.accounts.schema import check_version

    if not settings.accounts_url and not (settings.data / FILE_NAME).exists():
        yield Finding(
            "database", "look", "There are no accounts yet.",
            "mapyard accounts create you@example.org --plan enterprise --operator",
        )  # fmt: skip
        return
    database = open_database(settings.data, settings.accounts_url or None, limit_s=_LIMIT_S)
    try:
        check_version(database)
        with database.engine.connect() as connection:
            if database.is_sqlite:
                state = connection.execute(text("PRAGMA quick_check(1)")).scalar()
                if state != "ok":
                    yield Finding(
                        "database", "bad", f"accounts.sqlite is damaged: {state}",
                        "stop the server and restore a backup (docs/operate.md)",
                    )  # fmt: skip
                    return
                accounts = connection.execute(text("SELECT count(*) FROM accounts")).scalar()
                yield Finding("database", "good", f"SQLite is sound; {accounts:,} accounts.")
                return
            before = time.time()
            now = text("SELECT extract(epoch FROM clock_timestamp())")
            theirs = float(connection.execute(now).scalar_one())
            took_s = time.time() - before
    except SQLAlchemyError as error:
        yield Finding(
            "database", "bad", f"The accounts database does not answer: {type(error).__name__}.",
            "look whether PostgreSQL runs and MAPYARD_ACCOUNTS_URL is right",
        )  # fmt: skip
        return
    finally:
        database.close()
    yield from _compare_clocks("database", "PostgreSQL", theirs, before, took_s)


def _check_redis(settings: Settings) -> Iterator[Finding]:
    if not settings.redis_url:
        return
    try:
        import redis
    except ImportError:
        yield Finding("redis", "bad", "MAPYARD_REDIS_URL is set, the library is not installed.",
                      "pip install 'mapyard[redis]'")  # fmt: skip
        return
    client = redis.Redis.from_url(
        settings.redis_url, socket_timeout=_LIMIT_S, socket_connect_timeout=_LIMIT_S
    )
    try:
        before = time.time()
        seconds, micros = client.time()
        took_s = time.time() - before
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "")
    except redis.RedisError as error:
        yield Finding(
            "redis", "bad", f"Redis does not answer: {type(error).__name__}. Each machine enforces "
            "the whole limits by itself.",
            "look whether Redis runs and MAPYARD_REDIS_URL is right",
        )  # fmt: skip
        return
    finally:
        client.close()
    yield from _compare_clocks("redis", "Redis", seconds + micros / 1e6, before, took_s)
    if policy and policy != "noeviction":
        yield Finding(
            "redis", "look", f"Redis may throw counts away (maxmemory-policy {policy}).",
            "CONFIG SET maxmemory-policy noeviction",
        )  # fmt: skip


def _compare_clocks(
    about: str, name: str, theirs: float, before: float, took_s: float
) -> Iterator[Finding]:
    drift_s = theirs - (before + took_s / 2)
    if abs(drift_s) > _MAX_CLOCK_DRIFT_S + took_s:
        yield Finding(
            about, "look", f"The clock of {name} is {drift_s:+.1f} s off ours.",
            "keep both right: timedatectl set-ntp true",
        )  # fmt: skip
    yield Finding(about, "good", f"{name} answers in {took_s * 1000:.1f} ms.")


def _check_dataset(settings: Settings) -> Iterator[Finding]:
    catalog = Catalog(settings.data)
    current = catalog.find_current()
    if current is None:
        yield Finding("dataset", "bad", "There is no dataset.", "mapyard build SOURCE")
        return
    manifest = catalog.manifest(current)
    says = f"{current}, {_gigabytes(manifest.size_bytes)}"
    if not manifest.osm_timestamp:
        yield Finding("dataset", "good", f"{says}; its data does not say of when it is.")
        return
    age_s = time.time() - datetime.fromisoformat(manifest.osm_timestamp).timestamp()
    says += f", data of {manifest.osm_timestamp}"
    roads = manifest.find_data_time("routing")
    if roads != manifest.osm_timestamp:
        says += f", roads of {roads}"
    if settings.updates != "off" and manifest.replication.url and age_s > _OLD_DATA_S:
        yield Finding(
            "dataset", "look", f"{says}: {age_s / 86_400:.0f} days old, though updates are on.",
            "mapyard status has what the last updates did; mapyard update runs one now",
        )  # fmt: skip
    else:
        yield Finding("dataset", "good", f"{says}.")


def _check_elevation(settings: Settings) -> Iterator[Finding]:
    folder = settings.data / "elevation"
    if not folder.is_dir() or find_spec("rasterio"):
        return
    others = [
        path.name
        for path in sorted(folder.iterdir())
        if path.suffix.lower() in SUFFIXES and path.is_file() and _needs_gdal(path)
    ]
    if others:
        yield Finding(
            "elevation", "bad", f"{len(others)} files give no heights, such as {others[0]}.",
            "pip install 'mapyard[geotiff]', which reads GeoTIFF and VRT",
        )  # fmt: skip


def _needs_gdal(path: Path) -> bool:
    try:
        return not is_hgt(path)
    except (OSError, zipfile.BadZipFile):
        return False  # damaged: the server's log names it


def is_synchronized() -> bool | None:
    """Return whether the kernel says that the clock is kept right, None where it does not say."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        # struct timex with modes 0 only reads; the state is what the call returns.
        buffer = (ctypes.c_long * 64)()
        return int(libc.adjtimex(ctypes.byref(buffer))) != _TIME_ERROR
    except (OSError, AttributeError):
        return None


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _memory_bytes() -> int:
    """Return the memory of the machine, or of the container or unit where that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        own = Path("/proc/self/cgroup").read_text().strip().rpartition(":")[2]
        text = Path(f"/sys/fs/cgroup{own}/memory.max").read_text().strip()
        return min(total, int(text))
    except (OSError, ValueError):
        return total


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:,.1f} GB"
