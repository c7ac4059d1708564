"""The operator's pages render with what may be there: runs, deliveries, datasets, long logs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.gate import flush_usage
from mapyard.accounts.models import AuditEntry, WebhookDelivery
from mapyard.accounts.open import ensure_visitors, open_accounts
from mapyard.accounts.passwords import hash_password
from mapyard.accounts.sessions import start_session
from mapyard.builder.progress import Reporter
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from mapyard.updates.history import Run, add_run, log_path
from mapyard.web.system import is_old
from mapyard.web.visit import format_age, name_browser
from visitors import PASSWORD, Visitor, serving


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
    assert page.index("07 Apr 2026") < page.index("06 Apr 2026")


def test_what_an_update_run_did(client: LocalClient, database: Database, tmp_path: Path) -> None:
    run = Run("2026-04-06T00:00:00Z", 2.5, "failed", message="a bad <diff>", from_sequence=3)
    reporter = Reporter(quiet=True)
    with reporter.log_to(log_path(tmp_path, run)):
        reporter.stage("update: looking for changes")
        reporter.note("interrupted\nTraceback (most recent call last):\n  File secret.py")
    add_run(tmp_path, run)
    assert (
        "/operator/system/updates/2026-04-06T000000Z"
        in look(client, database, "/operator/system").text
    )
    page = look(client, database, "/operator/system/updates/2026-04-06T000000Z")
    assert page.status_code == 200
    for text in ("a bad &lt;diff&gt;", "Z update: looking for changes …", "Z interrupted"):
        assert text in page.text
    assert "secret.py" not in page.text
    for name in ("2026-04-06T000001Z", "..%2f..%2fruns"):
        assert look(client, database, f"/operator/system/updates/{name}").status_code == 404


def test_logs_are_kept_as_long_as_their_runs(tmp_path: Path) -> None:
    runs = [Run(f"2026-04-06T00:{i // 60:02}:{i % 60:02}Z") for i in range(203)]
    for run in runs:
        with Reporter(quiet=True).log_to(log_path(tmp_path, run)):
            pass
        add_run(tmp_path, run)
    kept = sorted(path.stem for path in log_path(tmp_path, runs[0]).parent.iterdir())
    assert kept == [run.log_name for run in runs[3:]]


def test_how_a_dataset_was_built(
    client: LocalClient, database: Database, tmp_path: Path, monaco: Path
) -> None:
    shutil.copytree(monaco / "datasets", tmp_path / "datasets")
    (dataset,) = (path.name for path in (tmp_path / "datasets").iterdir())
    page = look(client, database, f"/operator/system/datasets/{dataset}").text
    for text in ("store: geometry", "routing", "Problems in the data"):
        assert text in page
    assert look(client, database, "/operator/system/datasets/none").status_code == 404


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


def test_accounts_are_sorted_and_filtered(client: LocalClient, database: Database) -> None:
    for name, plan in (("bea", "free"), ("ada", "pro-1m"), ("cem", "free")):
        registry.create_account(database, f"{name}@example.org", plan, verified_at=1)
    cem = registry.get_account(database, "cem@example.org")
    registry.change_account(
        database, cem.id, action="account.suspend", actor="me", suspended_at=5, address=""
    )

    def order(query: str) -> list[str]:
        page = look(client, database, f"/operator/accounts?{query}").text
        return [name for _, name in sorted((page.find(f"{n}@"), n) for n in ("ada", "bea", "cem"))
                if page.find(f"{name}@") >= 0]  # fmt: skip

    assert order("") == ["cem", "ada", "bea"]
    assert order("sort=email") == ["ada", "bea", "cem"]
    assert order("state=suspended") == ["cem"]
    assert order("state=active") == ["ada", "bea"]
    assert order("state=operator") == []
    assert 'aria-sort="ascending"' in look(client, database, "/operator/accounts?sort=plan").text


def test_requests_and_settings(client: LocalClient, database: Database, tmp_path: Path) -> None:
    from mapyard.http.slow import SlowRequest, add_slow

    shop = registry.create_account(database, "shop@example.org")
    _, key = registry.create_key(database, shop.id)
    client.request("GET", "/api/v1/route?x=1", headers={"X-API-Key": key})
    flush_usage(database, tmp_path)
    entry = SlowRequest(
        5, "/api/v1/overpass", "POST", 200, 2_500, 9, shop.id, "r1", "d1g3st", "<a>"
    )
    add_slow(tmp_path / "service", entry)
    page = look(client, database, "/operator/requests").text
    assert "/api/v1/route" in page
    for text in ("2.5 s", "shop@example.org", "d1g3st", "&lt;a&gt;"):
        assert text in page
    page = look(client, database, "/operator/settings").text
    assert "MAPYARD_WEBHOOK_URL" in page
    assert "billing.example" not in page
    assert look(client, database, "/operator/system").text.count('class="chart"') == 3


def test_an_operator_sees_the_pages_of_an_account(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        database = client.application.services.database
        assert database is not None
        for name, is_operator in (("boss", True), ("shop", False)):
            registry.create_account(
                database, f"{name}@example.org", "free", operator=is_operator, verified_at=1,
                password_hash=hash_password(PASSWORD, f"{name}@example.org"),
            )  # fmt: skip
        shop = registry.get_account(database, "shop@example.org")
        registry.create_key(database, shop.id, name="till")
        boss = Visitor(client)
        boss.sign_in("boss@example.org")
        page = f"/operator/accounts/{shop.id}"
        boss.post(f"{page}/view", page)
        seen = boss.get("/account/keys").text
        assert "till" in seen
        assert "You see the pages of <b>shop@example.org</b>" in seen
        # Nothing is changed, and what is the person's alone stays closed.
        refused = boss.post("/account/keys", "/account/keys", name="mine")
        assert refused.status_code == 403
        assert len(registry.list_keys(database, shop.id)) == 1
        assert boss.get("/account/profile").status_code == 403
        assert boss.get("/account/profile/factor").status_code == 403
        assert boss.get("/operator/system").status_code == 200
        # The cookie alone is worth nothing: it belongs to this operator's session.
        thief = Visitor(client)
        thief.sign_in("shop@example.org")
        thief.cookies["mapyard_view"] = boss.cookies["mapyard_view"]
        assert "You see the pages" not in thief.get("/account/keys").text
        boss.post("/operator/view/end", "/account/keys")
        assert "till" not in boss.get("/account/keys").text
        with database.read() as session:
            noted = session.scalars(
                select(AuditEntry.action)
                .where(AuditEntry.account_id == shop.id, AuditEntry.actor == "boss@example.org")
                .order_by(AuditEntry.id)
            ).all()
        assert noted == ["account.view", "account.view-end"]


def test_a_session_that_lost_its_role_sees_nobody(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        database = client.application.services.database
        assert database is not None
        for name in ("boss", "shop"):
            registry.create_account(
                database, f"{name}@example.org", "free", operator=name == "boss", verified_at=1,
                password_hash=hash_password(PASSWORD, f"{name}@example.org"),
            )  # fmt: skip
        shop = registry.get_account(database, "shop@example.org")
        boss = Visitor(client)
        boss.sign_in("boss@example.org")
        boss.post(f"/operator/accounts/{shop.id}/view", f"/operator/accounts/{shop.id}")
        assert "shop@example.org" in boss.get("/account/keys").text
        own = registry.get_account(database, "boss@example.org")
        registry.change_account(
            database, own.id, action="account.role", actor="me", is_operator=False, address=""
        )
        assert "shop@example.org" not in boss.get("/account/keys").text


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/128.0.0.0 Safari/537.36 Edg/128.0.2739.42",
            "Edge 128 on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
            "like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
            "Safari 17 on iPhone",
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Firefox 128 on Linux",
        ),
        (
            "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) "
            "SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36",
            "Samsung Internet 25 on Android",
        ),
        ("curl/8.5.0", "curl 8"),
        ("my-script", "my-script"),
        ("", "unknown"),
    ],
)
def test_browsers_have_names(user_agent: str, name: str) -> None:
    assert name_browser(user_agent) == name


@pytest.mark.parametrize(
    ("hours", "words"),
    [(0.5, "30 minutes"), (1.9, "114 minutes"), (5, "5 hours"), (47, "47 hours"), (72, "3 days"),
     (1_440, "60 days"), (2_922, "4 months"), (20_000, "2 years")],
)  # fmt: skip
def test_ages_are_words(hours: float, words: str) -> None:
    assert format_age(hours) == words


def test_who_is_warned_of_old_data() -> None:
    assert not is_old(None, is_updated=True)
    assert not is_old(70, is_updated=True)
    assert is_old(80, is_updated=True)
    assert not is_old(80, is_updated=False)
    assert is_old(721, is_updated=False)


@pytest.mark.parametrize(
    ("place", "zone"),
    [("lat=43.73&lng=7.42", "Europe/Monaco"), ("lat=27.7&lng=85.3", "Asia/Kathmandu"),
     ("lat=40.7&lng=-74", "America/New_York")],
)  # fmt: skip
def test_the_time_zone_of_a_place(client: LocalClient, place: str, zone: str) -> None:
    answer = client.request("GET", f"/playground/zone.json?{place}")
    assert answer.json() == {"zone": zone}
    assert client.request("GET", "/playground/zone.json?lat=99&lng=1").status_code == 400
    assert client.request("GET", "/playground/zone.json").status_code == 400
