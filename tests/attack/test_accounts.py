"""Accounts of others: finding out about them, taking them over, locking them out."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pyotp
import pytest
from sqlalchemy import select

from mapyard.accounts import privacy, registry, second_factor
from mapyard.accounts.database import Database
from mapyard.accounts.models import AuditEntry
from mapyard.accounts.open import open_accounts
from mapyard.accounts.passwords import hash_password
from mapyard.server.local import LocalClient
from mapyard.web.outbox import Outbox, get_outbox
from visitors import PASSWORD, MailServer, Visitor, serving

ME = "me@example.org"


@pytest.fixture
def mail() -> Iterator[MailServer]:
    mail = MailServer(delay_s=0.6)  # as slow as real ones
    yield mail
    mail.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    registry.create_account(database, ME, password_hash=hash_password(PASSWORD, ME), verified_at=1)
    yield database
    database.close()


@pytest.fixture
def client(tmp_path: Path, database: Database, mail: MailServer) -> Iterator[LocalClient]:
    with serving(
        tmp_path, signup="open", smtp_url=mail.url, public_url="http://maps.example.org"
    ) as client:
        yield client


@pytest.mark.parametrize("path", ["/forgot", "/sign-up"])
def test_forms_do_not_tell_who_has_an_account(client: LocalClient, path: str) -> None:
    visitor = Visitor(client)
    answers, took_s = {}, {ME: [], "nobody@example.org": []}
    for i in range(12):
        for email in took_s:
            begin = time.perf_counter()
            answer = visitor.post(path, email=email)
            if i:
                took_s[email].append(time.perf_counter() - begin)
            body = answer.text.replace(email, "EMAIL")
            answers[email] = (answer.status_code, answer.headers.get("location"), len(body))
    assert answers[ME] == answers["nobody@example.org"]
    known, unknown = (statistics.median(times) for times in took_s.values())
    assert abs(known - unknown) < 0.15, took_s  # the mail alone takes 600 ms
    assert known < 0.5, took_s


def test_sign_in_tells_neither(client: LocalClient) -> None:
    visitor = Visitor(client)
    known = visitor.sign_in(ME, "wrong password")
    unknown = visitor.sign_in("nobody@example.org", "wrong password")
    assert known.status_code == unknown.status_code == 401
    assert known.text.replace(ME, "") == unknown.text.replace("nobody@example.org", "")


def test_mailed_links_never_name_the_host_of_the_request(
    client: LocalClient, mail: MailServer
) -> None:
    visitor = Visitor(client)
    token = visitor.get("/forgot").text.partition('name="form_token" value="')[2].partition('"')[0]
    form = {"email": ME, "form_token": token}
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    assert visitor.ask("POST", "/forgot", form, **evil).status_code == 303
    (text,) = mail.wait_for(1)
    assert "evil.example" not in text
    assert "http://maps.example.org/reset?token=" in text


def test_without_a_public_address_nothing_is_mailed(
    tmp_path: Path, database: Database, mail: MailServer
) -> None:
    boss = registry.create_account(
        database, "boss@example.org", "enterprise", operator=True,
        password_hash=hash_password(PASSWORD, "boss@example.org"),
    )  # fmt: skip
    assert boss.is_operator
    with serving(tmp_path, smtp_url=mail.url) as client:
        visitor = Visitor(client)
        assert visitor.post("/forgot", email=ME).headers["location"].endswith("done=asked")
        assert get_outbox(client.application.services).wait()
        operator = Visitor(client)
        operator.sign_in("boss@example.org")
        page = operator.get("/operator/links").text
        assert "MAPYARD_PUBLIC_URL" in page
        assert ME in page  # asked for: the operator hands the link out
    assert mail.mails == []


def test_nobody_is_flooded_with_mail(client: LocalClient, mail: MailServer) -> None:
    for i in range(10):
        Visitor(client, f"198.51.100.{i}").post("/forgot", email=ME)
    assert get_outbox(client.application.services).wait(10)
    assert len(mail.mails) == 4


def test_the_outbox_is_bounded() -> None:
    outbox = Outbox(most_waiting=5)
    began = time.monotonic()
    taken = [outbox.put(lambda: time.sleep(0.05)) for _ in range(20)]
    assert time.monotonic() - began < 0.5
    assert taken.count(True) in (5, 6)
    assert outbox.wait()


def test_an_address_is_confirmed_by_its_owner_only(
    client: LocalClient, database: Database, mail: MailServer
) -> None:
    """A stranger's account with my address is not confirmed by my click."""
    victim = "victim@example.org"
    registry.create_account(database, victim, password_hash=hash_password(PASSWORD, victim))
    stranger = Visitor(client)
    stranger.sign_in(victim)
    stranger.post("/account/profile/verify", "/account/profile")
    link = mail.wait_for(1)[0].partition("http://maps.example.org")[2].split()[0]
    me = Visitor(client)
    assert me.get(link).status_code == 303  # to the sign-in: the victim has no password
    me.sign_in(ME)
    assert me.post("/verify", link, token=link.partition("=")[2]).status_code == 403
    assert registry.get_account(database, victim).verified_at is None


def test_nobody_locks_another_out(client: LocalClient) -> None:
    """Many addresses fail on my account: I still come in, from a new browser of a new address."""
    for i in range(70):
        attacker = Visitor(client, f"198.51.{i}.7")
        assert attacker.sign_in(ME, "guess 1 guess").status_code == 401
        if i > 62:  # beyond the account's limit each address has one try
            assert attacker.sign_in(ME, "guess 2 guess").status_code == 429
    owner = Visitor(client, "203.0.113.77")
    assert owner.sign_in(ME).status_code == 303
    # And from the address of an attacker, in the browser that has signed in before.
    owner.address = "198.51.65.7"
    owner.post("/sign-out", "/account/keys")
    assert owner.sign_in(ME).status_code == 303
    assert Visitor(client, "198.51.65.7").sign_in(ME).status_code == 429


def test_failures_count_not_successes(client: LocalClient) -> None:
    for _ in range(15):
        assert Visitor(client).sign_in(ME).status_code == 303
    stranger = Visitor(client, "198.51.100.9")
    statuses = [stranger.sign_in(ME, f"wrong {i} wrong").status_code for i in range(9)]
    assert statuses == [401] * 8 + [429]


def test_a_device_cookie_is_of_one_account(client: LocalClient, database: Database) -> None:
    other = "other@example.org"
    registry.create_account(database, other, password_hash=hash_password(PASSWORD, other))
    visitor = Visitor(client)
    visitor.sign_in(other)
    cookie = visitor.cookies["mapyard_device"]
    for forged in (cookie, f"1.{cookie.partition('.')[2]}", "1.x.y", "1", ""):
        attacker = Visitor(client, "198.51.100.44")
        attacker.cookies["mapyard_device"] = forged
        last = [attacker.sign_in(ME, f"wrong {i}").status_code for i in range(3)][-1]
    assert last == 429  # all were counted together


def test_codes_of_the_second_factor(client: LocalClient, database: Database) -> None:
    account = registry.get_account(database, ME)
    secret = second_factor.begin_totp(database, account.id)
    totp, now_s = pyotp.TOTP(secret), time.time()
    codes = second_factor.confirm_totp(database, account.id, totp.at(now_s), actor=ME)
    stolen = Visitor(client, "198.51.100.9")
    assert stolen.sign_in(ME).headers["location"] == "/sign-in/code"
    assert stolen.get("/account/keys").status_code == 303  # the password alone opens nothing
    assert "mapyard_api" not in stolen.cookies
    # The code that switched it on was used; a code works once.
    assert stolen.post("/sign-in/code", code=totp.at(now_s)).status_code == 401
    following = totp.at(now_s + 30)
    assert stolen.post("/sign-in/code", code=following).status_code == 303
    assert stolen.get("/account/keys").status_code == 200
    again = Visitor(client, "198.51.100.10")
    again.sign_in(ME)
    assert again.post("/sign-in/code", code=following).status_code == 401
    # A recovery code works once, in any spelling.
    assert again.post("/sign-in/code", code=codes[0].upper().replace("-", " ")).status_code == 303
    third = Visitor(client, "198.51.100.11")
    third.sign_in(ME)
    statuses = [third.post("/sign-in/code", code=codes[0]).status_code for _ in range(9)]
    assert statuses == [401] * 8 + [429]
    assert second_factor.count_codes(database, account.id) == 9


def test_a_forged_step_is_worth_nothing(client: LocalClient) -> None:
    visitor = Visitor(client)
    for value in ("", "x", "eyJ9.abc", "W10.", "....", "a" * 3_000):
        visitor.cookies["mapyard_pending"] = value
        assert visitor.get("/sign-in/code").headers["location"] == "/sign-in"


def test_ending_one_session(client: LocalClient, database: Database) -> None:
    here, there = Visitor(client), Visitor(client, "198.51.100.3")
    here.sign_in(ME)
    there.sign_in(ME)
    names = [
        part.partition('"')[0]
        for part in here.get("/account/profile").text.split('name="session" value="')[1:]
    ]
    assert len(names) == 2
    other = Visitor(client)
    registry.create_account(
        database, "b@example.org", password_hash=hash_password(PASSWORD, "b@example.org")
    )
    other.sign_in("b@example.org")
    path = "/account/profile/sessions/end"
    assert other.post(path, "/account/profile", session=names[0]).status_code == 400  # not its own
    for name in names:
        if here.get("/account/keys").status_code == 200:
            here.post(path, "/account/profile", session=name)
    states = {v.get("/account/keys").status_code for v in (here, there)}
    assert 303 in states


def test_plans_are_changed_after_a_question(client: LocalClient, database: Database) -> None:
    visitor = Visitor(client)
    visitor.sign_in(ME)
    asked = visitor.post("/account/plan", plan="pro-1m")
    assert asked.status_code == 200
    for word in ("$500.00 a month", "Date:", "Price:", "Proration:"):
        assert word in asked.text
    assert registry.get_account(database, ME).plan == "free"
    other = visitor.post("/account/plan", plan="pro-1m", confirmed="pro-100k")
    assert other.status_code == 200
    assert registry.get_account(database, ME).plan == "free"
    assert visitor.post("/account/plan", plan="pro-1m", confirmed="pro-1m").status_code == 303
    assert registry.get_account(database, ME).plan == "pro-1m"


def test_the_export_has_all_but_secrets(client: LocalClient, database: Database) -> None:
    account = registry.get_account(database, ME)
    _, key = registry.create_key(database, account.id, name="web shop")
    secret = second_factor.begin_totp(database, account.id)
    visitor = Visitor(client)
    visitor.sign_in(ME)
    answer = visitor.post("/account/profile/export", "/account/profile")
    document = answer.json()
    assert document["account"]["email"] == ME
    assert document["keys"][0]["name"] == "web shop"
    assert document["sessions"][0]["address"] == "203.0.113.5"
    for hidden in (key, secret, "argon2", *visitor.cookies.values()):
        assert hidden not in answer.text


def test_a_deleted_account_leaves_no_person(client: LocalClient, database: Database) -> None:
    account = registry.get_account(database, ME)
    _, key = registry.create_key(database, account.id, name="Ms. Example's shop", actor=ME)
    visitor = Visitor(client)
    visitor.sign_in(ME)
    path = "/account/profile/delete"
    assert visitor.post(path, email=ME, password="wrong").status_code == 403
    assert visitor.post(path, email="x@example.org", password=PASSWORD).status_code == 400
    assert visitor.post(path, email=ME, password=PASSWORD).status_code == 303
    assert visitor.get("/account/keys").status_code == 303
    assert Visitor(client).sign_in(ME).status_code == 401
    answer = Visitor(client).ask("GET", "/api/v1/geocode", **{"X-API-Key": key})
    assert answer.json()["error"]["code"] == "revoked_key"
    everything = str(privacy.export_account(database, account.id))
    with database.read() as session:
        entries = session.scalars(select(AuditEntry)).all()
    everything += str([(entry.actor, entry.details, entry.address) for entry in entries])
    for trace in (ME, "Ms. Example", "203.0.113.5"):
        assert trace not in everything
    registry.create_account(database, ME)  # the address is free again


def test_the_last_operator_stays(database: Database) -> None:
    boss = registry.create_account(database, "boss@example.org", operator=True)
    with pytest.raises(registry.Conflict, match="only operator"):
        privacy.delete_account(database, boss.id)


def test_every_change_is_in_the_log(client: LocalClient, database: Database) -> None:
    visitor = Visitor(client)
    visitor.sign_in(ME)
    visitor.post("/account/keys", environment="live", name="a", life="30")
    key = registry.list_keys(database, registry.get_account(database, ME).id)[0]
    visitor.post(f"/account/keys/{key.id}", life="keep", networks="192.0.2.0/24")
    visitor.post("/account/keys/revoke", "/account/keys", key=str(key.id))
    visitor.post("/account/plan", plan="pro-100k", confirmed="pro-100k")
    visitor.post("/account/profile/sessions", "/account/profile")
    visitor.post("/account/profile/export", "/account/profile")
    visitor.post("/account/profile", old_password=PASSWORD, password="another good one")
    with database.read() as session:
        entries = {e.action: e for e in session.scalars(select(AuditEntry))}
    for action in (
        "sign-in", "key.create", "key.change", "key.revoke", "account.plan", "session.end-all",
        "account.export", "password.change",
    ):  # fmt: skip
        assert entries[action].address == "203.0.113.5", action
        assert entries[action].actor == ME
    assert entries["key.change"].details["restrictions"] == "from 192.0.2.0/24"
