"""Passkeys made or signed elsewhere, replayed, or of somebody else, by a device of software."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from mapyard.accounts import passkeys, registry
from mapyard.accounts.database import Database
from mapyard.accounts.open import open_accounts
from mapyard.accounts.passwords import hash_password
from mapyard.errors import InvalidRequest
from visitors import PASSWORD, Visitor, serving

HOST, ORIGIN = "maps.example.org", "https://maps.example.org"
ME = "me@example.org"


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Device:
    """Holds one credential and signs whatever it is asked to."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = hashlib.sha256(repr(self.key).encode()).digest()
        self.count = 0

    def _data(self, host: str, flags: int) -> bytes:
        self.count += 1
        return (
            hashlib.sha256(host.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")
        )

    def _client(self, kind: str, challenge: bytes, origin: str) -> bytes:
        return json.dumps(
            {"type": f"webauthn.{kind}", "challenge": encode(challenge), "origin": origin}
        ).encode()

    def make(self, challenge: bytes, host: str = HOST, origin: str = ORIGIN, flags: int = 5) -> str:
        """Return what a browser sends for a new passkey; flags 5: somebody was there, and known."""
        numbers = self.key.public_key().public_numbers()
        key = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        data = self._data(host, flags | 0x40) + bytes(16) + len(self.id).to_bytes(2, "big")
        data += self.id + cbor2.dumps(key)
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        return self._send(
            clientDataJSON=encode(self._client("create", challenge, origin)),
            attestationObject=encode(attestation),
        )

    def sign(self, challenge: bytes, host: str = HOST, origin: str = ORIGIN, flags: int = 5) -> str:
        data = self._data(host, flags)
        client = self._client("get", challenge, origin)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._send(
            clientDataJSON=encode(client),
            authenticatorData=encode(data),
            signature=encode(signature),
        )

    def _send(self, **response: str) -> str:
        name = encode(self.id)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_accounts(tmp_path)
    registry.create_account(database, ME, password_hash=hash_password(PASSWORD, ME), verified_at=1)
    yield database
    database.close()


def add(database: Database, device: Device, credential: str, challenge: bytes) -> Any:
    account = registry.get_account(database, ME)
    return passkeys.add_passkey(
        database, account, credential, "Laptop", challenge=challenge, host=HOST, origin=ORIGIN
    )


def find(database: Database, credential: str, challenge: bytes) -> str:
    return passkeys.find_account_by_passkey(
        database, credential, challenge=challenge, host=HOST, origin=ORIGIN
    ).email


def test_it_signs_in(database: Database) -> None:
    device, challenge = Device(), passkeys.make_challenge()
    add(database, device, device.make(challenge), challenge)
    challenge = passkeys.make_challenge()
    assert find(database, device.sign(challenge), challenge) == ME


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://maps.example.org"},
        {"origin": "https://maps.example.org.evil.example"},
        {"host": "evil.example"},
        {"flags": 1},  # nobody was asked for finger, face or PIN
    ],
)
def test_what_was_signed_elsewhere_is_refused(database: Database, wrong: dict[str, Any]) -> None:
    device, challenge = Device(), passkeys.make_challenge()
    with pytest.raises(InvalidRequest):
        add(database, Device(), Device().make(challenge, **wrong), challenge)
    add(database, device, device.make(challenge), challenge)
    with pytest.raises(InvalidRequest):
        find(database, device.sign(challenge, **wrong), challenge)


def test_replays_strangers_and_nonsense_are_refused(database: Database) -> None:
    device, challenge = Device(), passkeys.make_challenge()
    add(database, device, device.make(challenge), challenge)
    first = passkeys.make_challenge()
    signed = device.sign(first)
    assert find(database, signed, first) == ME
    for credential, expected in (
        (signed, first),  # the count of the device did not rise
        (signed, passkeys.make_challenge()),
        (Device().sign(first), first),
        ("", first), ("{}", first), ("[]", first), ('{"id": 7}', first), ('{"id": "%"}', first),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest):
            find(database, credential, expected)
    # A stranger's key under the name of the known one.
    forged = Device()
    forged.id, forged.count = device.id, 99
    with pytest.raises(InvalidRequest):
        find(database, forged.sign(first), first)


def test_passkeys_are_bound_to_a_name_that_is_set(tmp_path: Path, database: Database) -> None:
    with serving(tmp_path) as client:
        visitor = Visitor(client)
        visitor.sign_in(ME)
        token = visitor.get("/account/profile").text.partition('name="form_token" value="')[2]
        form = {"form_token": token.partition('"')[0]}
        for host in ("evil.example", "203.0.113.1"):
            answer = visitor.ask("POST", "/account/passkeys/options", form, Host=host)
            assert answer.status_code == 403


def test_a_passkey_is_asked_for_with_the_password(tmp_path: Path, database: Database) -> None:
    """Who finds a browser open cannot add a key of his own."""
    with serving(tmp_path) as client:
        visitor = Visitor(client)
        visitor.sign_in(ME)
        options = visitor.post("/account/passkeys/options", "/account/profile").json()
        challenge = base64.urlsafe_b64decode(options["challenge"] + "==")
        device = Device()
        credential = device.make(challenge, "localhost", "http://localhost")
        path = "/account/passkeys/add"
        fields = {"credential": credential, "name": "mine"}
        refused = visitor.post(path, "/account/profile", password="wrong", **fields)
        assert refused.status_code == 403
        taken = visitor.post(path, "/account/profile", password=PASSWORD, **fields)
        assert taken.status_code == 200, taken.text
        again = visitor.post(path, "/account/profile", password=PASSWORD, **fields)
        assert again.status_code == 400  # the challenge was for one time
        stranger = Visitor(client, "198.51.100.5")
        options = stranger.post("/sign-in/passkey/options", "/sign-in").json()
        challenge = base64.urlsafe_b64decode(options["challenge"] + "==")
        signed = device.sign(challenge, "localhost", "http://localhost")
        assert stranger.post("/sign-in/passkey", "/sign-in", credential=signed).status_code == 200
        assert stranger.get("/account/keys").status_code == 200
