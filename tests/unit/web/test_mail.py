"""Confirmed addresses and forgotten passwords, with a mail server of our own on loopback."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from mapyard.accounts import registry
from mapyard.accounts.database import Database
from mapyard.accounts.open import open_accounts
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from mapyard.web.mail import send_mail

PASSWORD = "correct horse battery"


class MailServer:
    """Takes every mail."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        mails = self.mails

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.say("220 here")
                while line := self.rfile.readline().decode().strip():
                    word = line[:4].upper()
                    if word == "DATA":
                        self.say("354 go on")
                        mails.append(self.read_mail())
                    self.say("221 bye" if word == "QUIT" else "250 fine")

            def read_mail(self) -> str:
                lines = []
                while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
                    lines.append(line)
                return "\n".join(lines)

            def say(self, line: str) -> None:
                self.wfile.write(line.encode() + b"\r\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.url = f"smtp://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


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


class Visitor:
    """A browser with cookies and forms, against an application in this process."""

    def __init__(self, client: LocalClient) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> httpx.Response:
        headers = {"Cookie": "; ".join(f"{n}={v}" for n, v in self.cookies.items())}
        content = urlencode(form or {}).encode()
        answer = self.client.request(method, path, headers=headers, content=content)
        for cookie in answer.headers.get_list("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def post(self, path: str, page: str = "", **form: str) -> httpx.Response:
        found = re.search(r'name="form_token" value="([^"]+)"', self.ask("GET", page or path).text)
        assert found is not None
        return self.ask("POST", path, {"form_token": found[1], **form})


@pytest.fixture
def visitor(tmp_path: Path, database: Database, mail: MailServer) -> Iterator[Visitor]:
    settings = Settings(data=tmp_path, signup="open", smtp_url=mail.url, public_url="http://maps")
    with LocalClient(settings, with_keys=True) as client:
        yield Visitor(client)
        services = client.application.services
        assert services.accounts is not None
        assert services.database is not None
        services.accounts.close()
        services.database.close()


def find_link(mail: str, path: str) -> str:
    found = re.search(rf"http://maps({path}\?token=[\w-]+)", mail)
    assert found is not None, mail
    return found[1]


def test_sign_up_mails_a_link_that_confirms(
    visitor: Visitor, mail: MailServer, database: Database
) -> None:
    assert visitor.post("/sign-up", email="me@example.org", password=PASSWORD).status_code == 200
    assert "To: me@example.org" in mail.mails[0]
    link = find_link(mail.mails[0], "/verify")
    assert registry.get_account(database, "me@example.org").verified_at is None
    assert visitor.ask("GET", link).status_code == 200  # a mail program that looks changes nothing
    assert registry.get_account(database, "me@example.org").verified_at is None
    token = link.partition("=")[2]
    assert visitor.post("/verify", link, token=token).status_code == 303
    assert registry.get_account(database, "me@example.org").verified_at is not None
    assert visitor.ask("GET", link).status_code == 400


def test_a_forgotten_password(visitor: Visitor, mail: MailServer, database: Database) -> None:
    visitor.post("/sign-up", email="me@example.org", password=PASSWORD)
    other = Visitor(visitor.client)
    known = other.post("/forgot", email="me@example.org")
    unknown = other.post("/forgot", email="nobody@example.org")
    # Who asks does not learn whether there is an account.
    assert (known.status_code, known.headers["location"]) == (
        unknown.status_code, unknown.headers["location"],
    )  # fmt: skip
    assert len(mail.mails) == 2
    link = find_link(mail.mails[1], "/reset")
    token = link.partition("=")[2]
    assert other.post("/reset", link, token=token, password="a new password").status_code == 303
    assert visitor.ask("GET", "/account/keys").status_code == 303  # the old session has ended
    signed_in = other.post("/sign-in", email="me@example.org", password="a new password")
    assert signed_in.headers["location"] == "/account"


def test_a_second_account_of_an_address(visitor: Visitor) -> None:
    visitor.post("/sign-up", email="me@example.org", password=PASSWORD)
    other = Visitor(visitor.client)
    answer = other.post("/sign-up", email="ME@example.org", password=PASSWORD)
    assert answer.status_code == 400
    assert "exists" in answer.text


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaa", "me@example.org"])
def test_passwords_that_are_easy_to_guess(visitor: Visitor, password: str) -> None:
    answer = visitor.post("/sign-up", email="me@example.org", password=password)
    assert answer.status_code == 400
    assert "password" in answer.text


def test_what_people_enter_is_only_text(visitor: Visitor) -> None:
    visitor.post("/sign-up", email="me@example.org", password=PASSWORD)
    evil = "<script>alert(1)</script>"
    page = visitor.post("/account/keys", environment="live", name=evil).text
    assert evil not in page
    assert "&lt;script&gt;" in page
    assert visitor.ask("GET", f"/sign-in?done={evil}").status_code == 303
    huge = visitor.post("/account/keys", environment="live", name="x" * 70_000)
    assert huge.status_code == 413


def test_a_mail_server_that_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(data=tmp_path, smtp_url="smtp://127.0.0.1:1")
    assert not send_mail(settings, "me@example.org", "Subject", "the secret link")
    assert "was not sent" in caplog.text
    assert "secret" not in caplog.text
