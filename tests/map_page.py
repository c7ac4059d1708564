"""What tests of the map page do with it: open its tools, click the map, wait."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from browser import Browser
from servers import COMMAND, Server


def open_link(server: Server, data: Path) -> str:
    """Return what `mapyard open` prints."""
    done = subprocess.run(
        [COMMAND, "open", "--data", data],
        env={**os.environ, "MAPYARD_PORT": str(server.port)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    link = done.stdout.strip()
    assert link.startswith(f"http://localhost:{server.port}/open?token=")
    return link.replace("localhost", "127.0.0.1")


def wait(tab: Browser, condition: str, timeout_s: float = 90.0) -> None:
    ends_s = time.monotonic() + timeout_s
    while not tab.evaluate(f"Boolean({condition})"):
        assert time.monotonic() < ends_s, (condition, tab.text("#panel")[:500], tab.errors)
        time.sleep(0.05)


def wait_for_text(tab: Browser, text: str) -> None:
    wait(tab, f"document.querySelector('#panel').innerText.includes({json.dumps(text)})")


def open_tool(tab: Browser, tool: str) -> None:
    tab.click(f'#tools [data-tool="{tool}"]')


_FREE = """(() => {
  const canvas = playground.map.getCanvas(), free = [];
  for (let y = 8; y < innerHeight; y += 16)
    for (let x = 8; x < innerWidth; x += 16)
      if (document.elementFromPoint(x, y) === canvas) free.push([x, y]);
  return free;
})()"""


def locate(tab: Browser, lon: float, lat: float) -> tuple[float, float]:
    """Return where a position is in the window; drag the map first where something covers it."""
    wait(tab, "document.getElementById('panel').getAnimations().length === 0")  # a sheet slides
    where = f"(p => [p.x, p.y])(playground.map.project([{lon}, {lat}]))"
    x, y = tab.evaluate(where)
    free = tab.evaluate(_FREE)
    if any(abs(x - left) <= 8 and abs(y - top) <= 8 for left, top in free):
        return x, y
    assert free, "nothing of the map can be seen"
    middle = [sum(values) / len(free) for values in zip(*free, strict=True)]
    left, top = min(free, key=lambda at: abs(at[0] - middle[0]) + abs(at[1] - middle[1]))
    tab.evaluate(f"void playground.map.panBy([{x - left}, {y - top}], {{animate: false}})")
    wait(tab, "playground.map.loaded()")
    x, y = tab.evaluate(where)
    return x, y


def click_map(tab: Browser, lon: float, lat: float) -> None:
    """Click on the map with the mouse, at a position."""
    tab.page.mouse.click(*locate(tab, lon, lat))


def write_query(tab: Browser, text: str) -> None:
    """Put a query into the editor of the tool that is open."""
    wait(tab, "playground.page.current.editor")
    tab.evaluate(f"void playground.page.current.set({json.dumps(text)})")


def read_texts(tab: Browser, selector: str) -> list[str]:
    """Return the text of each element; after " >>> " those in the shadow of the first."""
    host, inner, selected = selector.partition(" >>> ")
    root = f"document.querySelector({json.dumps(host)}).shadowRoot" if inner else "document"
    found: list[str] = tab.evaluate(
        f"[...{root}.querySelectorAll({json.dumps(selected or host)})].map(e => e.innerText)"
    )
    return found


def wait_for_texts(tab: Browser, selector: str, has: Callable[[list[str]], bool]) -> list[str]:
    """Wait until the texts of some elements are as wanted, and return them."""
    ends_s = time.monotonic() + 40.0
    while not has(found := read_texts(tab, selector)):
        assert time.monotonic() < ends_s, (selector, found)
        time.sleep(0.05)
    return found


def find_violations(tab: Browser, axe: str) -> list[str]:
    """Return what axe-core finds on the page as it is."""
    tab.evaluate(axe + "; 0")
    found: list[str] = tab.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations"
        ".map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ').slice(0, 300)))"
    )
    return found


def forget_errors(tab: Browser) -> None:
    """What a browser notes of an answer of 4xx is no error of the page."""
    tab.errors[:] = [text for text in tab.errors if "status of 4" not in text]
