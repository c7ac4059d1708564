"""A signed cookie by which this server's own pages ask its API on behalf of an account.

Pages never hold a key. A page that shows the map sets this cookie (HttpOnly, SameSite=Strict, for
/api only); a request that brings it, and no key, is its account's. Only requests that a page of
this very origin made are taken: another site cannot spend an account's units.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final

COOKIE: Final = "mapyard_api"
#: Short, for nothing else ends it: who signs out elsewhere, or changes the password, waits no
#: longer for other browsers' maps to stop. Open pages ask for a new one in time.
LIFE_S: Final = 900


def make_session_cookie(secret: bytes, account_id: int, *, is_https: bool) -> str:
    """Return the Set-Cookie value that lets this browser ask the API for an account."""
    text = f"{account_id}.{int(time.time()) + LIFE_S}"
    cookie = f"{COOKIE}={text}.{_sign(secret, text)}; Max-Age={LIFE_S}"
    return cookie + _attributes(is_https=is_https)


def clear_session_cookie(*, is_https: bool) -> str:
    """Return the Set-Cookie value that ends it."""
    return f"{COOKIE}=; Max-Age=0" + _attributes(is_https=is_https)


def find_session_account(secret: bytes, headers: Mapping[str, str]) -> int | None:
    """Return the account whose page made this request, None when there is none.

    `headers` have lower-case names.
    """
    cookies = headers.get("cookie", "")
    if COOKIE not in cookies or not is_same_origin(headers):
        return None
    try:
        morsel = SimpleCookie(cookies).get(COOKIE)
    except CookieError:
        return None
    text, _, signature = (morsel.value if morsel else "").rpartition(".")
    if not hmac.compare_digest(signature.encode(), _sign(secret, text).encode()):
        return None
    account_id, _, expires_s = text.partition(".")
    return int(account_id) if int(expires_s) > time.time() else None


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Return whether a page of this origin made the request, by what only browsers can set."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin") or headers.get("referer", "")
    rest = origin.partition("://")[2]
    return bool(rest) and rest.partition("/")[0] == headers.get("host", "")


def _sign(secret: bytes, text: str) -> str:
    return hmac.new(secret, b"api session " + text.encode(), hashlib.sha256).hexdigest()


def _attributes(*, is_https: bool) -> str:
    return "; Path=/api; HttpOnly; SameSite=Strict" + ("; Secure" if is_https else "")
