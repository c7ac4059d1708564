"""All settings: environment variables with the prefix MAPYARD_, or one .env-style file.

Every field has a description; `mapyard settings` prints them and docs/reference holds them.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from mapyard.errors import MapyardError


class Settings(BaseSettings):
    """The settings of one process."""

    model_config = SettingsConfigDict(
        env_prefix="MAPYARD_", env_file=".env", env_file_encoding="utf-8", extra="ignore"
    )

    # Data
    data: Path = Field(Path("data"), description="Data folder of all commands.")
    keep_datasets: int = Field(
        2, ge=1, description="Datasets kept by pruning, the served one included."
    )

    # Updates
    updates: Literal["off", "minutely", "hourly", "daily"] = Field(
        "daily", description="How often a server looks for new data, where a source is known."
    )
    update_source: str = Field(
        "", description="Replication source; empty is the one that the extract names."
    )
    update_clip: bool = Field(
        False, description="Set when the source covers more than the extract, such as the planet."
    )

    # Serving
    host: str = Field("127.0.0.1", description="Address to listen on; ::1 is added to 127.0.0.1.")
    port: int = Field(4000, ge=1, le=65535, description="Port to listen on.")
    workers: int = Field(2, ge=1, le=256, description="Worker processes.")
    threads: int = Field(4, ge=1, le=64, description="Threads for longer work in each worker.")
    queue: int = Field(64, ge=0, description="Requests waiting for a thread; beyond them 503.")
    timeout_s: float = Field(30.0, gt=0, le=3600, description="Time limit of one request, seconds.")
    query_bytes: int = Field(
        512 << 20, ge=1 << 20, description="Memory limit of one query in Overpass QL, bytes."
    )
    max_body_bytes: int = Field(10_485_760, ge=1024, description="Largest request body, bytes.")
    read_s: float = Field(
        10.0,
        gt=0,
        le=3600,
        description="Time for the head of a request, and between two parts of its body, seconds.",
    )
    connections: int = Field(
        1_024,
        ge=1,
        description="Open connections of one worker; beyond them idle ones are closed, then 503.",
    )
    connections_per_address: int = Field(
        256,
        ge=1,
        description="Open connections of one client address in one worker; addresses in "
        "MAPYARD_TRUSTED_PROXIES have no limit.",
    )
    cors_origins: list[str] = Field(
        default_factory=list, description="Origins allowed by CORS; empty switches CORS off."
    )
    public_url: str = Field(
        "", description="Address that answers name, such as https://maps.example.org."
    )
    trusted_proxies: list[str] = Field(
        default_factory=list,
        description="Addresses whose X-Forwarded-* headers are believed.",
    )
    trusted_networks: list[str] = Field(
        default_factory=list,
        description="Networks (10.0.0.0/8) that get the operator's map page and /metrics without "
        "asking; empty trusts nobody by address.",
    )
    metrics_token: str = Field(
        "", description="Bearer token that opens /metrics; empty opens it to trusted networks only."
    )
    metrics_listen: str = Field(
        "",
        description="A socket of its own for /metrics, without a token: 127.0.0.1:9464 or "
        "unix:/run/mapyard/metrics.sock.",
    )
    pages_per_minute: int = Field(
        240,
        ge=0,
        le=1_000,
        description="Web pages, forms and public endpoints a minute and client address; 0 counts "
        "none.",
    )
    access_log: str = Field(
        "-", description="Where the access log goes: - is standard output, empty is nowhere."
    )
    drain_s: float = Field(
        1.0, ge=0, le=300, description="Time between a stop signal and the last new connection."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="debug, info, warning or error."
    )
    anonymous_per_minute: int = Field(
        60, ge=1, description="Requests a minute and client address without a valid key."
    )

    # Geocoding
    importance_file: Path | None = Field(
        None,
        description="CSV (also .gz) with the columns wikidata and importance (0-1), used when the "
        "part text is built: what it knows ranks higher.",
    )

    # Routing
    matrix_pairs: int = Field(
        10_000, ge=1, le=250_000, description="Largest matrix: origins times destinations."
    )
    optimize_inline_stops: int = Field(
        50, ge=2, le=100, description="Tours with more stops become jobs that are polled."
    )

    # Tiles
    tile_languages: list[str] = Field(
        default_factory=list,
        description="Languages of names in tiles (IETF codes) besides name, name_de and name_en.",
    )
    tile_cache_bytes: int = Field(
        1_000_000_000, ge=0, description="Bound of rendered tiles kept on disk; 0 keeps none."
    )

    # Accounts
    accounts_url: str = Field(
        "", description="Accounts database (postgresql://…); empty is a file in the data folder."
    )
    redis_url: str = Field("", description="Redis for limits shared by several machines.")
    secret: str = Field(
        "",
        description="Signs cookies and links; the same on all machines. Empty is DATA/secret.",
    )
    signup: Literal["open", "closed", "invitation"] = Field(
        "closed", description="Who may sign up on the web pages."
    )
    visitors_per_minute: int = Field(
        0,
        ge=0,
        description="Requests a minute of all visitors of the map page together who are not "
        "signed in; 0 asks them to sign in.",
    )
    smtp_url: str = Field(
        "",
        description="Mail server: smtp://user:password@host:587 (STARTTLS) or smtps://…:465; "
        "empty: operators hand links out.",
    )
    mail_from: str = Field("", description="Sender of mail, such as Maps <maps@example.org>.")
    openid_issuer: str = Field(
        "", description="OpenID Connect provider for sign-in, its https URL."
    )
    openid_client_id: str = Field("", description="Client id at the OpenID provider.")
    openid_client_secret: str = Field("", description="Client secret at the OpenID provider.")
    webhook_url: str = Field("", description="Where the month's usage of each account is posted.")
    webhook_secret: str = Field("", description="Signs the webhook's bodies (HMAC-SHA-256).")

    @field_validator("trusted_networks")
    @classmethod
    def _check_networks(cls, value: list[str]) -> list[str]:
        for text in value:
            ip_network(text.strip(), strict=False)
        return value

    @field_validator("metrics_listen")
    @classmethod
    def _check_listen(cls, value: str) -> str:
        if value:
            split_listen(value)
        return value


def split_listen(text: str) -> tuple[str, int, Path | None]:
    """Return host and port of "127.0.0.1:9464" or "[::1]:9464", or the path of "unix:/…"."""
    if text.startswith("unix:/"):
        return "", 0, Path(text.removeprefix("unix:"))
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError("must be HOST:PORT, such as 127.0.0.1:9464, or unix:/PATH")
    return host.strip("[]"), int(port), None


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """Return the settings of this process, read once; raise MapyardError naming what is wrong."""
    try:
        return Settings()
    except ValidationError as error:
        problems = [
            f"MAPYARD_{'_'.join(map(str, item['loc'])).upper()}: {item['msg']}"
            for item in error.errors()
        ]
        raise MapyardError("; ".join(problems)) from None
    except SettingsError as error:  # text that should be JSON
        raise MapyardError(f'{error}; lists are written as JSON: \'["one", "two"]\'') from None
