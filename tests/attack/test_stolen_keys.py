"""A key that somebody else got hold of: what expiry and restrictions keep him from."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.lookup import KeyLookup, KeyRefused
from mapyard.accounts.open import open_accounts
from mapyard.accounts.restrictions import make_restrictions
from mapyard.errors import InvalidRequest
from mapyard.server.local import LocalClient
from visitors import Visitor, serving

#: What is admitted is told that there is no dataset.
ADMITTED = 503


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    yield database
    database.close()


@pytest.fixture
def client(tmp_path: Path, database: Database) -> Iterator[LocalClient]:
    with serving(tmp_path) as client:
        yield client


def make_key(database: Database, **options: Any) -> str:
    account = registry.create_account(database, "me@example.org", "enterprise")
    expires_at = options.pop("expires_at", None)
    restrictions = make_restrictions(**options)
    return registry.create_key(
        database, account.id, expires_at=expires_at, restrictions=restrictions
    )[1]


def ask(
    client: LocalClient, key: str, path: str, method: str = "GET", address: str = "203.0.113.5",
    **headers: str,
) -> httpx.Response:  # fmt: skip
    return Visitor(client, address).ask(method, path, **{"X-API-Key": key}, **headers)


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 403, answer.text
    assert answer.json()["error"]["code"] == "key_not_allowed"
    return answer.json()["error"]["message"]


def test_a_key_for_some_endpoints(client: LocalClient, database: Database) -> None:
    key = make_key(database, endpoints=["geocoding", "tiles"])
    assert ask(client, key, "/api/v1/geocode").status_code == ADMITTED
    assert "for these endpoints only: Geocoding, Tiles" in refusal(
        ask(client, key, "/api/v1/route")
    )
    refusal(ask(client, key, "/api/interpreter", accept="application/json"))
    refusal(ask(client, key, "/api/v1/nothing"))


def test_a_key_that_only_reads(client: LocalClient, database: Database) -> None:
    key = make_key(database, read_only=True)
    assert ask(client, key, "/api/v1/geocode").status_code == ADMITTED
    assert "may only read" in refusal(ask(client, key, "/api/v1/optimize", "POST"))


def test_a_key_for_some_networks(client: LocalClient, database: Database) -> None:
    key = make_key(database, networks=["203.0.113.0/24, 2001:db8::/32"])
    path = "/api/v1/geocode"
    for address in ("203.0.113.200", "2001:db8::7", "::ffff:203.0.113.9"):
        assert ask(client, key, path, address=address).status_code == ADMITTED
    for address in ("203.0.114.1", "2001:db9::1", "::ffff:127.0.0.1", ""):
        refusal(ask(client, key, path, address=address))
    # What a request says about its address is no address.
    refusal(ask(client, key, path, address="198.51.100.1", **{"X-Forwarded-For": "203.0.113.5"}))


def test_a_key_for_some_origins(client: LocalClient, database: Database) -> None:
    key = make_key(database, origins=["https://Shop.example.org/"])
    path = "/api/v1/geocode"
    assert ask(client, key, path, Origin="https://shop.example.org").status_code == ADMITTED
    for origin in ("https://shop.example.org.evil.example", "http://shop.example.org", "null"):
        refusal(ask(client, key, path, Origin=origin))
    refusal(ask(client, key, path))


def test_what_is_refused_costs_the_owner_nothing(client: LocalClient, database: Database) -> None:
    key = make_key(database, networks=["192.0.2.1"])
    for _ in range(3):
        refusal(ask(client, key, "/api/v1/geocode"))
    own = ask(client, key, "/api/v1/geocode", address="192.0.2.1")
    assert int(own.headers["x-ratelimit-remaining"]) == 9_999
    other = ask(client, key, "/api/v1/geocode")
    assert other.headers["x-ratelimit-limit"] == "60"  # the thief's address is what is counted


def test_a_key_expires(database: Database) -> None:
    now = time.monotonic()
    key = make_key(database, expires_at=int(time.time()) + 2)
    clock = [now]
    lookup = KeyLookup(database, monotonic=lambda: clock[0])
    assert lookup.find_account_by_key(key).guard is None
    clock[0] += 30  # remembered no longer than the key lives
    with pytest.MonkeyPatch.context() as patch:
        later = time.time() + 30
        patch.setattr("mapyard.accounts.lookup.time.time", lambda: later)
        with pytest.raises(KeyRefused) as caught:
            lookup.find_account_by_key(key)
    assert caught.value.code == "expired_key"


def test_an_expired_key_makes_room(database: Database) -> None:
    account = registry.create_account(database, "me@example.org")
    for _ in range(3):
        registry.create_key(database, account.id, expires_at=1)
    _, key = registry.create_key(database, account.id)
    assert KeyLookup(database).find_account_by_key(key).account_id == account.id


@pytest.mark.parametrize(
    "options",
    [
        {"endpoints": ["everything"]},
        {"networks": ["here"]},
        {"networks": ["10.0.0.0/99"]},
        {"origins": ["example.org"]},
        {"origins": ["https://example.org/path"]},
        {"origins": ["javascript:alert(1)"]},
        {"networks": [f"10.0.{i}.0/24" for i in range(30)]},
    ],
)
def test_restrictions_that_mean_nothing_are_refused(options: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidRequest):
        make_restrictions(**options)  # type: ignore[arg-type]


def test_most_keys_have_nothing_to_check(database: Database) -> None:
    key = make_key(database)
    assert KeyLookup(database).find_account_by_key(key).guard is None
    assert make_restrictions(endpoints=["features"], networks=[""]) is not None
    assert make_restrictions(networks=["", " "], origins=[","]) is None


def test_nothing_is_answered_without_a_key_but_what_is_public(client: LocalClient) -> None:
    seen: set[tuple[bool, bool]] = set()
    seen_paths: list[str] = []
    for declared in client.application.services.endpoints:
        for path, method in itertools.product(declared.paths, declared.methods):
            filled = re.sub(r"\{\w+\}", "1", path)
            visitor = Visitor(client, f"203.0.113.{len(seen_paths) % 250}")
            seen_paths.append(path)
            status = visitor.ask(method, filled).status_code
            seen.add((declared.public, status == 401))
            assert declared.public or status == 401, (method, path, status)
    assert (False, True) in seen
    assert (True, False) in seen
