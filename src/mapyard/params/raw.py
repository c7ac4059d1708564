"""Raw parameters: one mapping, whatever a request, a command line or a call wrote them in."""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]


class Repeated(list[str]):
    """The texts of a name that came several times in a query string or form."""


def put_raw(raw: Raw, name: str, value: Any) -> None:
    """Add one parameter; `tags[a]=1&tags[b]=2&tags=c` becomes {"a": 1, "b": 2, "": "c"}."""
    opening = name.find("[")
    if opening > 0 and name.endswith("]"):
        name, key = name[:opening], name[opening + 1 : -1]
        held = raw.setdefault(name, {})
        if not isinstance(held, dict):
            held = raw[name] = {"": held}
        _append(held, key, value)
    elif isinstance(raw.get(name), dict) and not isinstance(value, dict):
        _append(raw[name], "", value)
    else:
        _append(raw, name, value)


def _append(raw: Raw, name: str, value: Any) -> None:
    if name in raw and isinstance(value, str) and isinstance(raw[name], str | Repeated):
        raw[name] = Repeated([*([raw[name]] if isinstance(raw[name], str) else raw[name]), value])
    else:
        raw[name] = value
