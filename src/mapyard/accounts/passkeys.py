"""Passkeys: WebAuthn credentials that sign in without a password, checked by py_webauthn.

The device must have verified its user (finger, face, PIN), so a passkey is two factors in one. The
library and its cryptography are loaded only by those who use passkeys.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Any, Final

from sqlalchemy import delete, select

from mapyard.accounts.database import Database, now_s
from mapyard.accounts.models import Account, Passkey
from mapyard.accounts.registry import Conflict, audit
from mapyard.errors import InvalidRequest, NotFound

MOST: Final = 10
_NO_FIT: Final = "this passkey does not fit; try again, or sign in with the password"


def make_challenge() -> bytes:
    """Return what the device shall sign."""
    return secrets.token_bytes(32)


def registration_options(
    database: Database, secret: bytes, account: Account, host: str, challenge: bytes
) -> str:
    """Return, as JSON, what the browser needs to make a passkey for this account."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_registration_options(
        rp_id=host,
        rp_name="Mapyard",
        user_id=_handle(secret, account.id),
        user_name=account.email,
        challenge=challenge,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            structs.PublicKeyCredentialDescriptor(id=held.credential_id)
            for held in list_passkeys(database, account.id)
        ],
    )
    return webauthn.options_to_json(options)


def add_passkey(
    database: Database,
    account: Account,
    credential: str,
    name: str,
    *,
    challenge: bytes,
    host: str,
    origin: str,
    address: str = "",
) -> Passkey:
    """Keep a passkey that the browser made; raise InvalidRequest when it is no good."""
    import webauthn

    try:
        made = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=host,
            expected_origin=origin,
            require_user_verification=True,
        )
    except Exception as error:  # whatever the library makes of bytes from outside
        raise InvalidRequest(f"the passkey was not made: {type(error).__name__}") from error
    with database.write() as session:
        held = session.scalars(select(Passkey).where(Passkey.account_id == account.id)).all()
        if len(held) >= MOST:
            raise Conflict(f"the account has {MOST} passkeys, which is the most")
        if session.scalar(select(Passkey.id).where(Passkey.credential_id == made.credential_id)):
            raise Conflict("this passkey is in use already")
        passkey = Passkey(
            account_id=account.id,
            credential_id=made.credential_id,
            public_key=made.credential_public_key,
            sign_count=made.sign_count,
            name=name.strip()[:100] or "Passkey",
            created_at=now_s(),
        )
        session.add(passkey)
        audit(session, account.email, "passkey.add", account.id, {"name": passkey.name}, address)
        return passkey


def sign_in_options(host: str, challenge: bytes) -> str:
    """Return, as JSON, what the browser needs to sign in with any passkey of this server."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_authentication_options(
        rp_id=host,
        challenge=challenge,
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


def find_account_by_passkey(
    database: Database, credential: str, *, challenge: bytes, host: str, origin: str
) -> Account:
    """Return whose passkey has signed the challenge; raise InvalidRequest for any other answer."""
    import webauthn

    try:
        parsed: dict[str, Any] = json.loads(credential)
        credential_id = webauthn.base64url_to_bytes(parsed["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(_NO_FIT) from error
    with database.write() as session:
        passkey = session.scalar(
            select(Passkey).where(Passkey.credential_id == credential_id).with_for_update()
        )
        if passkey is None:
            raise InvalidRequest(_NO_FIT)
        try:
            checked = webauthn.verify_authentication_response(
                credential=credential,
                expected_challenge=challenge,
                expected_rp_id=host,
                expected_origin=origin,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=passkey.sign_count,
                require_user_verification=True,
            )
        except Exception as error:
            raise InvalidRequest(_NO_FIT) from error
        passkey.sign_count, passkey.last_used_at = checked.new_sign_count, now_s()
        account = session.get(Account, passkey.account_id)
        assert account is not None
        return account


def list_passkeys(database: Database, account_id: int) -> list[Passkey]:
    """Return the passkeys of an account, oldest first."""
    query = select(Passkey).where(Passkey.account_id == account_id).order_by(Passkey.id)
    with database.read() as session:
        return list(session.scalars(query))


def remove_passkey(
    database: Database, account: Account, passkey_id: int, *, address: str = ""
) -> None:
    """Forget a passkey of this account."""
    mine = (Passkey.id == passkey_id, Passkey.account_id == account.id)
    with database.write() as session:
        name = session.scalar(delete(Passkey).where(*mine).returning(Passkey.name))
        if name is None:
            raise NotFound("the account has no such passkey")
        audit(session, account.email, "passkey.remove", account.id, {"name": name}, address)


def _handle(secret: bytes, account_id: int) -> bytes:
    """Return the name of an account on devices: it must say nothing about its owner."""
    return hmac.new(secret, b"passkey %d" % account_id, hashlib.sha256).digest()
