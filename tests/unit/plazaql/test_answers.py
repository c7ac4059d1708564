"""Queries against answers from plain Python over the same file, read by osmium: 160 of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import osmium
import pytest

import mapyard
from osm_files import EXAMPLES

RADIUS_M = 6_371_008.8
BOX = (43.73, 7.415, 43.74, 7.428)
AT = (43.7384, 7.4246)


class Element(NamedTuple):
    kind: str
    id: int
    tags: dict[str, str]
    lat: float
    lon: float


@pytest.fixture(scope="module")
def m(monaco: Path) -> Iterator[Any]:
    with mapyard.open(monaco) as opened:
        yield opened


@pytest.fixture(scope="module")
def elements() -> list[Element]:
    """All listed elements, in the order of lists: by id, nodes before ways before relations."""
    found = []
    for one in osmium.FileProcessor(EXAMPLES / "monaco.osm.pbf"):
        tags = dict(one.tags)
        kind = {"n": "node", "w": "way", "r": "relation"}[one.type_str()]
        if kind == "node" and not tags:
            continue
        place = (one.lat, one.lon) if kind == "node" else (math.nan, math.nan)  # type: ignore[attr-defined]
        found.append(Element(kind, one.id, tags, *place))
    order = {"node": 0, "way": 1, "relation": 2}
    return sorted(found, key=lambda e: (e.id, order[e.kind]))


type Test = Callable[[Element], Any]


def is_in_box(e: Element) -> bool:
    south, west, north, east = BOX
    return south <= e.lat <= north and west <= e.lon <= east


def distance_m(e: Element) -> float:
    lat1, lat2 = math.radians(e.lat), math.radians(AT[0])
    half = math.sin((lat2 - lat1) / 2) ** 2
    half += math.cos(lat1) * math.cos(lat2) * math.sin(math.radians(e.lon - AT[1]) / 2) ** 2
    return 2 * RADIUS_M * math.asin(math.sqrt(half))


def number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return math.nan


KEYS = ["amenity", "shop", "highway", "name", "natural", "tourism", "building", "leisure",
        "entrance", "barrier", "wheelchair", "addr:street", "operator", "bench"]  # fmt: skip
VALUES = [("amenity", "bench"), ("amenity", "restaurant"), ("shop", "clothes"), ("natural", "tree"),
          ("highway", "crossing"), ("highway", "bus_stop"), ("tourism", "hotel"),
          ("entrance", "yes"), ("wheelchair", "yes"), ("barrier", "gate"),
          ("amenity", "no_such")]  # fmt: skip
PATTERNS = [("name", "^Le "), ("name", "e$"), ("amenity", "^(bar|pub)$"), ("shop", "o.*o"),
            ("highway", "way"), ("name", "[0-9]"), ("operator", "SNCF|CAM")]  # fmt: skip


def quote(key: str) -> str:
    return f'"{key}"' if ":" in key else key


def cases() -> Iterator[tuple[str, Test]]:
    """Yield queries, and which elements each asks for."""
    for key in KEYS:
        for kind in ("node", "way", "relation"):
            yield (
                f"search({kind}, {quote(key)}: *);",
                lambda e, key=key, kind=kind: e.kind == kind and key in e.tags,
            )
        yield (
            f"search(node, amenity: *, {quote(key)}: !*);",
            lambda e, key=key: e.kind == "node" and "amenity" in e.tags and key not in e.tags,
        )
        yield (
            f"search(node, {quote(key)}: *).bbox({', '.join(map(str, BOX))});",
            lambda e, key=key: e.kind == "node" and key in e.tags and is_in_box(e),
        )
    for key, value in VALUES:
        has = lambda e, key=key, value=value: e.tags.get(key) == value  # noqa: E731
        yield f'search({key}: "{value}");', has
        yield (
            f'search(node, {key}: !"{value}");',
            lambda e, key=key, value=value: (
                e.kind == "node" and key in e.tags and e.tags[key] != value
            ),
        )
        yield (
            f'search(node, {key}: "{value}").around(300, point({AT[0]}, {AT[1]}));',
            (lambda e, has=has: e.kind == "node" and has(e) and distance_m(e) <= 300),
        )
        yield (
            f'search(node).filter(t["{key}"] == "{value}");',
            (lambda e, has=has: e.kind == "node" and has(e)),
        )
        yield (
            f'$a = search(node, {key}: "{value}"); $b = search(node, name: *); $a & $b;',
            (lambda e, has=has: e.kind == "node" and has(e) and "name" in e.tags),
        )
        yield (
            f'search(node, name: *) - search(node, {key}: "{value}");',
            (lambda e, has=has: e.kind == "node" and "name" in e.tags and not has(e)),
        )
    for key, pattern in PATTERNS:
        yield (
            f'search({key}: ~"{pattern}");',
            lambda e, key=key, pattern=pattern: key in e.tags and re.search(pattern, e.tags[key]),
        )
        yield (
            f'search(node, {key}: !~"{pattern}");',
            lambda e, key=key, pattern=pattern: (
                e.kind == "node" and key in e.tags and not re.search(pattern, e.tags[key])
            ),
        )
    for least in (1, 3, 6):
        yield (
            f'search(way).filter(number(t["building:levels"]) >= {least});',
            (
                lambda e, least=least: (
                    e.kind == "way" and number(e.tags.get("building:levels")) >= least
                )
            ),
        )


CASES = list(cases())


def test_there_are_many() -> None:
    assert len(CASES) + len(COUNTED) >= 150
    assert len({text for text, _ in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_query_finds_what_python_finds(
    m: Any, elements: list[Element], case: tuple[str, Test]
) -> None:
    text, test = case
    assert [f.id for f in m.plazaql(text)] == [f"{e.kind}/{e.id}" for e in elements if test(e)]


COUNTED: list[tuple[str, Callable[[list[Element]], Any]]] = [
    ("search(node, amenity: *).count();", lambda all_: sum(
        e.kind == "node" and "amenity" in e.tags for e in all_)),
    ('search(node, amenity: *).group_by(t["amenity"]).count();', lambda all_: dict(Counter(
        e.tags["amenity"] for e in all_ if e.kind == "node" and "amenity" in e.tags))),
    ('search(way, highway: *).group_by(t["highway"]).count();', lambda all_: dict(Counter(
        e.tags["highway"] for e in all_ if e.kind == "way" and "highway" in e.tags))),
    ('search(way, building: *).max(number(t["building:levels"]));', lambda all_: max(
        number(e.tags["building:levels"]) for e in all_ if e.kind == "way"
        and "building" in e.tags and not math.isnan(number(e.tags.get("building:levels"))))),
    ('search(way, building: *).sum(number(t["building:levels"]));', lambda all_: sum(
        number(e.tags["building:levels"]) for e in all_ if e.kind == "way"
        and "building" in e.tags and not math.isnan(number(e.tags.get("building:levels"))))),
    ("search(relation, type: *).count();", lambda all_: sum(
        e.kind == "relation" and "type" in e.tags for e in all_)),
]  # fmt: skip


@pytest.mark.parametrize("case", COUNTED, ids=lambda case: case[0])
def test_a_number_is_what_python_counts(
    m: Any, elements: list[Element], case: tuple[str, Callable[[list[Element]], Any]]
) -> None:
    text, count = case
    assert m.plazaql(text).result == pytest.approx(count(elements))


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_sorted_by_a_tag(m: Any, elements: list[Element], order: str) -> None:
    named = [e for e in elements if e.kind == "node" and {"shop", "name"} <= e.tags.keys()]
    found = m.plazaql(f'search(node, shop: *, name: *).sort(t["name"], order: :{order}).limit(9);')
    expected = sorted((e.tags["name"].encode() for e in named), reverse=order == "desc")[:9]
    assert [f["name"].encode() for f in found] == expected
