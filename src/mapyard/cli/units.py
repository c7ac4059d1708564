"""The units of systemd that serve, update and back up, with as few rights as they need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK: Final = (
    "# Written by `mapyard install-service`; `systemctl edit` changes it, this file is not kept.\n"
)
STATE: Final = Path("/var/lib")
#: Runs as nobody else, sees nothing but the system and its data, calls what a server calls.
_HARDENED: Final = """\
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
# Updates run with the lowest priority, and each process sees which cores it has.
SystemCallFilter=setpriority ioprio_set sched_setaffinity setrlimit prlimit64
SystemCallErrorNumber=EPERM
LimitCORE=0
UMask=0077
"""


@dataclass(frozen=True, slots=True)
class Service:
    """What is to run, as whom, and where its data are."""

    executable: Path
    data: Path = STATE / "mapyard"
    user: str = "mapyard"
    environment: Path = Path("/etc/mapyard.env")
    #: When to update and to back up, as systemd writes times; "" for never.
    update_at: str = "daily"
    backups: Path | None = Path("/var/backups/mapyard")
    backup_at: str = "*-*-* 03:17:00"


def write_units(service: Service) -> dict[str, str]:
    """Return file name → text of the units."""
    units = {"mapyard.service": _serve(service)}
    if service.update_at:
        units["mapyard-update.service"] = _update(service)
        units["mapyard-update.timer"] = _timer("Updates of Mapyard's map", service.update_at)
    if service.backups and service.backup_at:
        units["mapyard-backup.service"] = _backup(service, service.backups)
        units["mapyard-backup.timer"] = _timer("Backups of Mapyard's accounts", service.backup_at)
    return {name: MARK + text for name, text in units.items()}


def _serve(service: Service) -> str:
    by_timer = "# The timer updates the map.\nEnvironment=MAPYARD_UPDATES=off\n"
    return f"""\
[Unit]
Description=Mapyard, a map API out of one OpenStreetMap extract
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart={_quote(service.executable)} serve
{_who(service)}{by_timer if service.update_at else ""}RuntimeDirectory=mapyard
RuntimeDirectoryMode=0750

Restart=on-failure
RestartSec=2
# Longer than MAPYARD_TIMEOUT_S and MAPYARD_DRAIN_S together: what runs is finished.
TimeoutStopSec=60
KillMode=mixed
KillSignal=SIGTERM

LimitNOFILE=65536
# Leave the rest to the page cache. A service over its maximum is ended and started again.
MemoryHigh=75%
MemoryMax=85%
TasksMax=2048
OOMPolicy=continue

{_HARDENED}
[Install]
WantedBy=multi-user.target
"""


def _update(service: Service) -> str:
    return f"""\
[Unit]
Description=Fetch and apply what changed on the map
After=network-online.target
Wants=network-online.target

[Service]
Type=oneshot
ExecStart={_quote(service.executable)} update --quiet
# 4: another build or update runs.
SuccessExitStatus=4
{_who(service)}
TimeoutStartSec=1d
Nice=19
CPUSchedulingPolicy=batch
IOSchedulingClass=idle
CPUWeight=10
MemoryHigh=60%
MemoryMax=75%

{_HARDENED}"""


def _backup(service: Service, folder: Path) -> str:
    name = "accounts-$$(date -u +%%Y-%%m-%%dT%%H%%M%%SZ).sqlite"
    command = f"exec {_quote(service.executable)} accounts backup {folder}/{name}"
    return f"""\
[Unit]
Description=Back up Mapyard's accounts, and keep 30 days of it

[Service]
Type=oneshot
ExecStart=/bin/sh -c '{command}'
ExecStartPost=/usr/bin/find {folder} -name "accounts-*.sqlite" -mtime +30 -delete
{_who(service)}ReadWritePaths={folder}
Nice=10

{_HARDENED}"""


def _timer(what: str, when: str) -> str:
    return f"""\
[Unit]
Description={what}

[Timer]
OnCalendar={when}
RandomizedDelaySec=10min
Persistent=true

[Install]
WantedBy=timers.target
"""


def _who(service: Service) -> str:
    """Return user, settings and the folder that may be written to."""
    data = service.data
    if data.is_relative_to(STATE) and data != STATE:
        state = f"StateDirectory={data.relative_to(STATE)}\nStateDirectoryMode=0700\n"
    else:
        state = f"ReadWritePaths={data}\n"
    return f"""\
User={service.user}
Group={service.user}
EnvironmentFile=-{service.environment}
Environment=MAPYARD_DATA={data}
{state}WorkingDirectory={data}
"""


def _quote(path: Path) -> str:
    """Return a path as a word of a unit."""
    return str(path).replace("%", "%%")
