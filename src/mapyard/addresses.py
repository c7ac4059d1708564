"""Addresses of other servers: the login apart, which no log, file or answer may show."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit, urlunsplit


def split_login(url: str) -> tuple[str, tuple[str, str] | None]:
    """Return an address without user name and password, and these, None where it has none."""
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    user, _, password = login.partition(":")
    return urlunsplit(parts._replace(netloc=host)), (unquote(user), unquote(password))


def show_address(url: str) -> str:
    """Return an address as others may see it: without login, and without what follows a `?`.

    Links to private files have their key there.
    """
    return urlunsplit(urlsplit(split_login(url)[0])._replace(query="", fragment=""))
