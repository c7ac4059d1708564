"""Confirmed addresses and forgotten passwords, with a mail server of our own on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.open import open_accounts
from mapyard.accounts.passwords import hash_password
from mapyard.settings import Settings
from mapyard.web.mail import send_mail
from visitors import PASSWORD, MailServer, Visitor, find_link, serving


@pytest.fixture
def mail() -> Iterator[MailServer]:
    mail = MailServer()
    yield mail
    mail.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    yield database
    database.close()


@pytest.fixture
def visitor(tmp_path: Path, database: Database, mail: MailServer) -> Iterator[Visitor]:
    with serving(tmp_path, signup="open", smtp_url=mail.url, public_url="http://maps") as client:
        yield Visitor(client)


@pytest.fixture
def known(visitor: Visitor, database: Database) -> Visitor:
    """A visitor who is signed in as me@example.org."""
    registry.create_account(
        database, "me@example.org", password_hash=hash_password(PASSWORD, "me@example.org")
    )
    assert visitor.sign_in("me@example.org").status_code == 303
    return visitor


def test_sign_up_begins_with_the_address(
    visitor: Visitor, mail: MailServer, database: Database
) -> None:
    sent = visitor.post("/sign-up", email="Me@example.org")
    assert sent.status_code == 200
    assert "me@example.org" in sent.text
    (text,) = mail.wait_for(1)
    assert "To: me@example.org" in text
    link = find_link(text, "/sign-up/confirm")
    assert registry.find_account(database, "me@example.org") is None  # nothing before the link
    assert "Choose a password" in visitor.get(link).text
    token = link.partition("=")[2]
    page = visitor.post("/sign-up/confirm", link, token=token, password="short")
    assert page.status_code == 400
    page = visitor.post("/sign-up/confirm", link, token=token, password=PASSWORD)
    assert "pk_live_" in page.text
    account = registry.get_account(database, "me@example.org")
    assert account.verified_at is not None
    assert len(registry.list_keys(database, account.id)) == 1
    assert visitor.get("/account/keys").status_code == 200
    assert visitor.get(link).status_code == 400  # once only


def test_a_forgotten_password(known: Visitor, mail: MailServer, database: Database) -> None:
    other = Visitor(known.client)
    other.post("/forgot", email="me@example.org")
    (text,) = mail.wait_for(1)
    link = find_link(text, "/reset")
    token = link.partition("=")[2]
    assert other.post("/reset", link, token=token, password="a new password").status_code == 303
    assert known.get("/account/keys").status_code == 303  # the old session has ended
    signed_in = other.sign_in("me@example.org", "a new password")
    assert signed_in.headers["location"] == "/account"
    assert registry.get_account(database, "me@example.org").verified_at is not None


def test_an_account_from_before_confirms_its_address(
    known: Visitor, mail: MailServer, database: Database
) -> None:
    refused = known.post("/account/keys", environment="live")
    assert refused.status_code == 403
    assert "Confirm your e-mail address first" in refused.text
    known.post("/account/profile/verify", "/account/profile")
    link = find_link(mail.wait_for(1)[0], "/verify")
    assert known.get(link).status_code == 200  # a mail program that looks changes nothing
    assert registry.get_account(database, "me@example.org").verified_at is None
    assert known.post("/verify", link, token=link.partition("=")[2]).status_code == 303
    assert registry.get_account(database, "me@example.org").verified_at is not None
    assert "pk_live_" in known.post("/account/keys", environment="live").text


def test_a_new_address(known: Visitor, mail: MailServer, database: Database) -> None:
    path = "/account/profile/address"
    wrong = known.post(path, "/account/profile", email="new@example.org", password="wrong")
    assert wrong.status_code == 403
    fields = {"email": "new@example.org", "password": PASSWORD}
    assert known.post(path, "/account/profile", **fields).status_code == 303
    text = mail.wait_for(1)[0]
    assert "To: new@example.org" in text
    assert registry.find_account(database, "new@example.org") is None
    link = find_link(text, f"{path}/confirm")
    token = link.partition("=")[2]
    # Who found the mail has no session: the link brings him to the sign-in, and back.
    stranger = Visitor(known.client)
    assert "next=/account/profile/address/confirm%3Ftoken" in stranger.get(link).headers["location"]
    assert known.post(f"{path}/confirm", link, token=token).status_code == 303
    assert registry.get_account(database, "new@example.org").verified_at is not None
    assert "To: me@example.org" in mail.wait_for(2)[1]  # the old one is told


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaa", "me@example.org"])
def test_passwords_that_are_easy_to_guess(tmp_path: Path, password: str) -> None:
    with serving(tmp_path, signup="open") as client:
        answer = Visitor(client).post("/sign-up", email="me@example.org", password=password)
        assert answer.status_code == 400
        assert "password" in answer.text


def test_what_people_enter_is_only_text(known: Visitor, database: Database) -> None:
    account = registry.get_account(database, "me@example.org")
    registry.change_account(database, account.id, action="test", verified_at=1)
    evil = "<script>alert(1)</script>"
    page = known.post("/account/keys", environment="live", name=evil).text
    assert evil not in page
    assert "&lt;script&gt;" in page
    assert known.get(f"/sign-in?done={evil}").status_code == 303
    huge = known.post("/account/keys", environment="live", name="x" * 70_000)
    assert huge.status_code == 413


def test_a_mail_server_that_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(data=tmp_path, smtp_url="smtp://127.0.0.1:1")
    assert not send_mail(settings, "me@example.org", "Subject", "the secret link")
    assert "was not sent" in caplog.text
    assert "secret" not in caplog.text
