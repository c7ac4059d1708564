"""What a key may do and from where: endpoints, reading only, networks, origins.

A key without restrictions has None in their place: the check at admission is then one comparison.
Networks are a wall. Origins are what browsers say about the page that asks; a program can say the
same, so they keep a key from being used by other pages, not from being used by thieves.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from mapyard.errors import InvalidRequest, MapyardError

#: Groups of endpoints as the reference names them, with what a form calls them.
GROUPS: Final[dict[str, str]] = {
    "Features": "features",
    "Search": "search",
    "Geocoding": "geocoding",
    "Routing": "routing",
    "Elevation": "elevation",
    "Query languages": "queries",
    "Tiles": "tiles",
    "Datasets": "datasets",
}
_READING: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_MOST: Final = 20


class KeyNotAllowed(MapyardError):  # noqa: N818 - as in errors.py, named after its code
    """The key is good, but not for this request."""

    status, code = 403, "key_not_allowed"


class Restrictions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a key is restricted to; an empty part restricts nothing."""

    #: Names of groups (the values of GROUPS).
    endpoints: tuple[str, ...] = ()
    #: GET and HEAD only: nothing that makes a job.
    read_only: bool = False
    networks: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def describe(self) -> list[str]:
        """Return the restrictions as people read them."""
        parts = []
        if self.endpoints:
            parts.append("only " + ", ".join(self.endpoints))
        if self.read_only:
            parts.append("GET only")
        if self.networks:
            parts.append("from " + ", ".join(self.networks))
        if self.origins:
            parts.append("pages of " + ", ".join(self.origins))
        return parts


class Guard:
    """The restrictions of one key, ready to be asked on each request."""

    __slots__ = ("_groups", "_networks", "_origins", "_read_only")

    def __init__(self, restrictions: Restrictions) -> None:
        names = {value: name for name, value in GROUPS.items()}
        self._groups = frozenset(names[value] for value in restrictions.endpoints)
        self._read_only = restrictions.read_only
        self._networks = tuple(ip_network(text) for text in restrictions.networks)
        self._origins = frozenset(restrictions.origins)

    def find_refusal(
        self, group: str, method: str, address: str, origin: str | None
    ) -> MapyardError | None:
        """Return why the key is not for this request, None when it is."""
        if self._groups and group not in self._groups:
            allowed = ", ".join(sorted(self._groups))
            return KeyNotAllowed(f"this API key is for these endpoints only: {allowed}")
        if self._read_only and method not in _READING:
            return KeyNotAllowed("this API key may only read: send the request by GET")
        if self._networks and not _lies_in(address, self._networks):
            return KeyNotAllowed("this API key may not be used from this address")
        if self._origins and (origin or "").lower() not in self._origins:
            return KeyNotAllowed("this API key may be used by pages of certain origins only")
        return None


def make_restrictions(
    *,
    endpoints: Iterable[str] = (),
    read_only: bool = False,
    networks: Iterable[str] = (),
    origins: Iterable[str] = (),
) -> Restrictions | None:
    """Return checked restrictions, None where nothing is restricted; raise InvalidRequest."""
    groups = tuple(dict.fromkeys(endpoints))
    for name in groups:
        if name not in GROUPS.values():
            raise InvalidRequest.of(
                "endpoints", f"'{name[:40]}' is not one of {', '.join(GROUPS.values())}"
            )
    made = Restrictions(
        endpoints=() if len(groups) == len(GROUPS) else groups,
        read_only=read_only,
        networks=tuple(dict.fromkeys(_read_network(text) for text in _parts(networks))),
        origins=tuple(dict.fromkeys(_read_origin(text) for text in _parts(origins))),
    )
    for name, values in (("networks", made.networks), ("origins", made.origins)):
        if len(values) > _MOST:
            raise InvalidRequest.of(name, f"are {len(values)}; at most {_MOST} are kept")
    return None if made == Restrictions() else made


def read_restrictions(stored: dict[str, Any] | None) -> Restrictions | None:
    """Return restrictions as they are stored."""
    return None if stored is None else msgspec.convert(stored, Restrictions)


def _parts(texts: Iterable[str]) -> list[str]:
    return [part for text in texts for part in text.replace(",", " ").split()]


def _read_network(text: str) -> str:
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise InvalidRequest.of(
            "networks", f"'{text[:50]}' is not an address or a network such as 203.0.113.0/24"
        ) from None


def _read_origin(text: str) -> str:
    parts = urlsplit(text.lower().rstrip("/"))
    whole = f"{parts.scheme}://{parts.netloc}"
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or whole != text.lower().rstrip("/")
    ):
        raise InvalidRequest.of(
            "origins", f"'{text[:80]}' is not an origin such as https://www.example.org"
        )
    return whole


def _lies_in(address: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)
