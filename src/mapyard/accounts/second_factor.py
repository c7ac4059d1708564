"""The second factor: codes of an authenticator app (TOTP, RFC 6238), and recovery codes.

A code works once: its time step is noted in the statement that accepts it. Recovery codes have 80
random bits and are kept as SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from typing import Final

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.models import Account, Passkey, RecoveryCode
from mapyard.accounts.registry import audit
from mapyard.errors import InvalidRequest, NotFound

STEP_S: Final = 30
RECOVERY_CODES: Final = 10
#: Steps before and after the present one whose code is taken: clocks differ.
_SLACK_STEPS: Final = 1


def is_on(account: Account) -> bool:
    """Return whether the account asks for a code at sign-in."""
    return account.totp_confirmed_at is not None


def begin_totp(database: Database, account_id: int) -> str:
    """Return the secret for the app; it counts once a code of it was entered."""
    import pyotp

    with database.write() as session:
        account = _get(session, account_id)
        if is_on(account):
            raise InvalidRequest("a second factor is on; switch it off first")
        # The page may be loaded again: the secret that the app has scanned stays.
        account.totp_secret = account.totp_secret or pyotp.random_base32()
        return account.totp_secret


def totp_address(secret: str, email: str, service: str) -> str:
    """Return the otpauth:// address that apps read from a QR code."""
    import pyotp

    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=service)


def confirm_totp(
    database: Database, account_id: int, code: str, *, actor: str, address: str = ""
) -> list[str]:
    """Switch the second factor on; return recovery codes, to be shown this one time."""
    with database.write() as session:
        account = _get(session, account_id)
        step = find_step(account.totp_secret or "", code)
        if step is None:
            raise InvalidRequest("this code does not fit; look at the app and the clocks")
        account.totp_confirmed_at, account.totp_last_step = now_s(), step
        audit(session, actor, "factor.on", account_id, {}, address)
        return _renew_codes(session, account_id)


def renew_codes(database: Database, account_id: int, *, actor: str, address: str = "") -> list[str]:
    """Return new recovery codes; the old ones end."""
    with database.write() as session:
        audit(session, actor, "factor.codes", account_id, {}, address)
        return _renew_codes(session, account_id)


def switch_off(
    database: Database, account_id: int, *, actor: str, address: str = "", passkeys: bool = False
) -> None:
    """Take the second factor from an account; with `passkeys` those, too (an operator's help)."""
    with database.write() as session:
        account = _get(session, account_id)
        account.totp_secret = account.totp_confirmed_at = account.totp_last_step = None
        session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account_id))
        if passkeys:
            session.execute(delete(Passkey).where(Passkey.account_id == account_id))
        audit(session, actor, "factor.off", account_id, {"passkeys": passkeys}, address)


def take_code(
    database: Database, account_id: int, code: str, *, actor: str, address: str = ""
) -> bool:
    """Use up a code of the app, or a recovery code; False when it is neither or was used."""
    with database.write() as session:
        account = _get(session, account_id)
        step = find_step(account.totp_secret or "", code)
        if step is not None:
            unused = or_(Account.totp_last_step.is_(None), Account.totp_last_step < step)
            changed = session.execute(
                update(Account)
                .where(Account.id == account_id, unused)
                .values(totp_last_step=step)
                .returning(Account.id)
            )
            return changed.first() is not None
        gone = session.execute(
            delete(RecoveryCode)
            .where(RecoveryCode.account_id == account_id, RecoveryCode.sha256 == _hash(code))
            .returning(RecoveryCode.account_id)
        )
        if gone.first() is None:
            return False
        audit(session, actor, "factor.recovery", account_id, {}, address)
        return True


def count_codes(database: Database, account_id: int) -> int:
    """Return how many recovery codes are left."""
    query = select(func.count()).where(RecoveryCode.account_id == account_id)
    with database.read() as session:
        return session.scalar(query) or 0


def find_step(secret: str, code: str, unix_s: float | None = None) -> int | None:
    """Return the time step whose code this is, None when it is none of about now."""
    import pyotp

    digits = "".join(code.split())
    if not secret or len(digits) != 6 or not digits.isascii() or not digits.isdigit():
        return None
    totp = pyotp.TOTP(secret)
    now = int((time.time() if unix_s is None else unix_s) // STEP_S)
    for step in range(now - _SLACK_STEPS, now + _SLACK_STEPS + 1):
        if hmac.compare_digest(totp.generate_otp(step), digits):
            return step
    return None


def _renew_codes(session: Session, account_id: int) -> list[str]:
    session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account_id))
    codes = [_make_code() for _ in range(RECOVERY_CODES)]
    session.add_all(
        RecoveryCode(account_id=account_id, sha256=_hash(code), created_at=now_s())
        for code in codes
    )
    return codes


def _make_code() -> str:
    text = base64.b32encode(secrets.token_bytes(10)).decode().lower()
    return "-".join(text[i : i + 4] for i in range(0, 16, 4))


def _hash(code: str) -> bytes:
    plain = "".join(letter for letter in code.lower() if letter.isalnum())
    return hashlib.sha256(plain.encode("utf-8", "replace")).digest()


def _get(session: Session, account_id: int) -> Account:
    account = session.get(Account, account_id, with_for_update=True)
    if account is None:
        raise NotFound("there is no such account")
    return account
