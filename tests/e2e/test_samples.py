"""The Python and JavaScript of every endpoint in the reference, run as it is printed."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import CHROMIUM, DESKTOP, PHONE, open_browser
from map_page import find_violations
from mapyard.http.endpoints import collect
from mapyard.http.reference.docs_page import entries_of
from mapyard.http.reference.openapi import build_openapi
from mapyard.http.reference.samples import write_javascript, write_python
from mapyard.server.assembly import load_modules
from osm_files import EXAMPLES
from servers import Server, running

pytestmark = pytest.mark.xdist_group("samples")

ADDRESS = "http://maps.test"
#: /metrics takes a token of its own.
OTHERS = ("/metrics",)


def find_samples(language: str) -> dict[str, str]:
    """Return the programs by endpoint, but for those that need an id or a file of one's own."""
    document = build_openapi(collect(load_modules()))
    return {
        f"{entry['methods'][0]} {entry['path']}": program
        for _, group in entries_of(document, ADDRESS)
        for entry in group
        if entry["curl"]
        and entry["path"] not in OTHERS
        and "{" not in entry["try"]["path"].partition("?")[0]
        for name, program in entry["samples"]
        if name == language and "FILE" not in program and "const file" not in program
    }


@pytest.fixture(scope="module")
def server(monaco_copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    (monaco_copy / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", monaco_copy / "elevation")
    with running(monaco_copy, tmp_path_factory.mktemp("samples") / "log") as opened:
        yield opened


def fill(program: str, server: Server, language: str) -> str:
    """Put in address and key; each language makes a dataset of its own."""
    own = program.replace(ADDRESS, server.address).replace("YOUR_KEY", server.key)
    return own.replace("my-shops", f"my-shops-{language}")


def test_python_is_run_as_printed(server: Server) -> None:
    programs = find_samples("Python")
    assert len(programs) > 50
    faults = []
    for name, program in programs.items():
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(fill(program, server, "python"), {})
        except Exception as error:  # all of them are to be told
            faults.append(f"{name}: {error!r}")
        else:
            if not printed.getvalue().strip():
                faults.append(f"{name} prints nothing")
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_javascript_is_run_as_printed(server: Server) -> None:
    programs = find_samples("JavaScript")
    assert len(programs) > 50
    faults = []
    with open_browser() as tab:
        tab.open(f"{server.address}/docs")
        for name, program in programs.items():
            inner = fill(program, server, "javascript").replace("console.log(", "return String(")
            found = tab.evaluate(
                f"(async () => {{ {inner} }})().catch((error) => `failed: ${{error.message}}`)"
            )
            if not found or found.startswith("failed"):
                faults.append(f"{name}: {found}")
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_one_language_for_all_examples(server: Server, axe: str) -> None:
    with open_browser() as tab:
        tab.open(f"{server.address}/docs")
        shown = (
            "[...document.querySelectorAll('.samples pre:not([hidden])')]"
            ".map(pre => pre.dataset.language)"
        )
        assert set(tab.evaluate(shown)) == {"curl"}
        for scheme, size in (("light", DESKTOP), ("dark", PHONE)):
            tab.prefer(scheme)
            tab.resize(*size)
            tab.page.locator(".languages button >> text=Python").nth(3).click()
            assert set(tab.evaluate(shown)) == {"Python"}
            assert find_violations(tab, axe) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= size[0]
        tab.page.reload()
        assert set(tab.evaluate(shown)) == {"Python"}
        tab.evaluate("localStorage.clear()")
        assert tab.errors == []


def test_files_and_requests_without_a_key() -> None:
    upload = {"with_key": False, "is_json": False, "uploads": True}
    program = write_python("PUT", "http://maps.test/x", None, **upload)
    assert 'content=Path("FILE").read_bytes(),\n    timeout=60,\n)' in program
    assert "X-API-Key" not in program
    compile(program, "printed", "exec")
    script = write_javascript("PUT", "http://maps.test/x", None, **upload)
    assert script.startswith("const file = document.querySelector")
    assert "body: file," in script
