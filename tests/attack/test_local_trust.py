"""Who is believed to be on this machine: nobody, whatever address, Origin or Host a request has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.open import make_map_link, open_accounts
from mapyard.accounts.registry import create_account
from mapyard.errors import MapyardError
from mapyard.http.background import JobContext
from mapyard.http.metrics_socket import serve_metrics
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.settings import Settings, get_settings
from servers import free_port
from visitors import Visitor, serving

SESSION = "/playground/session"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    create_account(database, "boss@example.org", "enterprise", operator=True)
    yield database
    database.close()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://127.0.0.1:4000", "Host": "127.0.0.1:4000"},
        {"Origin": "http://localhost", "Host": "localhost", "Sec-Fetch-Site": "same-origin"},
        {"Host": "localhost"},
        {"X-Forwarded-For": "127.0.0.1", "Host": "localhost"},
        {"Forwarded": "for=127.0.0.1", "X-Forwarded-Host": "localhost"},
    ],
)
def test_a_local_address_opens_nothing(
    tmp_path: Path, database: Database, address: str, headers: dict[str, str]
) -> None:
    with serving(tmp_path) as client:
        visitor = Visitor(client, address)
        answer = visitor.ask("POST", SESSION, **headers)
        assert answer.json() == {"session": False}
        assert "set-cookie" not in answer.headers
        assert visitor.ask("GET", "/metrics", **headers).status_code == 404
        assert "mapyard_http" not in visitor.ask("GET", "/metrics", **headers).text


def test_a_link_is_redeemed_once(tmp_path: Path, database: Database) -> None:
    with serving(tmp_path) as client:
        link = make_map_link(database)
        first, second = Visitor(client), Visitor(client)
        assert first.get(link).status_code == 303
        assert first.ask("POST", SESSION).json() == {"session": True}
        assert second.get(link).status_code == 403
        assert second.ask("POST", SESSION).json() == {"session": False}
        # It is the map's session only: no page of the account, no form of the operator.
        assert first.get("/operator/accounts").status_code == 303
        stolen = Visitor(client)
        stolen.cookies["mapyard_session"] = first.cookies["mapyard_map"]
        assert stolen.get("/account/keys").status_code == 303


def test_a_link_of_a_former_operator_is_worth_nothing(tmp_path: Path, database: Database) -> None:
    with serving(tmp_path) as client:
        link = make_map_link(database)
        boss = registry.get_account(database, "boss@example.org")
        registry.change_account(database, boss.id, action="account.role", is_operator=False)
        assert Visitor(client).get(link).status_code == 403
        assert Visitor(client).get("/open?token=guessed").status_code == 403
        assert Visitor(client).get("/open").status_code == 403


def test_only_named_networks_are_trusted(tmp_path: Path, database: Database) -> None:
    with serving(tmp_path, trusted_networks=["10.1.0.0/16"]) as client:
        inside, outside = Visitor(client, "10.1.2.3"), Visitor(client, "10.2.0.1")
        assert inside.ask("POST", SESSION).json() == {"session": True}
        assert inside.get("/metrics").status_code == 200
        assert outside.ask("POST", SESSION).json() == {"session": False}
        assert outside.get("/metrics").status_code == 404
        assert Visitor(client, "127.0.0.1").get("/metrics").status_code == 404
        # A stranger's name that points here, opened in a browser of that network.
        rebound = inside.ask("POST", SESSION, Host="evil.example", Origin="http://evil.example")
        assert rebound.json() == {"session": False}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("MAPYARD_TRUSTED_NETWORKS", '["10.0.0.0/99"]', "10.0.0.0/99"),
        ("MAPYARD_METRICS_LISTEN", "9464", "HOST:PORT"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    get_settings.cache_clear()
    with pytest.raises(MapyardError, match=says):
        get_settings()
    get_settings.cache_clear()


def test_metrics_by_token(tmp_path: Path, database: Database) -> None:
    with serving(tmp_path, metrics_token="a long token") as client:
        visitor = Visitor(client)
        right = visitor.ask("GET", "/metrics", Authorization="Bearer a long token")
        assert "mapyard_http" in right.text
        for wrong in ("Bearer", "Bearer ", "Bearer a long toke", "a long token"):
            assert visitor.ask("GET", "/metrics", Authorization=wrong).status_code == 404
    with serving(tmp_path) as client:  # without a token none fits
        assert Visitor(client).ask("GET", "/metrics", Authorization="Bearer ").status_code == 404


@pytest.mark.parametrize("unix", [False, True])
def test_metrics_on_a_socket_of_their_own(tmp_path: Path, unix: bool) -> None:
    port = free_port()
    path = tmp_path / "metrics.sock"
    where = f"unix:{path}" if unix else f"127.0.0.1:{port}"
    settings = Settings(data=tmp_path, metrics_listen=where)
    stop = threading.Event()
    context = JobContext(Services(settings, Snapshots(settings)), stop)
    thread = threading.Thread(target=serve_metrics, args=(context,))
    thread.start()
    transport = httpx.HTTPTransport(uds=str(path) if unix else None, retries=5)
    try:
        with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as client:
            answer = client.get("/metrics")
            assert answer.status_code == 200
            assert "mapyard_http_requests_in_flight" in answer.text
            assert answer.headers["server"] == "mapyard"
            assert client.get("/").status_code == 404
            assert client.post("/metrics").status_code == 501
    finally:
        stop.set()
        thread.join(5)


def test_pages_are_limited_by_address(tmp_path: Path, database: Database) -> None:
    with serving(tmp_path, pages_per_minute=5) as client:
        flood, other = Visitor(client, "198.51.100.7"), Visitor(client, "198.51.100.8")
        pages = ["/welcome", "/sign-in", "/limits", "/docs", "/forgot"]
        assert [flood.get(path).status_code for path in pages] == [200] * 5
        assert flood.get("/static/site.css").status_code == 200  # pages load these by the dozen
        for path in ("/welcome", "/version", "/openapi.json", "/metrics"):
            answer = flood.get(path)
            assert answer.status_code == 429
            assert int(answer.headers["retry-after"]) <= 60
            assert answer.json()["error"]["code"] == "rate_limited"
        assert flood.ask("POST", "/sign-in", {"email": "x"}).status_code == 429
        shown = flood.ask("GET", "/welcome", Accept="text/html")
        assert shown.status_code == 429
        assert "Too many pages were asked for from your address" in shown.text
        assert flood.get("/healthz").status_code == 200
        assert other.get("/welcome").status_code == 200
