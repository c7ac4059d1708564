from __future__ import annotations

import socket

import pytest

from mapyard.server.supervisor import CannotServe, open_sockets
from servers import free_port


def test_loopback_brings_ipv6_along() -> None:
    port = free_port()
    sockets = open_sockets("127.0.0.1", port)
    try:
        names = [sock.getsockname()[0] for sock in sockets]
        assert names[0] == "127.0.0.1"
        assert names in (["127.0.0.1", "::1"], ["127.0.0.1"])
        for name in names:
            socket.create_connection((name, port), 1).close()
    finally:
        for sock in sockets:
            sock.close()


def test_other_addresses_come_alone() -> None:
    (sock,) = open_sockets("0.0.0.0", free_port())
    sock.close()


def test_busy_port() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotServe, match=f"port {port} .* in use .*MAPYARD_PORT"):
            open_sockets("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "words"),
    [("192.0.2.1", "not an address of this machine"), ("no.such.host.invalid", "not known")],
)
def test_bad_hosts(host: str, words: str) -> None:
    with pytest.raises(CannotServe, match=f"{words}.*MAPYARD_HOST"):
        open_sockets(host, free_port())
