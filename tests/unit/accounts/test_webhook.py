from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from mapyard.accounts import database as database_module
from mapyard.accounts import registry, uptime, webhook
from mapyard.accounts.database import Database
from mapyard.accounts.models import WebhookDelivery

SECRET = "a secret of the operator"


class Receiver:
    """A billing system on loopback that answers with `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.got: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/usage"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [int(dt.datetime(2026, 4, 20, tzinfo=dt.UTC).timestamp())]
    for module in (database_module, registry, webhook, uptime):
        monkeypatch.setattr(module, "now_s", lambda: now[0])
    return now


def set_time(clock: list[int], text: str) -> None:
    clock[0] = int(dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp())


def test_a_closed_month_is_sent_once_and_signed(
    database: Database, receiver: Receiver, clock: list[int]
) -> None:
    account = registry.create_account(database, "me@example.org", "pro-100k")
    assert webhook.deliver_due(database, receiver.url, SECRET) == 0  # April has not ended
    set_time(clock, "2026-05-01T00:10:00")
    assert webhook.deliver_due(database, receiver.url, SECRET) == 0  # its usage is still entered
    set_time(clock, "2026-05-01T00:15:00")
    assert webhook.deliver_due(database, receiver.url, SECRET) == 1
    assert webhook.deliver_due(database, receiver.url, SECRET) == 0
    headers, body = receiver.got[0]
    stamp, signature = (
        part.partition("=")[2] for part in headers["X-Mapyard-Signature"].split(",")
    )
    wanted = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert signature == wanted
    message = orjson.loads(body)
    assert message["id"] == f"usage-{account.id}-2026-04"
    assert message["data"]["plan_micro_usd"] == 50_000_000
    assert len(receiver.got) == 1


def test_a_receiver_that_fails_is_asked_again_later(
    database: Database, receiver: Receiver, clock: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    registry.create_account(database, "me@example.org")
    set_time(clock, "2026-05-02T00:00:00")
    receiver.status = 500
    for seconds, attempts in ((0, 1), (30, 1), (30, 2), (60, 2), (60, 3)):
        clock[0] += seconds
        assert webhook.deliver_due(database, receiver.url, SECRET) == 0
        assert len(receiver.got) == attempts
    with database.read() as session:
        row = session.scalars(select(WebhookDelivery)).one()
        assert (row.attempts, row.last_error, row.delivered_at) == (3, "HTTP 500", None)
    receiver.status = 204
    clock[0] += 600
    assert webhook.deliver_due(database, receiver.url, SECRET) == 1
    assert "HTTP 500" in caplog.text


def test_nobody_at_the_address(database: Database, clock: list[int]) -> None:
    registry.create_account(database, "me@example.org")
    set_time(clock, "2026-05-02T00:00:00")
    assert webhook.deliver_due(database, "http://127.0.0.1:1/", SECRET) == 0
    with database.read() as session:
        assert session.scalars(select(WebhookDelivery.last_error)).one() == "ConnectError"


def test_accounts_made_after_the_month_are_not_sent(
    database: Database, receiver: Receiver, clock: list[int]
) -> None:
    set_time(clock, "2026-05-01T00:20:00")
    registry.create_account(database, "late@example.org")
    assert webhook.deliver_due(database, receiver.url, SECRET) == 0
    assert receiver.got == []


def test_uptime_counts_minutes(database: Database, clock: list[int]) -> None:
    assert uptime.share_of_days(database)[-1][1] is None
    set_time(clock, "2026-04-20T10:00:00")
    for _ in range(60):
        uptime.mark_minute(database)
        uptime.mark_minute(database)  # a second machine marks the same minute
        clock[0] += 60
    clock[0] -= 60
    assert uptime.share_of_days(database)[-1] == (dt.date(2026, 4, 20), 1.0)
    set_time(clock, "2026-04-21T00:00:00")
    for _ in range(6):
        uptime.mark_minute(database)
        clock[0] += 60
    set_time(clock, "2026-04-21T00:11:00")
    days = uptime.share_of_days(database)
    assert len(days) == 90
    assert days[-1][1] == pytest.approx(0.5)
    assert days[-3][1] is None
