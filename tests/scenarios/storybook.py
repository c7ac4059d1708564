"""Maps written down as text, each with the sentence that it tests: `maps/*.txt`.

A map is its sentence, its drawing (indented), and lines that say what is drawn and what happens:

    a street is closed by bollards in the middle, and open at both ends
        s a b c t
        . d . e .
    sabct, adec: residential
    at b: barrier=bollard
    > auto st: sadect
    > foot st: sabct
    from osrm car/barrier

Letters are nodes; digits are mere positions. Ways are named by their letters; the first word is the
kind of `highway`, further tags follow with `+`. Other lines are `turn no_left_turn: ab b bc` (from,
via node or way, to), `area pedestrian: abc outer, cda outer, efghe inner`, `cell 10` (meters of a
letter) and `drive left`. `asking.py` tells what may be asked.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scenarios.ascii_map import LEFT_HAND, RIGHT_HAND, Scene

type Tags = dict[str, str]

MAPS = Path(__file__).parent / "maps"
#: Where a fact is written down; a map without a source says what its sentence does.
SOURCES = {
    "wiki": "https://wiki.openstreetmap.org/wiki/",
    "osrm": "https://github.com/Project-OSRM/osrm-backend/blob/master/features/",
    "valhalla": "https://github.com/valhalla/valhalla/blob/master/test/gurka/",
}


@dataclass(slots=True)
class Story:
    """A sentence, its map, and what to ask."""

    sentence: str
    theme: str
    drawing: str
    ways: dict[str, Tags] = field(default_factory=dict)
    asks: list[str] = field(default_factory=list)
    nodes: dict[str, Tags] = field(default_factory=dict)
    restrictions: list[tuple[str, str, str, Tags]] = field(default_factory=list)
    areas: list[tuple[dict[str, str], Tags]] = field(default_factory=list)
    corner: tuple[float, float] = RIGHT_HAND
    cell_m: float = 100.0
    sources: list[str] = field(default_factory=list)

    def make_scene(self) -> Scene:
        """Return the map, to be written."""
        return Scene(
            self.sentence,
            self.drawing,
            self.ways,
            self.nodes,
            self.restrictions,
            self.corner,
            self.areas,
            self.cell_m,
        )


def read_stories() -> list[Story]:
    """Return the maps of all files."""
    return [
        _read(text, path.stem)
        for path in sorted(MAPS.glob("*.txt"))
        for text in _split(path.read_text())
    ]


def _split(text: str) -> Iterator[str]:
    """Yield what lies between blank lines."""
    for block in re.split(r"\n\s*\n", text):
        if block.strip() and not block.startswith("#"):
            yield block.strip("\n")


def _read(text: str, theme: str) -> Story:
    sentence, *lines = text.splitlines()
    drawn = [line for line in lines if line.startswith("    ")]
    assert drawn, f"no drawing: {sentence}"
    story = Story(sentence, theme, textwrap.dedent("\n".join(drawn)))
    for line in lines[len(drawn) :]:
        _read_line(story, line)
    assert story.asks, f"nothing is asked: {sentence}"
    return story


def _read_line(story: Story, line: str) -> None:
    head, _, rest = line.partition(": ")
    word, _, name = head.partition(" ")
    word = word if name and not word.endswith(",") else ""
    if line.startswith("> "):
        story.asks.append(line[2:])
    elif word == "from":
        site, _, page = name.partition(" ")
        story.sources.append(SOURCES[site] + page)
    elif line == "drive left":
        story.corner = LEFT_HAND
    elif word == "cell":
        story.cell_m = float(name)
    elif word == "at":
        for letter in name.split(", "):
            story.nodes[letter] = read_tags(rest)
    elif word == "turn":
        (start, via, end), *more = (part.split(" ") for part in rest.split(" + "))
        tags = {"restriction": name} if "=" not in name else read_tags(name)
        for (tag,) in more:
            tags |= read_tags(tag)
        story.restrictions.append((start, via, end, tags))
    elif word == "area":
        roles = dict(part.split(" ") for part in rest.split(", "))
        story.areas.append((roles, read_tags(name)))
    else:
        for letters in head.split(", "):
            assert letters not in story.ways, f"{letters} twice: {story.sentence}"
            story.ways[letters] = read_tags(rest)


def read_tags(text: str) -> Tags:
    """Return the tags of `primary + oneway=yes`; `-` stands for none."""
    tags: Tags = {}
    for part in text.split(" + "):
        key, separator, value = part.strip().partition("=")
        if separator:
            tags[key] = value
        elif key != "-":
            tags["highway"] = key
    return tags
