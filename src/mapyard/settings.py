"""All settings: environment variables with the prefix MAPYARD_, or one .env-style file.

Every field has a description; `mapyard settings` prints them and docs/reference holds them. A
msgspec struct, as parameters are: pydantic would take longer to import than a question to answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from mapyard.addresses import split_login
from mapyard.errors import MapyardError

PREFIX: Final = "MAPYARD_"

#: What `prepared_profiles` may name; routing/profiles.py says what each is.
PreparedProfile = Literal[
    "auto-shortest", "auto-no-tolls", "auto-no-motorways", "foot-shortest", "bicycle-shortest",
    "truck",
]  # fmt: skip


class Settings(msgspec.Struct, kw_only=True):
    """The settings of one process; made by hand it has the defaults, `get_settings` reads them."""

    # Data
    data: Annotated[Path, Meta(description="Data folder of all commands.")] = Path("data")
    keep_datasets: Annotated[
        int, Meta(ge=1, description="Datasets kept by pruning, the served one included.")
    ] = 2

    # Updates
    updates: Annotated[
        Literal["off", "minutely", "hourly", "daily"],
        Meta(description="How often a server looks for new data, where a source is known."),
    ] = "daily"
    update_source: Annotated[
        str, Meta(description="Replication source; empty is the one that the extract names.")
    ] = ""
    update_routing: Annotated[
        Literal["always", "daily", "weekly"],
        Meta(
            description="How old the roads may get before an update builds them anew, which is the "
            "most of its work; always: each update does."
        ),
    ] = "always"
    update_clip: Annotated[
        bool,
        Meta(description="Set when the source covers more than the extract, such as the planet."),
    ] = False

    # Serving
    host: Annotated[str, Meta(description="Address to listen on; ::1 is added to 127.0.0.1.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=1, le=65535, description="Port to listen on.")] = 4000
    workers: Annotated[int, Meta(ge=1, le=256, description="Worker processes.")] = 2
    threads: Annotated[
        int, Meta(ge=1, le=64, description="Threads for longer work in each worker.")
    ] = 4
    queue: Annotated[
        int, Meta(ge=0, description="Requests waiting for a thread; beyond them 503.")
    ] = 64
    query_processes: Annotated[
        int,
        Meta(
            ge=1,
            le=64,
            description="Processes for Overpass and SPARQL in each worker; an account uses all but "
            "one of them at a time.",
        ),
    ] = 3
    timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Time limit of one request, seconds.")
    ] = 30.0
    query_bytes: Annotated[
        int,
        Meta(ge=1 << 20, description="Memory limit of one query, bytes."),
    ] = 512 << 20
    max_body_bytes: Annotated[int, Meta(ge=1024, description="Largest request body, bytes.")] = (
        10_485_760
    )
    bodies_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            description="Request bodies that a worker holds in all, bytes; further ones get 503.",
        ),
    ] = 256 << 20
    read_s: Annotated[
        float,
        Meta(
            gt=0,
            le=3600,
            description="Time for the head of a request, and between two parts of "
            "its body, seconds.",
        ),
    ] = 10.0
    connections: Annotated[
        int,
        Meta(
            ge=1,
            description="Open connections of one worker; beyond them idle ones are "
            "closed, then 503.",
        ),
    ] = 1_024
    connections_per_address: Annotated[
        int,
        Meta(
            ge=1,
            description="Open connections of one client address in one worker; addresses in "
            "MAPYARD_TRUSTED_PROXIES have no limit.",
        ),
    ] = 256
    cors_origins: Annotated[
        list[str], Meta(description="Origins allowed by CORS; empty switches CORS off.")
    ] = []
    public_url: Annotated[
        str, Meta(description="Address that answers name, such as https://maps.example.org.")
    ] = ""
    trusted_proxies: Annotated[
        list[str], Meta(description="Addresses whose X-Forwarded-* headers are believed.")
    ] = []
    trusted_networks: Annotated[
        list[str],
        Meta(
            description="Networks (10.0.0.0/8) that get the operator's map page and /metrics "
            "without asking; empty trusts nobody by address."
        ),
    ] = []
    form_ports: Annotated[
        list[str],
        Meta(
            description="Other services' forms at the root of ports of their own: "
            '["nominatim:8080", "osrm:5000"]. The forms are those of docs/switch.'
        ),
    ] = []
    open_networks: Annotated[
        list[str],
        Meta(
            description="Networks (10.0.0.0/8) whose requests without a key count for the account "
            "in MAPYARD_OPEN_ACCOUNT, for tools that can send no key."
        ),
    ] = []
    open_account: Annotated[
        str, Meta(description="Mail address of the account of MAPYARD_OPEN_NETWORKS.")
    ] = ""
    metrics_token: Annotated[
        str,
        Meta(
            description="Bearer token that opens /metrics; empty opens it to trusted networks only."
        ),
    ] = ""
    metrics_listen: Annotated[
        str,
        Meta(
            description="A socket of its own for /metrics, without a token: 127.0.0.1:9464 or "
            "unix:/run/mapyard/metrics.sock."
        ),
    ] = ""
    pages_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="Web pages, forms and public endpoints a minute and client address; 0 "
            "counts none.",
        ),
    ] = 240
    access_log: Annotated[
        str, Meta(description="Where the access log goes: - is standard output, empty is nowhere.")
    ] = "-"
    slow_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="Requests that take longer are listed for operators, seconds; 0 lists "
            "none.",
        ),
    ] = 2.0
    slow_text: Annotated[
        bool,
        Meta(
            description="Also keep what slow requests asked, not only a digest of it. It may hold "
            "addresses and places of people."
        ),
    ] = False
    drain_s: Annotated[
        float,
        Meta(ge=0, le=300, description="Time between a stop signal and the last new connection."),
    ] = 1.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="debug, info, warning or error."),
    ] = "info"
    anonymous_per_minute: Annotated[
        int, Meta(ge=1, description="Requests a minute and client address without a valid key.")
    ] = 60

    # Geocoding
    importance_file: Annotated[
        Path | None,
        Meta(
            description="CSV (also .gz) with the columns wikidata and importance (0-1), used when "
            "the part text is built: what it knows ranks higher."
        ),
    ] = None

    # Routing
    matrix_pairs: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Largest matrix: origins times destinations.")
    ] = 10_000
    optimize_inline_stops: Annotated[
        int, Meta(ge=2, le=100, description="Tours with more stops become jobs that are polled.")
    ] = 50

    prepared_profiles: Annotated[
        list[PreparedProfile],
        Meta(
            description="Options that ways are prepared for when roads are built, so that they are "
            "as fast as without options: auto-shortest, auto-no-tolls, auto-no-motorways, "
            "foot-shortest, bicycle-shortest, truck. Each takes as much again as its mode."
        ),
    ] = []

    # Queries
    sparql_services: Annotated[
        list[str],
        Meta(
            description="Other SPARQL endpoints that SERVICE may ask, by their whole addresses; "
            "empty: none. A private address is asked only where it is listed by its number."
        ),
    ] = []

    # Builds
    build_memory: Annotated[
        int,
        Meta(
            ge=0,
            description="Memory that each part of a build may take, bytes; tables, sorts and "
            "arrays beyond it lie on disk. 0 is a quarter of the machine's, at least 1 GB.",
        ),
    ] = 0

    # Tiles
    tile_languages: Annotated[
        list[str],
        Meta(
            description="Languages of names in tiles (IETF codes) besides name, name_de and "
            "name_en."
        ),
    ] = []
    tile_cache_bytes: Annotated[
        int, Meta(ge=0, description="Bound of rendered tiles kept on disk; 0 keeps none.")
    ] = 1_000_000_000

    image_processes: Annotated[
        int,
        Meta(
            ge=0,
            le=16,
            description="Processes that draw maps as pictures, in each worker, started at need; "
            "each takes up to 320 MB. 0 draws none.",
        ),
    ] = 1
    fleet: Annotated[
        str,
        Meta(
            description="Address of Ray whose fleet is served, set by `mapyard fleet serve`. "
            "Empty: the dataset of the data folder is served."
        ),
    ] = ""

    # Accounts
    accounts_url: Annotated[
        str,
        Meta(description="Accounts database (postgresql://…); empty is a file in the data folder."),
    ] = ""
    redis_url: Annotated[str, Meta(description="Redis for limits shared by several machines.")] = ""
    secret: Annotated[
        str,
        Meta(
            description="Signs cookies and links; the same on all machines. Empty is DATA/secret."
        ),
    ] = ""
    signup: Annotated[
        Literal["open", "closed", "invitation"],
        Meta(description="Who may sign up on the web pages."),
    ] = "closed"
    visitors_per_minute: Annotated[
        int,
        Meta(
            ge=0,
            description="Requests a minute of all visitors of the map page together who are not "
            "signed in; 0 asks them to sign in.",
        ),
    ] = 0
    smtp_url: Annotated[
        str,
        Meta(
            description="Mail server: smtp://user:password@host:587 (STARTTLS) or smtps://…:465; "
            "empty: operators hand links out."
        ),
    ] = ""
    mail_from: Annotated[
        str, Meta(description="Sender of mail, such as Maps <maps@example.org>.")
    ] = ""
    openid_issuer: Annotated[
        str, Meta(description="OpenID Connect provider for sign-in, its https URL.")
    ] = ""
    openid_client_id: Annotated[str, Meta(description="Client id at the OpenID provider.")] = ""
    openid_client_secret: Annotated[
        str, Meta(description="Client secret at the OpenID provider.")
    ] = ""
    webhook_url: Annotated[
        str, Meta(description="Where the month's usage of each account is posted.")
    ] = ""
    webhook_secret: Annotated[
        str, Meta(description="Signs the webhook's bodies (HMAC-SHA-256).")
    ] = ""

    def replace(self, **changes: Any) -> Settings:
        """Return a copy with some settings changed."""
        return msgspec.structs.replace(self, **changes)


def split_listen(text: str) -> tuple[str, int, Path | None]:
    """Return host and port of "127.0.0.1:9464" or "[::1]:9464", or the path of "unix:/…"."""
    if text.startswith("unix:/"):
        return "", 0, Path(text.removeprefix("unix:"))
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError("must be HOST:PORT, such as 127.0.0.1:9464, or unix:/PATH")
    return host.strip("[]"), int(port), None


#: Forms of other services, by their first part of a path.
FORMS: Final = (
    "nominatim", "photon", "pelias", "osrm", "valhalla", "ors", "graphhopper", "overpass", "ogc",
)  # fmt: skip


def split_form_ports(texts: list[str]) -> dict[int, str]:
    """Return the form at each port; raise ValueError."""
    found: dict[int, str] = {}
    for text in texts:
        form, _, port = text.partition(":")
        if form not in FORMS or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise ValueError(f"{text!r} is not FORM:PORT; forms are {', '.join(FORMS)}")
        if int(port) in found:
            raise ValueError(f"port {port} is named twice")
        found[int(port)] = form
    return found


def _check_form_ports(value: list[str]) -> None:
    split_form_ports(value)


def _check_networks(value: list[str]) -> None:
    for text in value:
        ip_network(text.strip(), strict=False)


def _check_listen(value: str) -> None:
    if value:
        split_listen(value)


def _check_services(value: list[str]) -> None:
    for text in value:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
            raise ValueError(f"{text!r} is not an address such as https://query.example.org/sparql")
        if parts.username or parts.password:
            raise ValueError(f"{text!r} must have no user name")
        _ = parts.port  # raises for what is none


#: Settings that need more than a type and bounds: what raises ValueError where they are wrong.
_CHECKS: Final[dict[str, Callable[[Any], None]]] = {
    "trusted_networks": _check_networks,
    "open_networks": _check_networks,
    "form_ports": _check_form_ports,
    "metrics_listen": _check_listen,
    "sparql_services": _check_services,
}


class Setting(msgspec.Struct):
    """One setting, for those who list them."""

    name: str
    default: Any
    description: str

    @property
    def variable(self) -> str:
        """Return the environment variable."""
        return f"{PREFIX}{self.name.upper()}"


#: Settings with these words in their names are shown as set or not set.
_SECRET_WORDS: Final = ("token", "password", "secret", "url")


def show_setting(setting: Setting, settings: Settings) -> str:
    """Return a setting's value for people, dots in place of secrets, addresses without login."""
    value = getattr(settings, setting.name)
    is_secret = any(word in setting.name for word in _SECRET_WORDS) and setting.name != "public_url"
    if value and is_secret:
        return "••••"
    return split_login(value)[0] if isinstance(value, str) and "://" in value else str(value)


def list_settings() -> list[Setting]:
    """Return all settings in the order of their fields."""
    hints = get_type_hints(Settings, include_extras=True)
    return [
        Setting(field.name, _default_of(field), hints[field.name].__metadata__[0].description)
        for field in msgspec.structs.fields(Settings)
    ]


def _default_of(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """Return the settings of this process, read once; raise MapyardError naming what is wrong."""
    given = {**_read_file(Path(".env")), **os.environ}
    hints = get_type_hints(Settings, include_extras=True)
    values: dict[str, Any] = {}
    problems = []
    for setting in list_settings():
        text = given.get(setting.variable)
        if text is None:
            continue
        try:
            values[setting.name] = _read(setting, text, hints[setting.name])
        except (ValueError, msgspec.ValidationError) as error:
            problems.append(f"{setting.variable}: {error}")
    if problems:
        raise MapyardError("; ".join(problems))
    return Settings(**values)


def _read_file(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values

    return {name: value for name, value in dotenv_values(path).items() if value is not None}


def _read(setting: Setting, text: str, kind: Any) -> Any:
    """Return the value of a text; raise ValueError."""
    value: Any = text
    if isinstance(setting.default, list):
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise ValueError(
                f'{setting.name} is not JSON; lists are written so: \'["one", "two"]\''
            ) from None
    elif text == "" and not isinstance(setting.default, str):
        return setting.default
    elif isinstance(setting.default, bool):
        value = {"1": True, "yes": True, "on": True, "0": False, "no": False, "off": False}.get(
            text.strip().lower(), text
        )
    read = msgspec.convert(value, kind, strict=False, dec_hook=lambda cls, item: cls(item))
    check = _CHECKS.get(setting.name)
    if check is not None:
        check(read)
    return read
