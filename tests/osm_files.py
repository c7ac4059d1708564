"""Small hand-made OSM files for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
TEST_DATA = ROOT / "tests" / "data"

Tags = Mapping[str, str]
Member = tuple[str, int, str]


def osm_xml(
    nodes: Mapping[int, tuple[float, float] | tuple[float, float, Tags]],
    ways: Mapping[int, tuple[list[int], Tags]] | None = None,
    relations: Mapping[int, tuple[list[Member], Tags]] | None = None,
    attributes: str = ' version="1"',
) -> str:
    """Return an .osm file: nodes as (lon, lat[, tags]), ways as (refs, tags), relations alike."""
    lines = ['<osm version="0.6" generator="test">']
    for osm_id, node in nodes.items():
        lines.append(f'<node id="{osm_id}" lon="{node[0]}" lat="{node[1]}"{attributes}>')
        lines += _tags(node[2] if len(node) > 2 else {})
        lines.append("</node>")
    for osm_id, (refs, tags) in (ways or {}).items():
        lines.append(f'<way id="{osm_id}"{attributes}>')
        lines += [f'<nd ref="{ref}"/>' for ref in refs]
        lines += [*_tags(tags), "</way>"]
    for osm_id, (members, tags) in (relations or {}).items():
        lines.append(f'<relation id="{osm_id}"{attributes}>')
        lines += [
            f'<member type="{t}" ref="{r}" role={quoteattr(role)}/>' for t, r, role in members
        ]
        lines += [*_tags(tags), "</relation>"]
    return "\n".join([*lines, "</osm>\n"])


def _tags(tags: Tags) -> list[str]:
    return [f"<tag k={quoteattr(k)} v={quoteattr(v)}/>" for k, v in tags.items()]


def write_osm(path: Path, *args: object, **kwargs: object) -> Path:
    """Write osm_xml(...) to a file."""
    path.write_text(osm_xml(*args, **kwargs))  # type: ignore[arg-type]
    return path


def square(first: int, west: float, south: float, size: float) -> dict[int, tuple[float, float]]:
    """Return four corner nodes, counter-clockwise from the south-west, with ids from `first`."""
    east, north = west + size, south + size
    corners = [(west, south), (east, south), (east, north), (west, north)]
    return {first + i: corner for i, corner in enumerate(corners)}
