"""Sign-in through an OpenID Connect provider: authorization code with PKCE.

The ID token comes straight from the provider's token endpoint over TLS, so TLS stands for its
signature (OpenID Connect Core, 3.1.3.7, 6); issuer, audience, times and nonce are checked here.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx
import msgspec

from mapyard.errors import MapyardError

_TIMEOUT_S: Final = 10.0
_CLOCK_SKEW_S: Final = 120
_SCOPES: Final = "openid email"


class OpenIdError(MapyardError):
    """The provider does not answer as it should, or the sign-in was broken off."""

    status, code = 502, "openid_failed"


class Provider(msgspec.Struct, frozen=True):
    """What of a provider's published configuration is needed."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Attempt(msgspec.Struct, frozen=True):
    """One sign-in under way; the browser keeps it in a signed cookie."""

    state: str
    nonce: str
    verifier: str
    next: str


class Claims(msgspec.Struct, frozen=True):
    """Who signed in."""

    sub: str
    email: str
    email_verified: bool


def begin_attempt(next_path: str) -> Attempt:
    """Return a new attempt with fresh secrets."""
    return Attempt(
        state=secrets.token_urlsafe(24),
        nonce=secrets.token_urlsafe(24),
        verifier=secrets.token_urlsafe(48),
        next=next_path,
    )


def discover(issuer: str) -> Provider:
    """Read the provider's configuration; raise OpenIdError when it is not usable."""
    _require_tls(issuer)
    url = issuer.rstrip("/") + "/.well-known/openid-configuration"
    provider: Provider = _decode(_request("GET", url), Provider, "configuration")
    if provider.issuer.rstrip("/") != issuer.rstrip("/"):
        raise OpenIdError("the provider calls itself by another name than MAPYARD_OPENID_ISSUER")
    _require_tls(provider.token_endpoint)
    return provider


def authorization_url(
    provider: Provider, client_id: str, redirect_uri: str, attempt: Attempt
) -> str:
    """Return where to send the browser."""
    challenge = hashlib.sha256(attempt.verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": _SCOPES,
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": _base64(challenge),
        "code_challenge_method": "S256",
    }
    separator = "&" if "?" in provider.authorization_endpoint else "?"
    return provider.authorization_endpoint + separator + urlencode(query)


def redeem_code(
    provider: Provider,
    client_id: str,
    client_secret: str,
    redirect_uri: str,
    attempt: Attempt,
    code: str,
) -> Claims:
    """Exchange the code for an ID token and return its checked claims."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": attempt.verifier,
    }
    auth = None
    if "client_secret_basic" in provider.token_endpoint_auth_methods_supported and client_secret:
        auth = httpx.BasicAuth(client_id, client_secret)
    else:
        form |= {"client_id": client_id}
        if client_secret:
            form |= {"client_secret": client_secret}
    body = _request("POST", provider.token_endpoint, data=form, auth=auth)
    answer: dict[str, Any] = _decode(body, dict[str, Any], "token answer")
    token = answer.get("id_token")
    if not isinstance(token, str):
        raise OpenIdError("the provider's answer holds no id_token")
    return check_id_token(token, provider.issuer, client_id, attempt.nonce, time.time())


def check_id_token(token: str, issuer: str, client_id: str, nonce: str, now_s: float) -> Claims:
    """Return the claims of an ID token after checking whom and when it is for."""
    try:
        payload = token.split(".")[1]
        claims: dict[str, Any] = msgspec.json.decode(
            base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=dict[str, Any]
        )
    except (IndexError, ValueError, msgspec.DecodeError) as error:
        raise OpenIdError("the provider's id_token cannot be read") from error
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    authorized = claims.get("azp", client_id if len(audiences) == 1 else None)
    expires_s = claims.get("exp")
    fits = {
        "issuer": claims.get("iss") == issuer,
        "audience": client_id in audiences and authorized == client_id,
        "nonce": secrets.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()),
        "time": isinstance(expires_s, int | float) and expires_s > now_s - _CLOCK_SKEW_S,
        "subject": isinstance(claims.get("sub"), str) and bool(claims.get("sub")),
    }
    wrong = [name for name, fit in fits.items() if not fit]
    if wrong:
        raise OpenIdError(f"the provider's id_token has a wrong {wrong[0]}")
    return Claims(
        sub=claims["sub"],
        email=str(claims.get("email") or ""),
        email_verified=claims.get("email_verified") in (True, "true"),
    )


def _request(method: str, url: str, **options: Any) -> bytes:
    try:
        answer = httpx.request(
            method,
            url,
            timeout=_TIMEOUT_S,
            follow_redirects=False,
            headers={"Accept": "application/json"},
            **options,
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise OpenIdError("the OpenID provider does not answer; try again later") from error
    if answer.status_code != 200:
        raise OpenIdError(f"the OpenID provider answered with status {answer.status_code}")
    return answer.content


def _decode(body: bytes, kind: Any, what: str) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise OpenIdError(f"the OpenID provider's {what} cannot be read") from error


def _require_tls(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise OpenIdError("the OpenID provider must be reached by https")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
