"""The operator's pages render with what may be there: runs, deliveries, datasets, long logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.models import WebhookDelivery
from mapyard.accounts.open import ensure_visitors, open_accounts
from mapyard.accounts.sessions import start_session
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from mapyard.updates.history import Run, add_run


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    yield database
    database.close()


@pytest.fixture
def client(tmp_path: Path, database: Database) -> Iterator[LocalClient]:
    settings = Settings(data=tmp_path, webhook_url="http://billing.example", visitors_per_minute=30)
    with LocalClient(settings, with_keys=True) as client:
        yield client
        services = client.application.services
        assert services.accounts is not None
        assert services.database is not None
        services.accounts.close()
        services.database.close()


def look(client: LocalClient, database: Database, path: str) -> httpx.Response:
    account = registry.find_account(database, "boss@example.org") or registry.create_account(
        database, "boss@example.org", "enterprise", operator=True
    )
    token = start_session(database, account.id, "test")
    return client.request("GET", path, headers={"Cookie": f"mapyard_session={token}"})


def test_the_state_of_the_service(client: LocalClient, database: Database, tmp_path: Path) -> None:
    add_run(tmp_path, Run("2026-04-06T00:00:00Z", 2.5, "updated", changed=1_234, to_sequence=7))
    add_run(tmp_path, Run("2026-04-07T00:00:00Z", 0.1, "failed", message="no space <left>"))
    boss = registry.create_account(database, "boss@example.org", "enterprise", operator=True)
    with database.write() as session:
        session.add(
            WebhookDelivery(
                account_id=boss.id, month="2026-03", attempts=3, next_attempt_at=0,
                last_error="HTTP 500",
            )
        )  # fmt: skip
    page = look(client, database, "/operator/system").text
    for text in ("1,234", "no space &lt;left&gt;", "HTTP 500", "No dataset yet"):
        assert text in page
    assert page.index("2026-04-07") < page.index("2026-04-06")


def test_long_lists_have_pages(client: LocalClient, database: Database) -> None:
    for i in range(60):
        registry.create_account(database, f"number{i:02}@example.org")
    first = look(client, database, "/operator/accounts").text
    assert "number59@" in first
    assert "number05@" not in first
    assert "number05@" in look(client, database, "/operator/accounts?page=2").text
    found = look(client, database, "/operator/accounts?q=ber0&plan=free").text
    assert "number07@" in found
    assert "number17@" not in found
    # What is searched for is text, not a pattern.
    assert "No account matches" in look(client, database, "/operator/accounts?q=%25").text
    assert "Older" in look(client, database, "/operator/audit").text
    assert look(client, database, "/operator/accounts?page=x&plan=y").status_code == 200
    assert look(client, database, "/operator/accounts/999").status_code == 404


def test_the_visitors_account_follows_the_setting(database: Database) -> None:
    account_id = ensure_visitors(database, 30)
    assert ensure_visitors(database, 30) == account_id
    ensure_visitors(database, 60)
    account = registry.get_account(database, "visitors@localhost")
    assert registry.limits_of(account).per_minute == 60


def test_who_asks_for_the_map_page(client: LocalClient, database: Database) -> None:
    from mapyard.accounts.models import Account

    boss = registry.create_account(database, "boss@example.org", "enterprise", operator=True)
    other = registry.create_account(database, "other@example.org")
    token = start_session(database, other.id, "test")

    def session_account(host: str, **headers: str) -> str:
        answer = client.request(
            "POST", f"http://{host}/playground/session",
            headers={"Origin": f"http://{host}", **headers},
        )  # fmt: skip
        assert answer.json() == {"session": True}
        value = answer.headers["set-cookie"].partition("=")[2]
        with database.read() as session:
            account = session.get(Account, int(value.partition(".")[0]))
            assert account is not None
            return account.email

    assert session_account("localhost") == "visitors@localhost"
    map_token = start_session(database, boss.id, "test", kind="map")
    assert session_account("localhost", Cookie=f"mapyard_map={map_token}") == boss.email
    assert session_account("localhost", Cookie=f"mapyard_session={token}") == other.email
