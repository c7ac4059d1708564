"""Visitors of the web pages of an application in this process, and a server that keeps mail."""

from __future__ import annotations

import contextlib
import email
import email.policy
import re
import socketserver
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

from mapyard.accounts.open import open_accounts
from mapyard.server.local import LocalClient
from mapyard.settings import Settings

PASSWORD = "correct horse battery"


class MailServer:
    """Takes every mail; `delay_s` makes it slow."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.mails: list[str] = []
        mails = self.mails

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                time.sleep(delay_s)
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
                mail = email.message_from_string("\n".join(lines), policy=email.policy.default)
                return f"To: {mail['To']}\nSubject: {mail['Subject']}\n\n{mail.get_content()}"

            def say(self, line: str) -> None:
                self.wfile.write(line.encode() + b"\r\n")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"smtp://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait_for(self, count: int, timeout_s: float = 10.0) -> list[str]:
        """Return the mails once there are so many: they are sent in the background."""
        ends_s = time.monotonic() + timeout_s
        while len(self.mails) < count:
            assert time.monotonic() < ends_s, self.mails
            time.sleep(0.01)
        return self.mails

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Visitor:
    """A browser with cookies and forms, of one address."""

    def __init__(self, client: LocalClient, address: str = "203.0.113.5") -> None:
        self.client = client
        self.address = address
        self.cookies: dict[str, str] = {}

    def ask(
        self, method: str, path: str, form: dict[str, str] | None = None, **headers: str
    ) -> httpx.Response:
        """Ask, with the cookies held, and keep those that come."""
        headers["Cookie"] = "; ".join(f"{n}={v}" for n, v in self.cookies.items())
        content = urlencode(form or {}).encode()
        self.client._client._transport.client = (self.address, 1)  # type: ignore[attr-defined]
        answer = self.client.request(method, path, headers=headers, content=content)
        for cookie in answer.headers.get_list("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            if "Max-Age=0" in cookie:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def get(self, path: str) -> httpx.Response:
        """Open a page."""
        return self.ask("GET", path)

    def post(self, path: str, page: str = "", **form: str) -> httpx.Response:
        """Send a form of a page."""
        found = re.search(r'name="form_token" value="([^"]+)"', self.get(page or path).text)
        assert found is not None
        return self.ask("POST", path, {"form_token": found[1], **form})

    def sign_in(self, email: str, password: str = PASSWORD) -> httpx.Response:
        """Send the form."""
        return self.post("/sign-in", email=email, password=password)


@contextlib.contextmanager
def serving(data: Path, **settings: Any) -> Iterator[LocalClient]:
    """Run the application with accounts in a data folder."""
    open_accounts(data).close()
    settings.setdefault("pages_per_minute", 0)
    with LocalClient(Settings(data=data, **settings), with_keys=True) as client:
        yield client
        services = client.application.services
        assert services.accounts is not None
        assert services.database is not None
        services.accounts.close()
        services.database.close()


def find_link(mail: str, path: str) -> str:
    """Return path and query of the link in a mail."""
    found = re.search(rf"https?://[^/\s]+({re.escape(path)}\?token=[\w-]+)", mail)
    assert found is not None, mail
    return found[1]
