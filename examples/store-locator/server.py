"""A store locator: one page, and the small backend that keeps the API key.

    MAPYARD_CORS_ORIGINS='["http://localhost:8000"]' mapyard demo
    MAPYARD_KEY=pk_live_… python examples/store-locator/server.py     # http://localhost:8000

The page never sees the key: it asks this backend, which asks Mapyard. For the map it gets a map
session, a token that draws for 15 minutes and counts once. Needs Python alone.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MAPYARD = os.environ.get("MAPYARD_SERVER", "http://localhost:4000").rstrip("/")
KEY = os.environ.get("MAPYARD_KEY", "")


class Refused(Exception):  # noqa: N818 - named for what it says
    """What the page is told, with a status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def ask(path: str, body: Any = None) -> Any:
    """Ask Mapyard; a body is posted as JSON."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{MAPYARD}{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        # 429 is ours to wait for, and no message of Mapyard's is for the customer.
        print(f"{path}: {error.code} {error.read()[:300]!r}", file=sys.stderr)
        raise Refused(503, "The map does not answer right now. Please try again.") from error
    except OSError as error:
        print(f"{path}: {error}", file=sys.stderr)
        raise Refused(503, "The map does not answer right now. Please try again.") from error


def read_stores() -> list[dict[str, Any]]:
    """Return the stores."""
    with (FOLDER / "stores.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [{**row, "lat": float(row["lat"]), "lon": float(row["lon"])} for row in rows]


def find_stores(address: str, mode: str) -> dict[str, Any]:
    """Return where an address is, and the stores by the time that it takes to get there."""
    if not 3 <= len(address) <= 200 or mode not in ("foot", "bicycle", "auto"):
        raise Refused(400, "Please enter an address.")
    query = urllib.parse.urlencode({"q": address, "limit": 1})
    places = ask(f"/api/v1/geocode?{query}")["features"]
    if not places:
        raise Refused(404, f"We do not know {address!r}. Is there a typing error?")
    here = places[0]["geometry"]["coordinates"][:2]
    stores = read_stores()
    matrix = ask(
        "/api/v1/matrix",
        {
            "origins": [here],
            "destinations": [[store["lon"], store["lat"]] for store in stores],
            "mode": mode,
        },
    )
    for store, meters, seconds in zip(
        stores, matrix["distances"][0], matrix["durations"][0], strict=True
    ):
        store["meters"], store["seconds"] = meters, seconds
    reachable = [store for store in stores if store["seconds"] is not None]
    return {
        "label": places[0]["properties"]["label"],
        "lon": here[0],
        "lat": here[1],
        "stores": sorted(reachable, key=lambda store: store["seconds"]),
    }


class Handler(BaseHTTPRequestHandler):
    """The page and its two questions."""

    def do_GET(self) -> None:
        """Answer the page, and /stores."""
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/":
            page = (FOLDER / "index.html").read_text(encoding="utf-8")
            self.reply(200, page.replace("MAPYARD_SERVER", MAPYARD).encode(), "text/html")
        elif url.path == "/stores":
            self.answer(lambda: find_stores(query.get("address", ""), query.get("mode", "foot")))
        else:
            self.reply(404, b"{}", "application/json")

    def do_POST(self) -> None:
        """Begin a map session."""
        if self.path == "/map-session":
            self.answer(lambda: ask("/api/v1/tiles/session", {}))
        else:
            self.reply(404, b"{}", "application/json")

    def answer(self, work: Any) -> None:
        """Answer as JSON, refusals too."""
        try:
            status, body = 200, work()
        except Refused as refused:
            status, body = refused.status, {"message": str(refused)}
        self.reply(status, json.dumps(body).encode(), "application/json")

    def reply(self, status: int, body: bytes, media_type: str) -> None:
        """Send an answer."""
        self.send_response(status)
        self.send_header("Content-Type", f"{media_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the addresses of customers are theirs."""


def main() -> None:
    """Serve until stopped."""
    if not KEY:
        sys.exit("set MAPYARD_KEY to a key of your Mapyard; `mapyard demo` prints one")
    port = int(os.environ.get("PORT", "8000"))
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"http://localhost:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
