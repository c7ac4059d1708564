"""The dashboard as people use it: in a browser, and by forms that should be refused."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import httpx
import pyotp
import pytest

from browser import DESKTOP, PHONE, Browser
from mapyard.accounts import registry
from mapyard.accounts.database import Database, open_database
from mapyard.accounts.open import open_accounts
from mapyard.accounts.passwords import hash_password
from mapyard.accounts.restrictions import make_restrictions
from mapyard.accounts.sessions import start_session
from mapyard.builder.progress import Reporter
from mapyard.dataset.catalog import Catalog
from mapyard.updates.history import Run, add_run, log_path
from servers import METRICS_TOKEN, running

pytestmark = pytest.mark.xdist_group("dashboard")


class Server(NamedTuple):
    """Where the running server is, and its data folder."""

    url: str
    data: Path


PASSWORD = "correct horse battery"
OPERATOR = "operator@example.org"


@pytest.fixture(scope="module")
def server(monaco_copy: Path) -> Iterator[Server]:
    database = open_accounts(monaco_copy)
    registry.create_account(
        database,
        OPERATOR,
        "enterprise",
        operator=True,
        password_hash=hash_password(PASSWORD, OPERATOR),
    )
    database.close()
    log = monaco_copy.parent / "serve.log"
    with running(monaco_copy, log, workers=2, MAPYARD_SIGNUP="open") as started:
        yield Server(started.address, monaco_copy)


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    database = open_database(server.data)
    yield database
    database.close()


_clients: list[httpx.Client] = []


@pytest.fixture(autouse=True)
def close_clients() -> Iterator[None]:
    yield
    while _clients:
        _clients.pop().close()


def visitor_of(server: Server) -> httpx.Client:
    """Return a new browser without cookies; it is closed when the test ends."""
    _clients.append(httpx.Client(base_url=server.url, timeout=30))
    return _clients[-1]


class FormToken(HTMLParser):
    value = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = dict(attrs)
        if tag == "input" and fields.get("name") == "form_token":
            self.value = fields.get("value") or ""


def form_token(client: httpx.Client, path: str) -> str:
    parser = FormToken()
    parser.feed(client.get(path).text)
    assert parser.value
    return parser.value


def post(client: httpx.Client, path: str, page: str = "", **fields: str) -> httpx.Response:
    fields["form_token"] = form_token(client, page or path)
    return client.post(path, data=fields)


def sign_in(server: Server, email: str = OPERATOR) -> httpx.Client:
    """Return a browser with a session, begun without the form, which may be used so often only."""
    database = open_database(server.data)
    account = registry.get_account(database, email)
    client = visitor_of(server)
    client.cookies.set("mapyard_session", start_session(database, account.id, "test"))
    database.close()
    return client


def sign_up(server: Server, email: str) -> tuple[httpx.Client, str]:
    client = visitor_of(server)
    answer = post(client, "/sign-up", email=email, password=PASSWORD)
    assert answer.status_code == 200, answer.text
    return client, find_key(answer.text)


def find_key(text: str) -> str:
    found = re.search(r"pk_(?:live|test)_[0-9A-Za-z]{38}", text)
    assert found is not None
    return found[0]


def ask(server: Server, key: str, path: str = "/api/v1/search?q=casino") -> httpx.Response:
    return httpx.get(server.url + path, headers={"X-API-Key": key}, timeout=30)


def test_from_sign_up_to_revoked_key_in_a_browser(server: Server, browser: Browser) -> None:
    browser.open(f"{server.url}/sign-up")
    browser.fill("#email", "anna@example.org")
    browser.fill("#password", PASSWORD)
    browser.submit("main form button")
    key = find_key(browser.evaluate("document.querySelector('#secret').value"))
    assert ask(server, key).status_code == 200
    assert ask(server, key, "/api/v1/features/node/1").status_code == 404

    browser.submit("main a.button")
    assert browser.url == f"{server.url}/account/keys"
    assert key[-4:] in browser.text("main")
    assert key not in browser.evaluate("document.documentElement.outerHTML")

    for _ in range(50):  # the ledger is entered every two seconds
        browser.open(f"{server.url}/account/usage")
        text = browser.text("main")
        if "/api/v1/search" in text and "not_found" in text:  # each may be entered by itself
            break
        time.sleep(0.1)
    assert "/api/v1/search" in text
    assert "not_found" in text
    assert "2 of 500 requests used, 498 left" in " ".join(text.split())

    browser.open(f"{server.url}/account/keys")
    browser.click("details.confirm summary")
    browser.submit("details.confirm button")
    revoked_s = time.monotonic()
    assert "revoked" in browser.text("[role=status]")
    while (answer := ask(server, key)).status_code == 200:
        assert time.monotonic() - revoked_s < 2
        time.sleep(0.05)
    assert answer.json()["error"]["code"] == "revoked_key"
    assert browser.errors == []


def test_the_copy_button_copies(server: Server, browser: Browser) -> None:
    client = sign_in(server)
    token = client.cookies["mapyard_session"]
    browser.page.context.add_cookies(
        [{"name": "mapyard_session", "value": token, "url": server.url}]
    )
    browser.open(f"{server.url}/account/keys")
    browser.submit("main form[action='/account/keys'] button")
    key = browser.evaluate("document.querySelector('#secret').value")
    browser.click("[data-copy]")
    time.sleep(0.2)
    assert browser.text("[data-copy]") == "Copied"
    assert browser.evaluate("getSelection().toString() || document.activeElement.value") == key
    browser.open(f"{server.url}/account/keys")
    browser.click("details.confirm summary")
    browser.submit("details.confirm button")


def test_three_keys_and_no_fourth(server: Server) -> None:
    client, _ = sign_up(server, "three@example.org")
    for name in ("second", "third"):
        answer = post(client, "/account/keys", environment="test", name=name)
        assert find_key(answer.text).startswith("pk_test_")
        assert answer.headers["cache-control"] == "no-store"
    page = client.get("/account/keys").text
    assert "3 of 3 active" in page
    assert 'action="/account/keys"' not in page
    fields = {"form_token": form_token(client, "/account/keys"), "environment": "live"}
    answer = client.post("/account/keys", data=fields)
    assert answer.status_code == 422
    assert "3 active keys" in answer.text


def test_a_used_up_quota_says_so(server: Server, database: Database) -> None:
    client, key = sign_up(server, "quota@example.org")
    account = registry.get_account(database, "quota@example.org")
    registry.change_account(
        database, account.id, action="account.limits", per_minute_override=10_000
    )
    time.sleep(0.6)
    with httpx.Client(base_url=server.url, headers={"X-API-Key": key}) as api:
        for _ in range(500):
            assert api.get("/api/v1/features/node/1").status_code == 404
        denied = api.get("/api/v1/features/node/1")
    assert denied.status_code == 429
    assert denied.json()["error"]["code"] == "daily_limit_exceeded"
    assert denied.headers["x-should-retry"] == "false"
    assert denied.headers["x-ratelimit-limit"] == "10000"
    time.sleep(3)
    page = client.get("/account/usage").text
    assert "<b>500</b> of 500 requests used, 0 left" in page
    assert "daily_limit_exceeded" in page


def test_forms_of_other_sites_are_refused(server: Server) -> None:
    client = sign_in(server)
    token = form_token(client, "/account/keys")
    path, fields = "/account/keys", {"environment": "live", "form_token": token}
    foreign = {"Origin": "https://evil.example"}
    cross = {"Sec-Fetch-Site": "cross-site"}
    assert client.post(path, data={"environment": "live"}).status_code == 403
    assert client.post(path, data=fields | {"form_token": "x" * 32}).status_code == 403
    assert client.post(path, data=fields, headers=foreign).status_code == 403
    assert client.post(path, data=fields, headers=cross).status_code == 403
    # The token of another session is of no use.
    other = form_token(sign_in(server), "/account/keys")
    assert client.post(path, data=fields | {"form_token": other}).status_code == 403
    # Not even the sign-in form can be sent from elsewhere (login CSRF).
    visitor = visitor_of(server)
    form = {"email": OPERATOR, "password": PASSWORD, "form_token": ""}
    assert visitor.post("/sign-in", data=form).status_code == 403
    assert "mapyard_session" not in visitor.cookies


def test_a_session_cannot_be_fixed(server: Server) -> None:
    client = visitor_of(server)
    client.cookies.set("mapyard_session", "chosen-by-the-attacker", domain="127.0.0.1")
    assert client.get("/account/keys").status_code == 303
    post(client, "/sign-in", email=OPERATOR, password=PASSWORD)
    tokens = {cookie.value for cookie in client.cookies.jar if cookie.name == "mapyard_session"}
    tokens.discard("chosen-by-the-attacker")
    assert len(tokens) == 1
    assert httpx.get(
        f"{server.url}/account/keys", headers={"Cookie": "mapyard_session=chosen-by-the-attacker"}
    ).status_code == 303  # fmt: skip


def test_signing_out_ends_the_session_for_whoever_has_it(server: Server) -> None:
    client = visitor_of(server)
    post(client, "/sign-in", email=OPERATOR, password=PASSWORD)
    old = client.cookies["mapyard_session"]
    header = client.get("/account/keys").request.headers["cookie"]
    assert old in header
    assert post(client, "/sign-out", "/account/keys").status_code == 303
    stolen = httpx.get(f"{server.url}/account/keys", headers={"Cookie": f"mapyard_session={old}"})
    assert stolen.status_code == 303


def test_cookies_are_strict(server: Server) -> None:
    client = visitor_of(server)
    answer = post(client, "/sign-in", email=OPERATOR, password=PASSWORD)
    cookies = answer.headers.get_list("set-cookie")
    session = next(cookie for cookie in cookies if cookie.startswith("mapyard_session="))
    assert "HttpOnly" in session
    assert "SameSite=Lax" in session
    api = next(cookie for cookie in cookies if cookie.startswith("mapyard_api="))
    assert all(word in api for word in ("HttpOnly", "SameSite=Strict", "Path=/api"))
    page = client.get("/account/keys")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_pages_may_ask_the_api_for_their_account_only_from_here(server: Server) -> None:
    client = visitor_of(server)
    post(client, "/sign-in", email=OPERATOR, password=PASSWORD)
    path = "/api/v1/features/node/1"
    cookie = "; ".join(f"{c.name}={c.value}" for c in client.cookies.jar)
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
    assert httpx.get(server.url + path, headers=headers).status_code == 404
    for site in ("cross-site", "same-site", "none"):
        headers["Sec-Fetch-Site"] = site
        assert httpx.get(server.url + path, headers=headers).status_code == 401
    forged = re.sub(r"mapyard_api=\d+", "mapyard_api=2", cookie)
    headers = {"Cookie": forged, "Sec-Fetch-Site": "same-origin"}
    assert httpx.get(server.url + path, headers=headers).status_code == 401


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example"])
def test_sign_in_leads_to_pages_of_ours_only(server: Server, target: str) -> None:
    client = visitor_of(server)
    answer = post(client, "/sign-in", email=OPERATOR, password=PASSWORD, next=target)
    assert answer.headers["location"] == "/account"


def test_accounts_see_only_their_own(server: Server, database: Database) -> None:
    client, _ = sign_up(server, "curious@example.org")
    operator = registry.get_account(database, OPERATOR)
    key, _ = registry.create_key(database, operator.id, name="not yours")
    for path in (
        "/operator/accounts",
        f"/operator/accounts/{operator.id}",
        "/operator/audit",
        "/operator/system",
        "/operator/links",
    ):
        assert client.get(path).status_code == 403
    answer = post(client, "/account/keys/revoke", "/account/keys", key=str(key.id))
    assert answer.status_code == 404
    assert registry.list_keys(database, operator.id)[-1].revoked_at is None
    assert post(client, "/account/plan", plan="enterprise").status_code == 403
    fields = {"plan": "pro-100k", "confirmed": "pro-100k"}
    assert post(client, "/account/plan", **fields).status_code == 303
    assert registry.get_account(database, "curious@example.org").plan == "pro-100k"
    registry.revoke_key(database, operator.id, key.id)


def test_an_operator_suspends_and_hands_out_links(server: Server) -> None:
    client, key = sign_up(server, "bad@example.org")
    operator = sign_in(server)
    found = re.search(r"/operator/accounts/(\d+)", operator.get("/operator/accounts?q=bad@").text)
    assert found is not None
    path = found[0]
    assert post(operator, path, action="suspend", reason="abuse").status_code == 303
    suspended_s = time.monotonic()
    while ask(server, key).status_code == 200:
        assert time.monotonic() - suspended_s < 2
    assert ask(server, key).json()["error"]["code"] == "account_suspended"
    assert client.get("/account/keys").status_code == 303
    assert post(operator, path, action="resume").status_code == 303
    post(operator, path, plan="free", per_minute="25", month_units="")
    assert post(operator, path, plan="free", per_minute="many").status_code == 400
    time.sleep(0.6)
    assert ask(server, key).headers["x-ratelimit-limit"] == "25"

    page = post(operator, f"{path}/link", path).text
    link = re.search(r"http://[^\"]*/reset\?token=[\w-]+", page)
    assert link is not None
    visitor = visitor_of(server)
    link_path = link[0].removeprefix(server.url)
    token = link_path.partition("token=")[2]
    too_short = post(visitor, "/reset", link_path, token=token, password="short")
    assert too_short.status_code == 400
    new = "another long password"
    assert post(visitor, "/reset", link_path, token=token, password=new).status_code == 303
    assert visitor.get(link_path).status_code == 400  # once only
    assert post(visitor, "/sign-in", email="bad@example.org", password=PASSWORD).status_code == 401
    assert post(visitor, "/sign-in", email="bad@example.org", password=new).status_code == 303
    log = operator.get("/operator/audit").text
    for action in ("account.suspend", "account.resume", "link.reset", "password.reset"):
        assert action in log
    assert token not in log


def test_an_invitation_brings_its_plan(server: Server) -> None:
    operator = sign_in(server)
    page = post(operator, "/operator/links", email="guest@example.org", plan="pro-1m").text
    link = re.search(r"/sign-up\?token=([\w-]+)", page)
    assert link is not None
    visitor = visitor_of(server)
    answer = post(
        visitor, "/sign-up", link[0], token=link[1], password=PASSWORD, email="else@example.org"
    )
    assert ask(server, find_key(answer.text)).headers["x-ratelimit-limit"] == "2000"
    assert "guest@example.org" in visitor.get("/account/profile").text


def test_a_new_password_ends_the_other_sessions(server: Server) -> None:
    client, _ = sign_up(server, "two@example.org")
    other = sign_in(server, "two@example.org")
    path, new = "/account/profile", "yet another password"
    wrong = post(client, path, old_password="no", password=new)
    assert wrong.status_code == 403
    assert post(client, path, old_password=PASSWORD, password=new).status_code == 303
    assert client.get(path).status_code == 200
    assert other.get(path).status_code == 303


def test_csv_and_statements(server: Server) -> None:
    client, key = sign_up(server, "csv@example.org")
    ask(server, key)
    time.sleep(3)
    lines = client.get("/account/usage.csv").text.splitlines()
    assert lines[0].startswith("day,endpoint,key,key_name,status")
    assert "/api/v1/search" in lines[1]
    month = time.strftime("%Y-%m", time.gmtime())
    statement = client.get(f"/account/statements/{month}.json").json()
    assert (statement["standard_requests"], statement["total_micro_usd"]) == (1, 0)
    assert client.get(f"/account/statements/{month}").status_code == 200
    assert client.get("/account/statements/2999-01").status_code == 404
    assert client.get("/account/statements/nonsense").status_code == 400


def test_limits_are_published(server: Server) -> None:
    limits = httpx.get(f"{server.url}/limits").json()
    free = limits["plans"][0]
    assert (free["per_minute"], free["day_standard_units"], free["usd_per_month"]) == (10, 500, 0)
    assert limits["overage_usd_per_1000"] == {"standard": 0.5, "premium": 1.5}


PUBLIC = ("/welcome", "/pricing", "/status", "/attribution", "/sign-in", "/sign-up", "/forgot")
PRIVATE = (
    "/account/keys", "/account/usage", "/account/plan", "/account/profile",
    "/account/profile/factor", "/account/profile/delete",
    f"/account/statements/{time.strftime('%Y-%m', time.gmtime())}",
    "/operator/accounts", "/operator/accounts/1", "/operator/links", "/operator/audit",
    "/operator/system", "/operator/requests", "/operator/settings",
)  # fmt: skip


def test_all_pages_fit_and_are_accessible(
    server: Server, database: Database, browser: Browser, axe: str
) -> None:
    faults = []
    operator = registry.get_account(database, OPERATOR)
    for held in registry.list_keys(database, operator.id):
        if held.revoked_at is None:
            registry.revoke_key(database, operator.id, held.id)
    key, _ = registry.create_key(
        database, operator.id, name="for one shop", expires_at=int(time.time()) + 86_400,
        restrictions=make_restrictions(
            endpoints=["geocoding"], networks=["203.0.113.0/24"], origins=["https://example.org"]
        ),
    )  # fmt: skip

    def look(path: str) -> None:
        for scheme, size in (("light", DESKTOP), ("dark", PHONE)):
            browser.prefer(scheme)
            browser.resize(*size)
            browser.open(server.url + path)
            if browser.evaluate("document.documentElement.scrollWidth") > size[0]:
                faults.append((path, size, "wider than the window"))
            browser.evaluate(axe + "; 0")
            faults.extend(
                (path, scheme, size, *violation)
                for violation in browser.evaluate(
                    "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations"
                    ".map(v => [v.id, v.impact, v.nodes[0].html]))"
                )
                if violation[1] in ("serious", "critical")
            )

    for path in PUBLIC:
        look(path)
    browser.open(f"{server.url}/sign-in")
    browser.fill("#email", OPERATOR)
    browser.fill("#password", PASSWORD)
    browser.submit("main form button")
    dataset = Catalog(server.data).find_current()
    run = Run("2026-04-06T00:00:00Z", 2.5, "updated", dataset or "", message="stopped before a gap")
    with Reporter(quiet=True).log_to(log_path(server.data, run)):
        add_run(server.data, run)
    for path in (
        *PRIVATE,
        f"/account/keys/{key.id}",
        f"/operator/system/datasets/{dataset}",
        f"/operator/system/updates/{run.log_name}",
    ):
        look(path)
    guest = registry.create_account(database, "looked-at@example.org", verified_at=1)
    browser.open(f"{server.url}/operator/accounts/{guest.id}")
    browser.submit("text=See its pages")
    for path in ("/account/usage", "/account/keys", "/account/plan"):
        look(path)
        assert "You see the pages of looked-at@example.org" in browser.evaluate(
            "document.querySelector('main').innerText"
        )
    browser.submit("text=Back to operating")
    assert faults == []
    assert browser.errors == []


def test_a_second_factor_and_a_passkey_in_a_browser(server: Server, browser: Browser) -> None:
    address = server.url.replace("127.0.0.1", "localhost")  # passkeys need a name
    page = browser.page
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
        "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    browser.open(f"{address}/sign-up")
    browser.fill("#email", "factor@example.org")
    browser.fill("#password", PASSWORD)
    browser.submit("main form button")

    browser.open(f"{address}/account/profile/factor")
    secret = browser.text(".steps .mono").replace(" ", "")
    assert browser.evaluate("document.querySelector('.qr svg').clientWidth") > 150
    browser.fill("#code", pyotp.TOTP(secret).now())
    browser.fill("#password", PASSWORD)
    browser.submit(".steps button")
    codes = browser.text(".codes").split()
    assert len(codes) == 10

    browser.open(f"{address}/account/profile")
    browser.click("text=Add a passkey")
    browser.fill("#passkey-name", "Laptop")
    browser.fill("#passkey-password", PASSWORD)
    browser.submit("form[data-passkey] button")
    assert "Laptop" in browser.text("main")
    browser.submit("header form button")

    browser.fill("#email", "factor@example.org")
    browser.fill("#password", PASSWORD)
    browser.submit("main form button")
    assert browser.url == f"{address}/sign-in/code"
    browser.fill("#code", codes[3])
    browser.submit("main form button")
    assert browser.url == f"{address}/account/keys"
    browser.submit("header form button")

    browser.submit("form[data-passkey=use] button")  # neither password nor code
    assert browser.url == f"{address}/account/keys"
    assert browser.errors == []


def test_guessing_passwords_is_slowed_down(server: Server) -> None:
    client = visitor_of(server)
    sign_up(server, "victim@example.org")
    statuses = [
        post(client, "/sign-in", email="victim@example.org", password=f"wrong {i}").status_code
        for i in range(9)
    ]
    assert statuses[:8] == [401] * 8
    assert statuses[8] == 429
    # The right one does not help now, whoever sends it.
    answer = post(client, "/sign-in", email="Victim@example.org", password=PASSWORD)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


def test_no_secret_in_logs_metrics_and_pages(server: Server, database: Database) -> None:
    client, key = sign_up(server, "secret@example.org")
    ask(server, key)
    ask(server, "nothing", f"/api/v1/search?q=x&api_key={key}")
    time.sleep(3)
    needle = key.removeprefix("pk_live_")[:16]
    pages = [client.get(path).text for path in ("/account/keys", "/account/usage")]
    headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
    metrics = httpx.get(f"{server.url}/metrics", headers=headers).text
    assert "mapyard_http_requests_in_flight" in metrics
    assert needle not in metrics
    assert not [page for page in pages if needle in page]
    everything = [path for path in server.data.parent.rglob("*") if path.is_file()]
    assert any(path.name == "serve.access" for path in everything)
    found = [path.name for path in everything if needle.encode() in path.read_bytes()]
    assert found == []
    with_password = [path.name for path in everything if PASSWORD.encode() in path.read_bytes()]
    assert with_password == []
