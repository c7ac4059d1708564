"""Random maps whose ways, areas and relations lie in several regions, and stores of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from mapyard.osm.source import prepare_source
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store
from osm_files import Member, write_osm

WEST, SOUTH, SIDE = 9.5, 47.0, 0.1


def make_map(path: Path, seed: int) -> Path:
    """Nodes over 10 × 8 km, ways short and long, areas large and small, relations of relations."""
    rng = random.Random(seed)
    colors = ("red", "green", "blue")

    def tags(**more: str) -> dict[str, str]:
        return {"c": rng.choice(colors), "n": str(rng.randint(1, 5)), **more}

    nodes: dict[int, Any] = {
        n: (WEST + rng.random() * SIDE, SOUTH + rng.random() * SIDE, tags()) for n in range(1, 150)
    }
    ways: dict[int, Any] = {
        w: ([rng.randint(1, 149) for _ in range(rng.randint(2, 5))], tags()) for w in range(1, 60)
    }
    relations: dict[int, Any] = {}
    for number in range(12):  # squares, some around several regions
        x, y, size = rng.random() * 0.08, rng.random() * 0.08, rng.choice([0.01, 0.03, 0.08])
        first = 1_000 + 4 * number
        corners = ((0, 0), (size, 0), (size, size), (0, size))
        for i, (dx, dy) in enumerate(corners):
            nodes[first + i] = (WEST + x + dx, SOUTH + y + dy)
        ways[1_000 + number] = ([*range(first, first + 4), first], {})
        relations[1_000 + number] = (
            [("way", 1_000 + number, "outer")],
            tags(type="boundary", boundary="administrative", name=f"A{number % 4}"),
        )
    for r in range(1, 30):
        members: list[Member] = []
        for _ in range(rng.randint(1, 3)):
            kind = rng.choice(("node", "way", "way", "relation"))
            top = {"node": 149, "way": 59, "relation": 29}[kind]
            members.append((kind, rng.randint(1, top), rng.choice(("", "a", "b"))))
        relations[r] = (members, tags(type="site"))
    return write_osm(path, nodes, ways, relations)


def open_extract(folder: Path, source: Path) -> Store:
    prepared = folder / "prepared.osm.pbf"
    folder.mkdir(parents=True, exist_ok=True)
    prepare_source([source], prepared)
    (folder / "elements").mkdir()
    write_store(folder / "elements", prepared)
    return open_store(folder / "elements")
