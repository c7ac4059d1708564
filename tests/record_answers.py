"""Record an answer to the first example of each endpoint, shortened, for the reference.

    make answers

With a data folder as argument, it is asked there; it must hold Monaco in all parts.

Run it when an endpoint's answer or example changes; a test says which ones lack.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import orjson

from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.http.endpoints import Endpoint, collect
from mapyard.http.reference.answers import FILE
from mapyard.http.reference.openapi import operation_id
from mapyard.server.assembly import load_modules
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES

#: Items of a list, and characters of a text, that are shown.
_ITEMS: Final = 2
_NUMBERS: Final = 6
_TEXT: Final = 160


def shorten(value: Any) -> Any:
    """Return a value with the beginnings of its lists and texts."""
    if isinstance(value, dict):
        return {name: shorten(item) for name, item in value.items()}
    if isinstance(value, list):
        is_numbers = all(isinstance(item, int | float) for item in value)
        return [shorten(item) for item in value[: _NUMBERS if is_numbers else _ITEMS]]
    if isinstance(value, str) and len(value) > _TEXT:
        return value[:_TEXT] + "…"
    return value


def ask(client: LocalClient, endpoint: Endpoint, method: str) -> Any:
    """Return the answer to the first example: JSON or text; None where it is neither."""
    path, rest = endpoint.path, dict(endpoint.examples[0].params)
    for name in list(rest):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", str(rest.pop(name)))
    if method == "GET":
        texts = {
            name: value if isinstance(value, str | list) and not _is_nested(value)
            else json.dumps(value)
            for name, value in rest.items()
        }  # fmt: skip
        answer = client.get(path, params=texts)
    else:
        answer = client.request(method, path, json=rest)
    if answer.status_code != 200:
        if answer.status_code == 501:  # datasets of one's own: this server has no accounts
            return None
        raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
    kind = answer.headers["content-type"].partition(";")[0]
    if kind.endswith("json"):
        return answer.json()
    return answer.text if kind.startswith("text/") or "xml" in kind else None


def is_text(endpoint: Endpoint) -> bool:
    """Return whether an endpoint answers text: pictures, which need a server, are not recorded."""
    return any("json" in kind or "text" in kind or "xml" in kind for kind in endpoint.media_types)


def _is_nested(value: Any) -> bool:
    return isinstance(value, list) and not all(isinstance(item, str) for item in value)


def main() -> int:
    """Write the file."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "data"
        if len(sys.argv) < 2:
            data.mkdir()
            build_dataset([EXAMPLES / "monaco.osm.pbf"], data, select_steps(None), Reporter())
        (data / "elevation").mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
        with LocalClient(Settings(data=data)) as client:
            for endpoint in collect(load_modules()):
                for method in endpoint.methods:
                    if endpoint.tag and endpoint.examples and is_text(endpoint):
                        answer = ask(client, endpoint, method)
                        if answer is not None:
                            found[operation_id(endpoint.path, method)] = shorten(answer)
    lines = (b'"%s": %s' % (name.encode(), orjson.dumps(answer)) for name, answer in found.items())
    FILE.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")
    sys.stdout.write(f"{len(found)} answers in {FILE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
