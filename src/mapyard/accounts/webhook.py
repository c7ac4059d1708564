"""The monthly webhook: each account's statement, signed, for an operator's billing system.

Sent when a month has ended and its last usage is entered, until the receiver answers 2xx: after
1, 2, 4, … minutes, at most a day apart. The id is the same at every attempt, so that a receiver
can tell a repetition. `X-Mapyard-Signature: t=<Unix seconds>,v1=<hex>`, where v1 is HMAC-SHA-256 of
"<t>.<body>" with the secret of the settings.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import logging
from typing import Final

import httpx
import msgspec
from sqlalchemy import select

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.models import Account, WebhookDelivery
from mapyard.accounts.statements import Statement, make_statement

log = logging.getLogger(__name__)

#: Time after a month's end in which its last usage is entered.
GRACE_S: Final = 15 * 60
_TIMEOUT_S: Final = 15.0
_LONGEST_PAUSE_S: Final = 86_400


def sign(secret: str, timestamp_s: int, body: bytes) -> str:
    """Return the value of X-Mapyard-Signature."""
    text = f"{timestamp_s}.".encode() + body
    digest = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return f"t={timestamp_s},v1={digest}"


def encode_body(statement: Statement) -> bytes:
    """Return the body that is posted for a statement."""
    return msgspec.json.encode(
        {
            "id": f"usage-{statement.account_id}-{statement.month}",
            "type": "usage.month_closed",
            "data": statement.as_json(),
        }
    )


def deliver_due(database: Database, url: str, secret: str) -> int:
    """Post the closed month of every account that has not been delivered; return the successes."""
    now = now_s()
    month = _last_closed_month(now)
    with database.read() as session:
        accounts = session.scalars(select(Account).order_by(Account.id)).all()
        known = {
            row.account_id: row
            for row in session.scalars(
                select(WebhookDelivery).where(WebhookDelivery.month == month)
            )
        }
    delivered = 0
    with httpx.Client(timeout=_TIMEOUT_S, follow_redirects=False) as client:
        for account in accounts:
            row = known.get(account.id)
            waits = row is not None and (row.delivered_at is not None or row.next_attempt_at > now)
            statement = make_statement(database, account, month, now_s=now)
            was_there = account.created_at < _end_s(statement)
            if waits or not was_there:
                continue
            error = _post(client, url, secret, encode_body(statement))
            _note(database, account.id, month, error)
            delivered += not error
    return delivered


def _post(client: httpx.Client, url: str, secret: str, body: bytes) -> str:
    """Return '' on success, else what went wrong."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Mapyard-Webhook",
        "X-Mapyard-Signature": sign(secret, now_s(), body),
    }
    try:
        answer = client.post(url, content=body, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return type(error).__name__
    return "" if answer.is_success else f"HTTP {answer.status_code}"


def _note(database: Database, account_id: int, month: str, error: str) -> None:
    with database.write() as session:
        row = session.get(WebhookDelivery, (account_id, month))
        if row is None:
            row = WebhookDelivery(
                account_id=account_id, month=month, attempts=0, next_attempt_at=0, last_error=""
            )
            session.add(row)
        pause_s = min(_LONGEST_PAUSE_S, 60 * 2 ** min(row.attempts, 20))
        row.attempts += 1
        row.last_error = error[:200]
        if error:
            row.next_attempt_at = now_s() + pause_s
            log.warning("the webhook of account %d, %s: %s", account_id, month, error)
        else:
            row.delivered_at = now_s()


def _last_closed_month(now: int) -> str:
    day = dt.datetime.fromtimestamp(now - GRACE_S, dt.UTC).date()
    return f"{day.replace(day=1) - dt.timedelta(1):%Y-%m}"


def _end_s(statement: Statement) -> float:
    end = statement.last_day + dt.timedelta(1)
    return dt.datetime(end.year, end.month, end.day, tzinfo=dt.UTC).timestamp()
