"""What a build takes is known before it begins, from a file, a URL or a size."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.builder.estimate import MOST_BYTES, calibrate, estimate_parts, find_size
from mapyard.builder.steps import select_steps
from mapyard.cli import build_app
from mapyard.errors import MapyardError


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        found = self.path == "/big.osm.pbf"
        self.send_response(200 if found else 404)
        if found:
            self.send_header("Content-Length", "4500000000")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("text", "size"),
    [("4.5GB", 4_500_000_000), ("800 mb", 800_000_000), ("12k", 12_000), ("77", 77)],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert find_size(text) == size


def test_sizes_of_files_and_urls(tmp_path: Path, url: str) -> None:
    (tmp_path / "a.osm.pbf").write_bytes(b"12345")
    assert find_size(str(tmp_path / "a.osm.pbf")) == 5
    assert find_size(f"{url}/big.osm.pbf") == 4_500_000_000
    with pytest.raises(MapyardError, match="status 404"):
        find_size(f"{url}/small.osm.pbf")
    with pytest.raises(MapyardError, match="no such file, and no size"):
        find_size("germany.osm.pbf")


def test_every_part_has_figures_that_grow_with_the_size() -> None:
    small, large = (estimate_parts(size, select_steps()) for size in (10**8, 10**9))
    assert [name for name, _ in small] == ["source", "store", "text", "routing", "tiles"]
    for (_, before), (_, after) in zip(small, large, strict=True):
        assert after.disk_bytes > 5 * before.disk_bytes
        assert after.cpu_s > 5 * before.cpu_s > 0
    assert 0.1 < calibrate() < 100


def test_the_command_builds_nothing_and_names_the_limit(tmp_path: Path) -> None:
    app = build_app(["build", "datasets"])
    arguments = ["build", "--estimate", "31GB", "--data", str(tmp_path / "data")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "build regions" not in done.output
    assert [line.split()[0] for line in done.output.splitlines()[:6]] == [
        "Part", "source", "store", "text", "routing", "tiles",
    ]  # fmt: skip
    assert not (tmp_path / "data").exists()
    done = CliRunner().invoke(app, ["build", "--estimate", str(MOST_BYTES + 1)])
    assert "build regions" in done.output
