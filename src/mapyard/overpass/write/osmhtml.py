"""`[out:custom]` and `[out:popup]`: a page of what was found, for people.

The original fills templates of its operator; here there is one, built in.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import re2

from mapyard.overpass.parse.syntax import Category, Settings
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.osmjson import COPYRIGHT, read_elements

_SITE = "https://www.openstreetmap.org"


def write_document(parts: Iterable[bytes], settings: Settings, budget: Budget) -> bytes:
    """Return the page of runs of elements in JSON (see osmjson.write_out)."""
    is_popup = settings.output == "popup"
    texts: dict[str, list[str]] = {}
    for part in parts:
        budget.check(len(part) * 8)
        for element in read_elements(part):
            if is_popup:
                for title, text in _popup(element, settings.categories):
                    texts.setdefault(title, []).append(text)
            else:
                texts.setdefault("", []).append(_whole(element))
    head = "" if is_popup else '<!DOCTYPE html>\n<meta charset="utf-8">\n<title>Result</title>\n'
    body = "".join(
        (f"<h2>{escape(title)}</h2>\n" if title else "") + "".join(found)
        for title, found in texts.items()
    )
    tail = "" if is_popup else f"<p>{escape(COPYRIGHT)}</p>\n"
    return (head + body + tail).encode("utf-8", "replace")


def _link(element: dict[str, Any]) -> str:
    kind, number = element["type"], element.get("id", "")
    name = escape(f"{kind} {number}")
    if kind not in ("node", "way", "relation"):
        return name
    return f'<a href="{_SITE}/{kind}/{number}">{name}</a>'


def _tags(element: dict[str, Any]) -> str:
    items = element.get("tags", {}).items()
    return "".join(f"<li>{escape(key)}: {escape(text)}</li>" for key, text in items)


def _whole(element: dict[str, Any]) -> str:
    position = ""
    if "lat" in element:
        position = f" at {element['lat']:.7f}, {element['lon']:.7f}"
    members = "".join(
        f"<li>{_link({'type': m['type'], 'id': m['ref']})} {escape(m['role'])}</li>"
        for m in element.get("members", ())
    ) + "".join(
        f"<li>{_link({'type': 'node', 'id': ref})}</li>" for ref in element.get("nodes", ())
    )
    return (
        f"<p>{_link(element)}{position}</p>\n<ul>{_tags(element)}</ul>\n"
        + (f"<ol>{members}</ol>\n" if members else "")
    )  # fmt: skip


def _popup(element: dict[str, Any], categories: tuple[Category, ...]) -> list[tuple[str, str]]:
    tags = element.get("tags", {})
    if not categories:
        return [("", f"<p>{_link(element)}</p>\n<ul>{_tags(element)}</ul>\n")]
    found = []
    for category in categories:
        if any(all(_fits(tags, one) for one in both) for both in category.alternatives):
            title = tags.get(category.title_key, "") if category.title_key else ""
            name = f"<strong>{escape(title)}</strong> " if title else ""
            text = f"<p>{name}{_link(element)}</p>\n<ul>{_tags(element)}</ul>\n"
            found.append((category.title, text))
    return found


def _fits(tags: dict[str, str], condition: tuple[str, str, bool]) -> bool:
    key, pattern, holds = condition
    return (key in tags and re2.search(pattern, tags[key]) is not None) == holds
