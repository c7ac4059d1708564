"""Maps with one thing left open, and a table of what it may be: a row is a map of its own.

A row reads `highway=residential + access=no | auto: c, foot: m | wiki Key:access`: what is tagged,
which node the way of a mode passes, where that is written. `at m barrier=gate` tags a node,
`back` asks for the way back, `none` says that there is no way, and `45-50` is a speed in km/h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mapyard.routing.modes import Mode
from scenarios.ascii_map import RIGHT_HAND, Scene

type Tags = dict[str, str]

TABLES = Path(__file__).parent / "tables"

_ITEM = re.compile(r"(?:at (?P<node>\w) )?(?P<key>[^=]+)=(?P<value>.*)")
_SOURCES = {
    "wiki": "https://wiki.openstreetmap.org/wiki/",
    "valhalla": "https://github.com/valhalla/valhalla/issues/",
    "osrm": "https://github.com/Project-OSRM/osrm-backend/issues/",
    "graphhopper": "https://github.com/graphhopper/graphhopper/issues/",
}


@dataclass(frozen=True, slots=True)
class Expected:
    """What a mode is to do on the map of a row."""

    mode: Mode
    back: bool
    what: str


@dataclass(frozen=True, slots=True)
class Row:
    """One variant of a map."""

    text: str
    tags: Tags
    node_tags: dict[str, Tags]
    expected: tuple[Expected, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A drawing, the way that is left open, the ends to ask between, and the name of the table."""

    sentence: str
    drawing: str
    slot: str
    ends: str
    table: str
    ways: dict[str, Tags] = field(default_factory=dict)
    corner: tuple[float, float] = RIGHT_HAND
    restriction: tuple[str, str, str] | None = None

    @property
    def rows(self) -> list[Row]:
        """Return the rows of the table."""
        lines = (TABLES / f"{self.table}.txt").read_text().splitlines()
        return [_read_row(line) for line in lines if line and not line.startswith("#")]

    def make_scenes(self) -> Iterator[tuple[Row, Scene]]:
        """Yield every row with its map."""
        for row in self.rows:
            relations = []
            ways = dict(self.ways)
            if self.restriction is None:
                ways[self.slot] = row.tags
            else:
                relations.append((*self.restriction, row.tags))
            name = f"{self.sentence}: {row.text}"
            yield row, Scene(name, self.drawing, ways, row.node_tags, relations, self.corner)


def _read_row(line: str) -> Row:
    what, expected, source = (part.strip() for part in line.split(" | "))
    tags: Tags = {}
    node_tags: dict[str, Tags] = {}
    for item in what.split(" + "):
        match = _ITEM.fullmatch(item.strip())
        assert match, f"no tag: {item!r} in {line!r}"
        target = tags if match["node"] is None else node_tags.setdefault(match["node"], {})
        target[match["key"]] = match["value"]
    site, _, page = source.partition(" ")
    assert site in _SOURCES, source
    return Row(what, tags, node_tags, tuple(_read_expected(expected)), _SOURCES[site] + page)


def _read_expected(text: str) -> Iterator[Expected]:
    for part in text.split(","):
        who, _, what = part.strip().partition(": ")
        for one in who.split(" & "):
            mode, _, back = one.partition(" ")
            assert mode in ("auto", "foot", "bicycle"), text
            assert back in ("", "back"), text
            yield Expected(mode, bool(back), what)
