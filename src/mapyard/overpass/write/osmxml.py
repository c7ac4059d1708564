"""Native Overpass XML, made from the elements of the JSON output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.osmjson import COPYRIGHT, read_elements
from mapyard.version import __version__

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;"}
    # What XML 1.0 cannot hold at all is dropped.
    | {chr(code): "" for code in range(32) if code not in (9, 10, 13)}
    | {"\r": "&#13;", "\ufffe": "", "\uffff": ""}
)
_META = ("version", "timestamp", "changeset", "uid", "user")


def write_document(parts: Iterable[bytes], timestamp: str, budget: Budget) -> bytes:
    """Return the XML document of runs of elements in JSON (see osmjson.write_out)."""
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<osm version="0.6" generator="Mapyard {__version__}">\n'
        f"<note>{COPYRIGHT}</note>\n"
        f'<meta osm_base="{timestamp}" areas="{timestamp}"/>\n'
    )
    texts = [head.encode()]
    for part in parts:
        budget.check(len(part) * 12)
        text = "\n".join(line for element in read_elements(part) for line in _write(element))
        texts.append(text.encode("utf-8", "replace"))
        budget.held_bytes += len(texts[-1])
    return b"\n".join(texts) + b"\n</osm>\n"


def _attributes(values: dict[str, Any]) -> str:
    return "".join(f' {key}="{_escape(value)}"' for key, value in values.items())


def _escape(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.7f}"
    return str(value).translate(_ESCAPES)


def _write(element: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an element."""
    kind = element["type"]
    own = {key: element[key] for key in ("id", "lat", "lon", *_META) if key in element}
    children = list(_write_children(element))
    if not children:
        yield f"  <{kind}{_attributes(own)}/>"
        return
    yield f"  <{kind}{_attributes(own)}>"
    yield from children
    yield f"  </{kind}>"


def _write_children(element: dict[str, Any]) -> Iterator[str]:
    for name in ("bounds", "center"):
        if name in element:
            yield f"    <{name}{_attributes(element[name])}/>"
    positions = element.get("geometry")
    if isinstance(positions, dict):
        yield f"    <geometry>{_escape(orjson.dumps(positions).decode())}</geometry>"
        positions = None
    refs = element.get("nodes") or [None] * len(positions or ())
    for index, ref in enumerate(refs):
        position = positions[index] if positions else None
        own = {"ref": ref} if ref is not None else {}
        yield f"    <nd{_attributes(own | (position or {}))}/>"
    for member in element.get("members", ()):
        yield from _write_member(member)
    for key, value in element.get("tags", {}).items():
        yield f'    <tag k="{_escape(key)}" v="{_escape(value)}"/>'


def _write_member(member: dict[str, Any]) -> Iterator[str]:
    own: dict[str, Any] = {
        key: member[key] for key in ("type", "ref", "role", "lat", "lon") if key in member
    }
    if "geometry" not in member:
        yield f"    <member{_attributes(own)}/>"
        return
    yield f"    <member{_attributes(own)}>"
    for position in member["geometry"]:
        yield f"      <nd{_attributes(position or {})}/>"
    yield "    </member>"
