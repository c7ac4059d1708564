"""Which networks are trusted: none, unless a setting names some.

An address says who holds the other end of the connection: behind a proxy that is the proxy, on a
shared machine anybody. So nothing is believed by address unless the operator has said so, and what
a request says about itself (Origin, Host, Forwarded, X-Forwarded-*) is never a reason to trust it.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from mapyard.settings import Settings

Network = IPv4Network | IPv6Network


def is_trusted(settings: Settings, client: str) -> bool:
    """Return whether the client's address lies in a network that the operator trusts."""
    return bool(settings.trusted_networks) and lies_in(
        client, read_networks(tuple(settings.trusted_networks))
    )


def is_own_host(settings: Settings, host: str) -> bool:
    """Return whether a Host header names this server: by address, as localhost, or as published.

    Any other name may be a stranger's that he lets point here, so that a page of his, open in a
    browser of a trusted network, counts as a page of this server.
    """
    name = urlsplit(f"//{host}").hostname or ""
    if name in ("localhost", urlsplit(settings.public_url).hostname):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=64)
def read_networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """Return networks written as 10.0.0.0/8 or as one address; raise ValueError for others."""
    return tuple(ip_network(text.strip(), strict=False) for text in texts)


def lies_in(address: str, networks: tuple[Network, ...]) -> bool:
    """Return whether an address lies in one of the networks; IPv4 within IPv6 counts as IPv4."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)
