"""Random changes to a map, as a mapper or a vandal makes them, for tests of updates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import osmium

KINDS = ("node", "way", "relation")
NAMES = ("Hauptstrasse", "Rue Grimaldi", "Clematisweg", "Neustadt", "Altdorf", "Am Bach", "Monaco")
TAGS = (
    ("amenity", "cafe"), ("shop", "books"), ("tourism", "museum"), ("place", "village"),
    ("place", "suburb"), ("place", "hamlet"), ("place", "town"), ("addr:housename", "Villa Rosa"),
    ("addr:housenumber", "7"), ("addr:place", "Weiler"), ("addr:city", "Altdorf"),
    ("addr:postcode", "9494"), ("addr:postcode", "98000"), ("addr:street", "Am Bach"),
    ("highway", "residential"), ("waterway", "stream"), ("building", "yes"), ("name:de", "Bach"),
    ("boundary", "administrative"), ("admin_level", "8"), ("admin_level", "9"), ("ref", "A 7"),
    ("addr:interpolation", "odd"), ("wikidata", "Q1"), ("ISO3166-1", "LI"), ("addr:street", ""),
)  # fmt: skip


class Map:
    """All elements of a file: [shape, tags, version] by kind and id.

    Shapes are (lon, lat), node ids, or (type, id, role) members. `change` gives a diff.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.elements: list[dict[int, list[Any]]] = [{}, {}, {}]
        self.deleted: list[tuple[int, int]] = []
        for item in osmium.FileProcessor(str(path)):
            tags = {tag.k: tag.v for tag in item.tags}
            shape: Any
            if item.is_node():
                kind, shape = 0, (item.lon, item.lat)
            elif item.is_way():
                kind, shape = 1, [node.ref for node in item.nodes]
            else:
                kind = 2
                shape = [("nwr".index(m.type), m.ref, m.role) for m in item.members]
            self.elements[kind][item.id] = [shape, tags, max(1, item.version)]
        self._changed: set[tuple[int, int]] = set()
        self._next = 10**12

    # ---- writing ----------------------------------------------------------------------------

    def _xml(self, kind: int, osm_id: int) -> str:
        shape, tags, version = self.elements[kind][osm_id]
        place = f' lon="{shape[0]:.7f}" lat="{shape[1]:.7f}"' if kind == 0 else ""
        lines = [f'<{KINDS[kind]} id="{osm_id}" version="{version}"{place}>']
        if kind == 1:
            lines += [f'<nd ref="{ref}"/>' for ref in shape]
        elif kind == 2:
            lines += [
                f'<member type="{KINDS[t]}" ref="{ref}" role={quoteattr(role)}/>'
                for t, ref, role in shape
            ]
        lines += [f"<tag k={quoteattr(k)} v={quoteattr(v)}/>" for k, v in tags.items()]
        return "".join([*lines, f"</{KINDS[kind]}>\n"])

    def write(self, path: Path) -> None:
        """Write the map as it is now."""
        lines = [self._xml(kind, i) for kind in range(3) for i in sorted(self.elements[kind])]
        path.write_text(f'<osm version="0.6">{"".join(lines)}</osm>')

    def change(self, path: Path, count: int) -> None:
        """Make some random changes and write them as a diff."""
        self._changed, self.deleted = set(), []
        while len(self._changed) + len(self.deleted) < count:
            actions: list[Callable[[], None]] = [
                self._rename, self._move, self._move_much, self._retag, self._retag, self._untag,
                self._delete, self._recreate, self._create, self._copy_name, self._border,
                self._number,
            ]  # fmt: skip
            actions[int(self.random.integers(len(actions)))]()
        gone = "".join(
            f'<{KINDS[kind]} id="{i}" version="999"/>\n'
            for kind, i in self.deleted
            if i not in self.elements[kind]
        )
        there = "".join(
            self._xml(kind, i) for kind, i in sorted(self._changed) if i in self.elements[kind]
        )
        path.write_text(
            f'<osmChange version="0.6"><modify>{there}</modify><delete>{gone}</delete></osmChange>'
        )

    # ---- changes ----------------------------------------------------------------------------

    def _pick(self, kind: int | None = None, key: str = "") -> tuple[int, int] | None:
        """Return a random element, mostly one with tags."""
        if kind is None:
            kind = int(self.random.choice(3, p=(0.45, 0.4, 0.15)))
        ids = [
            i for i, (_, tags, _) in self.elements[kind].items() if (key in tags if key else tags)
        ]
        if not ids:
            return None
        return kind, ids[int(self.random.integers(len(ids)))]

    def _touch(self, found: tuple[int, int]) -> list[Any]:
        element = self.elements[found[0]][found[1]]
        element[2] += 1
        element[1] = dict(element[1])
        self._changed.add(found)
        return element

    def _rename(self) -> None:
        if found := self._pick(key="name"):
            name = NAMES[int(self.random.integers(len(NAMES)))]
            self._touch(found)[1]["name"] = name

    def _copy_name(self) -> None:
        found, other = self._pick(key="name"), self._pick(key="name")
        if found and other:
            self._touch(found)[1]["name"] = self.elements[other[0]][other[1]][1]["name"]

    def _shift(self, osm_id: int, by: float) -> None:
        if osm_id in self.elements[0]:
            element = self._touch((0, osm_id))
            x, y = element[0]
            element[0] = (x + self.random.normal(0, by), y + self.random.normal(0, by))

    def _move(self) -> None:
        if found := self._pick(0):
            self._shift(found[1], 0.0005)

    def _move_much(self) -> None:
        if found := self._pick(1):
            for ref in dict.fromkeys(self.elements[1][found[1]][0]):
                self._shift(ref, 0.0003)

    def _border(self) -> None:
        """Move a node of a border, or take a member out of a boundary."""
        found = self._pick(2, "boundary")
        members = [m for m in self.elements[2][found[1]][0] if m[0] == 1] if found else []
        if not found or not members:
            return
        way = self.elements[1].get(members[int(self.random.integers(len(members)))][1])
        if way and self.random.random() < 0.8:
            self._shift(way[0][int(self.random.integers(len(way[0])))], 0.002)
        else:
            element = self._touch(found)
            element[0] = element[0][:-1]

    def _retag(self) -> None:
        if found := self._pick():
            key, value = TAGS[int(self.random.integers(len(TAGS)))]
            self._touch(found)[1][key] = value

    def _untag(self) -> None:
        if found := self._pick():
            tags = self._touch(found)[1]
            del tags[list(tags)[int(self.random.integers(len(tags)))]]

    def _number(self) -> None:
        if found := self._pick(key="addr:housenumber"):
            tags = self._touch(found)[1]
            key = ("addr:housenumber", "addr:street", "addr:postcode")[self.random.integers(3)]
            tags[key] = {
                "addr:housenumber": str(self.random.integers(1, 99)),
                "addr:street": NAMES[int(self.random.integers(len(NAMES)))],
                "addr:postcode": str(self.random.integers(9490, 9499)),
            }[key]

    def _delete(self) -> None:
        if found := self._pick():
            del self.elements[found[0]][found[1]]
            self.deleted.append(found)

    def _recreate(self) -> None:
        """Give the id of an element to one with the tags of another."""
        found = self._pick()
        other = self._pick(found[0]) if found else None
        if found and other:
            self._touch(found)[1] = dict(self.elements[other[0]][other[1]][1])

    def _create(self) -> None:
        """Make a node with the tags of another near a third."""
        found, other = self._pick(0), self._pick(0)
        if found and other:
            x, y = self.elements[0][found[1]][0]
            tags = dict(self.elements[0][other[1]][1])
            self.elements[0][self._next] = [(x + 1e-4, y), tags, 1]
            self._changed.add((0, self._next))
            self._next += 1
