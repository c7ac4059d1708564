"""The one door to Ray: imported when asked for, connected, on private addresses only."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from typing import Any, Final

from mapyard.errors import MapyardError
from mapyard.library.results.tables import need

NAMESPACE: Final = "mapyard"


def load_ray(address: str = "") -> Any:
    """Return Ray, connected: to `address`, "auto" for this node's; "" starts one for this process.

    HOST:PORT@IP names the address of this node, where a machine has several. Raises MapyardError
    where Ray is not installed, or not reached.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = need("ray", "fleet")
    if not ray.is_initialized():
        address, _, own = address.partition("@")
        try:
            ray.init(
                address=address or "local", namespace=NAMESPACE, log_to_driver=False,
                **({"_node_ip_address": own} if own else {}),
                logging_level=logging.ERROR, include_dashboard=False if not address else None,
            )  # fmt: skip
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise MapyardError(
                f"no Ray at {address or 'this machine'}: {str(error).splitlines()[0]}; start a "
                "node with: ray start --head (docs/fleet.md)"
            ) from None
    return ray


def check_private(address: str, *, is_told: bool) -> None:
    """Raise where Ray listens on a public address, or anybody who reaches it may run code."""
    address = address.partition("@")[0]
    host = address.rpartition(":")[0].strip("[]") or address
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        raise MapyardError(f"there is no host {host}") from None
    public = [text for text in found if not ipaddress.ip_address(text).is_private]
    if public and not is_told:
        raise MapyardError(
            f"Ray's address {public[0]} is public: its ports run any code that is sent to them. "
            "Start it on a private network (ray start --node-ip-address), or say --public if "
            "a firewall stands before it"
        )
    is_loopback = all(ipaddress.ip_address(text).is_loopback for text in found)
    has_tokens = os.environ.get("RAY_AUTH_MODE", "").lower() == "token"
    if not (is_loopback or has_tokens or is_told):
        raise MapyardError(
            "Ray takes commands without a token; set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH "
            "on all nodes (docs/fleet.md), or say --public if nobody else is on that network"
        )


def find_address(address: str) -> str:
    """Return HOST:PORT of Ray; of this node for auto; raise where none runs."""
    if address != "auto":
        return address
    services = need("ray._private.services", "fleet")
    found = sorted(services.find_gcs_addresses())
    if not found:
        raise MapyardError(
            "Ray does not run on this machine; start it with: ray start --head, or ray start "
            "--address HEAD:6379 (docs/fleet.md)"
        )
    return str(found[0])
