"""A QGIS project for your server: the map in its own style, and two layers with styles of ours.

    python examples/qgis/make_project.py KEY [SERVER] [--out mapyard.qgs]

The key becomes part of the project, so do not hand it on; one restricted to tiles and OGC API
will do. Needs Python alone. Layers: vector tiles with the server's style as QGIS reads it, cafés
and restaurants with their names, buildings, both from OGC API Features, of what is in view.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

TEMPLATE = Path(__file__).with_name("mapyard.qgs.template")


def write_project(server: str, key: str) -> str:
    """Return the project."""
    if not re.fullmatch(r"pk_\w+", key):
        raise SystemExit("the key should begin with pk_; `mapyard demo` prints one")
    base = f"{server.rstrip('/')}/key/{key}"
    if not re.fullmatch(r"https?://[\w.:\[\]/-]+", base):
        raise SystemExit(f"{server!r} is no address such as http://localhost:4000")
    return TEMPLATE.read_text(encoding="utf-8").replace("{{BASE}}", base)


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key")
    parser.add_argument("server", nargs="?", default="http://localhost:4000")
    parser.add_argument("--out", type=Path, default=Path("mapyard.qgs"))
    options = parser.parse_args()
    options.out.write_text(write_project(options.server, options.key), encoding="utf-8")
    options.out.chmod(0o600)
    print(f"{options.out}: open it with QGIS")


if __name__ == "__main__":
    main()
