"""/metrics on a socket of its own: a port that only the monitoring reaches, or a Unix socket.

One process of the machine opens it, the one of the background jobs; what it tells is summed over
all workers, as at /metrics.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import socketserver
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mapyard.http import metrics
from mapyard.http.freshness import render_freshness
from mapyard.settings import Settings, split_listen

if TYPE_CHECKING:
    from mapyard.http.background import JobContext

log = logging.getLogger(__name__)

#: A scraper that sends or takes nothing for so long is let go.
_SOCKET_TIMEOUT_S: Final = 10.0
_LOOK_S: Final = 0.25


def serve_metrics(ctx: JobContext) -> None:
    """Answer on the socket of MAPYARD_METRICS_LISTEN until the end; return when there is none."""
    settings = ctx.services.settings
    if not settings.metrics_listen:
        ctx.stop.wait()
        return
    with open_server(settings) as server:
        server.timeout = _LOOK_S
        while not ctx.stop.is_set():
            server.handle_request()


def open_server(settings: Settings) -> socketserver.TCPServer:
    """Return the server, listening; its answers are made in threads."""

    class Handler(_Handler):
        data = settings.data

    host, port, path = split_listen(settings.metrics_listen)
    if path is None:
        kind = _Ipv6Server if ":" in host else _Server
        return kind((host, port), Handler)
    with contextlib.suppress(FileNotFoundError):
        if path.is_socket():
            path.unlink()  # of a run before; a file of another kind is left alone
    server = _UnixServer(str(path), Handler)
    path.chmod(0o660)  # the service's user, and a group that the operator gives the folder to
    return server


class _Handler(BaseHTTPRequestHandler):
    """Answers GET /metrics, and nothing else."""

    data: Path
    timeout = _SOCKET_TIMEOUT_S

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404, "only /metrics is served here")
            return
        body = metrics.render() + render_freshness(self.data)
        self.send_response(200)
        self.send_header("Content-Type", metrics.CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "mapyard"

    def log_message(self, format: str, *args: Any) -> None:
        return


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class _Ipv6Server(_Server):
    address_family = socket.AF_INET6


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, _ = super().get_request()
        return connection, ("unix", 0)  # the handler wants an address
