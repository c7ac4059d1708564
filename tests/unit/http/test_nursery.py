"""What all server processes have read before they are forked."""

from __future__ import annotations

import subprocess
import sys

#: What only builds, updates, exports or few questions need: it is read at its first use.
FOR_OTHERS = {
    "osmium", "pyproj", "markdown_it", "geopandas", "pandas", "pyarrow", "polars", "rasterio",
    "rich", "typer", "mapyard.builder", "mapyard.updates.run", "mapyard.updates.changes",
    "mapyard.store.writer", "mapyard.store.patching", "mapyard.osm.source", "mapyard.osm.patch",
    "mapyard.routing.building", "mapyard.routing.contraction.build",
    "mapyard.routing.tagging.rewriting",
}  # fmt: skip
READ = """
import socket, sys
from mapyard.server.queries.process import Forker
from mapyard.server.worker import main
from mapyard.settings import get_settings
Forker(get_settings(), socket.socket())
print(*sys.modules)
"""


def test_workers_read_nothing_that_only_builds_need() -> None:
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    read = set(done.stdout.split())
    assert {"mapyard.http.app", "mapyard.routing.engine"} <= read
    assert not read & FOR_OTHERS
