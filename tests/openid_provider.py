"""An OpenID provider on loopback that signs in whom a test names."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import orjson

CLIENT, SECRET = "mapyard", "client secret"


class FakeProvider:
    """Signs `claims` in at once and keeps watch over the protocol."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.challenges: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(200, provider.configuration)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, answer = provider.redeem(dict(parse_qsl(body)), self.headers)
                self.answer(status, answer)

            def answer(self, status: int, value: Any) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(orjson.dumps(value))

            def log_message(self, *args: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.configuration = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
        }
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def authorize(self, url: str) -> str:
        """Return the address to which the browser is sent back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        self.challenges["the-code"] = query
        return f"{query['redirect_uri']}?code=the-code&state={query['state']}&iss={self.issuer}"

    def redeem(self, form: dict[str, str], headers: Any) -> tuple[int, Any]:
        asked = self.challenges.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if (
            asked is None
            or base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]
            or headers["Authorization"] != f"Basic {basic}"
            or form["redirect_uri"] != asked["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        claims = {
            "iss": self.issuer, "aud": CLIENT, "exp": int(time.time()) + 300,
            "nonce": asked["nonce"], "sub": "subject-1", **self.claims,
        }  # fmt: skip
        return 200, {"id_token": make_token(claims)}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def make_token(claims: dict[str, Any]) -> str:
    payload = base64.urlsafe_b64encode(orjson.dumps(claims)).rstrip(b"=").decode()
    return f"e30.{payload}.c2lnbmF0dXJl"
