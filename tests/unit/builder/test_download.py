from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mapyard.builder.download import DownloadFailed, download
from mapyard.builder.progress import Reporter

BODY = bytes(range(256)) * 4000


class Handler(BaseHTTPRequestHandler):
    """Serves BODY, breaks off as often as `breaks` says, and its md5."""

    breaks = 0
    login = ""
    md5 = hashlib.md5(BODY).hexdigest()
    ranges: list[str | None] = []  # noqa: RUF012 - reset by the fixture

    def do_GET(self) -> None:
        if self.login and self.headers.get("Authorization") != self.login:
            self._send(401, b"no")
        elif self.path.endswith(".md5"):
            self._send(200, f"{self.md5}  file\n".encode())
        elif self.path == "/none.osm.pbf":
            self._send(404, b"no")
        else:
            asked = self.headers.get("Range")
            type(self).ranges.append(asked)
            start = int(asked[6:-1]) if asked else 0
            body = BODY[start:]
            if type(self).breaks:
                type(self).breaks -= 1
                self.send_response(206 if asked else 200)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", '"v1"')
                self.end_headers()
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                self.close_connection = True
                return
            self._send(206 if asked else 200, body)

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"v1"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Handler.breaks, Handler.login, Handler.ranges = 0, "", []
    Handler.md5 = hashlib.md5(BODY).hexdigest()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/x.osm.pbf"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_download_that_breaks_off_goes_on_where_it_stopped(tmp_path: Path, url: str) -> None:
    Handler.breaks = 2
    path = download(url, tmp_path, Reporter(quiet=True))
    assert path.read_bytes() == BODY
    assert Handler.ranges == [None, "bytes=512000-", "bytes=768000-"]
    assert [p.name for p in tmp_path.iterdir()] == ["x.osm.pbf"]


def test_what_breaks_off_again_and_again_is_kept_for_the_next_run(tmp_path: Path, url: str) -> None:
    Handler.breaks = 5
    with pytest.raises(DownloadFailed, match="broke off 5 times"):
        download(url, tmp_path, Reporter(quiet=True))
    assert download(url, tmp_path, Reporter(quiet=True)).read_bytes() == BODY


def test_a_wrong_sum_is_refused(tmp_path: Path, url: str) -> None:
    Handler.md5 = "0" * 32
    with pytest.raises(DownloadFailed, match="md5"):
        download(url, tmp_path, Reporter(quiet=True))
    assert not (tmp_path / "x.osm.pbf").exists()


def test_an_answer_that_is_no_file(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadFailed, match="answered 404"):
        download(url.replace("x.osm", "none.osm"), tmp_path, Reporter(quiet=True))


def test_a_login_goes_to_the_server_and_nowhere_else(url: str, tmp_path: Path) -> None:
    Handler.login = "Basic " + base64.b64encode(b"ann:s3cret@").decode()
    with_login = url.replace("http://", "http://ann:s3cret%40@") + "?key=hidden"
    assert download(with_login, tmp_path, Reporter(quiet=True)).read_bytes() == BODY
    assert all(b"s3cret" not in file.read_bytes() for file in tmp_path.iterdir())
    wrong = with_login.replace("s3cret", "s4cret").replace("x.osm", "other.osm")
    with pytest.raises(DownloadFailed, match=r"^http://127\.[\d.:]+/other\.osm\.pbf answered 401"):
        download(wrong, tmp_path, Reporter(quiet=True))
