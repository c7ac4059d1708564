"""Printed curl commands as requests that a page can send: the forms below the blocks of a guide."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

#: Addresses by which the docs name this server.
_OURS: Final = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|maps\.example\.org)(?::4000)?(?=/)"
)
_FORM: Final = "application/x-www-form-urlencoded"
_DATA: Final = ("-d", "--data", "--data-raw", "--data-binary")
_FLAGS: Final = {"-g", "-s", "-S", "-sS", "-f", "-i", "-L", "--compressed", "--globoff"}


class Request(NamedTuple):
    """What a curl command sends, without its key."""

    method: str
    path: str
    body: str | None
    media_type: str


def find_requests(code: str) -> Iterator[Request]:
    """Yield the requests of a block of code that a page can send as they are printed."""
    text = ""
    for line in code.splitlines():
        text = f"{text}\n{line}" if text else line
        if text.endswith("\\") or text.count("'") % 2:
            continue
        if re.match(r"\s*curl\s", text) and (request := read_curl(text)):
            yield request
        text = ""


def read_curl(command: str) -> Request | None:
    """Return what a curl command asks this server, None when a page cannot send it."""
    try:
        words = shlex.split(command.replace("\\\n", " "), comments=True)[1:]
    except ValueError:
        return None
    method, url, media_type = "", "", ""
    data: list[str] = []
    is_query = False
    while words:
        word = words.pop(0)
        if word == "-G":
            is_query = True
        elif word in _FLAGS:
            continue
        elif word.startswith("-") and not words:
            return None
        elif word == "-X":
            method = words.pop(0)
        elif word == "-H":
            name, _, value = words.pop(0).partition(":")
            media_type = value.strip() if name.lower() == "content-type" else media_type
        elif word in ("-o", "--output"):
            words.pop(0)
        elif word == "--json" and not words[0].startswith("@"):
            media_type = "application/json"
            data.append(words.pop(0))
        elif word in _DATA and not words[0].startswith("@"):
            data.append(words.pop(0))
        elif word == "--data-urlencode" and not words[0].startswith("@"):
            name, equals, value = words.pop(0).partition("=")
            data.append(name + equals + quote(value, safe=""))
        elif word.startswith("-") or url:
            return None  # files, pipes, further addresses
        else:
            url = word
    found = _OURS.match(url)
    path = url[found.end() :] if found else ""
    if not path or "$" in path or "/key/" in path:
        return None
    if is_query and data:
        path += ("&" if "?" in path else "?") + "&".join(data)
        data = []
    body = "&".join(data) if data else None
    if body is not None:
        media_type = media_type or _FORM
    method = method or ("POST" if body is not None else "GET")
    if method != "GET" and body is None:
        body = ""
    return Request(method, path, body, media_type)


def write_form(request: Request) -> Markup:
    """Return the closed form of a request; docs.js shows it and sends it."""
    body = Markup("")
    if request.body is not None:
        body = Markup(
            '<textarea name="body" rows="6" aria-label="Body" spellcheck="false">\n{}</textarea>'
        ).format(request.body)
    return Markup(
        '<details class="try-box" hidden><summary>Try it</summary>'
        '<form class="try" data-method="{method}" data-type="{media_type}">'
        '<input name="path" value="{path}" aria-label="Path and query" spellcheck="false">'
        "{body}"
        '<label class="key"><span>API key</span><input class="key-field" type="password" '
        'autocomplete="off" spellcheck="false" placeholder="pk_live_…"></label>'
        '<button>Send {method}</button><output class="status"></output>'
        '<p class="hint" hidden></p>'
        '<pre class="result" tabindex="0" aria-label="Answer" hidden></pre></form></details>'
    ).format(method=request.method, media_type=request.media_type, path=request.path, body=body)
