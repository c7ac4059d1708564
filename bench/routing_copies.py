"""Prepared matrices on a larger graph: an extract several times side by side, joined by roads.

    python -m bench.routing_copies EXTRACT.osm.pbf [--copies 8]

What a contraction costs grows with the graph, and large extracts take long. Each copy lies east of
the one before; a primary road leads from the easternmost place on a major road to the westernmost
one of the next. Prints what the build took and found out, what opening a mode takes,
and the CPU time of matrices within one copy and over all, with tables and without.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import osmium
from osmium.osm import mutable

from bench.routing import Floats, cpu_ms
from bench.routing_checks import SEED, pick_places, read_road_nodes
from mapyard.routing import Engine, compute_matrix, open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.contraction.build import build_tables
from mapyard.routing.modes import Mode

#: Ids of copies are so far apart, and the copies so many degrees.
ID_STEP = 20_000_000_000
GAP_DEG = 0.06
MAJOR = ("primary", "secondary")
JOINT_NODES = 10


def read_roads(pbf: Path) -> tuple[dict[int, Any], list[Any], list[Any]]:
    """Return nodes (lon, lat, tags), ways (id, nodes, tags) and turn restrictions."""
    ways, restrictions, needed = [], [], set()
    for item in osmium.FileProcessor(str(pbf)):
        if item.is_way() and "highway" in item.tags:
            refs = [node.ref for node in item.nodes]
            ways.append((item.id, refs, dict(item.tags)))
            needed.update(refs)
        elif item.is_relation() and item.tags.get("type") == "restriction":
            members = [(member.type, member.ref, member.role) for member in item.members]
            restrictions.append((item.id, members, dict(item.tags)))
    nodes = {
        item.id: (item.location.lon, item.location.lat, dict(item.tags))
        for item in osmium.FileProcessor(str(pbf), osmium.osm.NODE)
        if item.id in needed
    }
    return nodes, sorted(ways), sorted(restrictions)


def write_copies(pbf: Path, target: Path, copies: int) -> float:
    """Write the roads several times; return the degrees from one copy to the next."""
    nodes, ways, restrictions = read_roads(pbf)
    lons = np.array([lon for lon, _, _ in nodes.values()])
    step_deg = float(np.ptp(lons)) + GAP_DEG
    major = {ref for _, refs, tags in ways if tags["highway"] in MAJOR for ref in refs}
    by_lon = sorted(major & nodes.keys(), key=lambda ref: nodes[ref][0])
    west, east = by_lon[0], by_lon[-1]
    new_id = copies * ID_STEP
    with osmium.SimpleWriter(str(target)) as writer:
        for copy in range(copies):
            for ref, (lon, lat, tags) in sorted(nodes.items()):
                at = (lon + copy * step_deg, lat)
                writer.add_node(mutable.Node(id=ref + copy * ID_STEP, location=at, tags=tags))
        joints = []
        for copy in range(copies - 1):
            start, end = np.array(nodes[east][:2]), np.array(nodes[west][:2])
            shares = np.linspace(0, 1, JOINT_NODES + 2)[1:-1, None]
            end[0] += step_deg
            places = start * (1 - shares) + end * shares
            places[:, 0] += copy * step_deg
            ids = list(range(new_id + 1, new_id + 1 + len(places)))
            new_id = ids[-1]
            for ref, place in zip(ids, places.tolist(), strict=True):
                writer.add_node(mutable.Node(id=ref, location=tuple(place)))
            joints.append([east + copy * ID_STEP, *ids, west + (copy + 1) * ID_STEP])
        for copy in range(copies):
            for way_id, refs, tags in ways:
                moved = [ref + copy * ID_STEP for ref in refs]
                writer.add_way(mutable.Way(id=way_id + copy * ID_STEP, nodes=moved, tags=tags))
        for number, refs in enumerate(joints):
            tags = {"highway": "primary", "maxspeed": "100"}
            writer.add_way(mutable.Way(id=copies * ID_STEP + number + 1, nodes=refs, tags=tags))
        for copy in range(copies):
            for relation_id, members, tags in restrictions:
                shifted = [(kind, ref + copy * ID_STEP, role) for kind, ref, role in members]
                writer.add_relation(
                    mutable.Relation(id=relation_id + copy * ID_STEP, members=shifted, tags=tags)
                )
    return step_deg


OPENING = """
import sys, time
from pathlib import Path
import psutil
from mapyard.routing import open_routing
tables, process = open_routing(Path(sys.argv[1])).tables, psutil.Process()
before_bytes, started_s = process.memory_info().rss, time.process_time()
tables.find(sys.argv[2])
taken_s, held_mb = time.process_time() - started_s, process.memory_info().rss - before_bytes
print(f"{taken_s:.2f} s, {held_mb / 1e6:.0f} MB")
"""


def measure(graph: Path, plain: Engine, mode: Mode, everywhere: Floats, inside: Floats) -> None:
    """Print what opening a mode takes, in a process of its own, and asking, with and without."""
    command = [sys.executable, "-c", OPENING, str(graph), mode]
    opened = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    print(f"{mode}: opened in {opened}")
    engine = open_routing(graph)
    for what, nodes in (("within one copy", inside), ("anywhere", everywhere)):
        places = pick_places(engine, nodes, mode, 100, np.random.default_rng(SEED))
        for size in (50, 100):
            ask = partial(compute_matrix, origins=places[:size], destinations=places[:size])
            ours_ms = min(cpu_ms(partial(ask, engine, mode=mode)) for _ in range(3))
            theirs_ms = cpu_ms(partial(ask, plain, mode=mode))
            figures = f"{ours_ms:.0f} ms, without tables {theirs_ms:.0f} ms"
            print(f"  {size} x {size} {what}: {figures}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extract", type=Path)
    parser.add_argument("--copies", type=int, default=8)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {options.copies} copies of {options.extract.name}, seed {SEED}")
    with tempfile.TemporaryDirectory() as name:
        pbf, graph, plain = Path(name, "copies.osm.pbf"), Path(name, "graph"), Path(name, "plain")
        step_deg = write_copies(options.extract, pbf, options.copies)
        nodes, bbox = read_road_nodes(pbf)
        meta = build_graph(pbf, graph, bbox)
        assert meta is not None
        started_s = time.process_time()
        checks = build_tables(graph)
        print(f"{meta.edge_count:,} edges; prepared in {time.process_time() - started_s:.1f} s")
        plain.mkdir()
        (plain / "tiles.tar").symlink_to(graph / "tiles.tar")
        middle = bbox.west + step_deg * (options.copies // 2)
        inside = nodes[(nodes[:, 0] >= middle) & (nodes[:, 0] < middle + step_deg - GAP_DEG)]
        for mode, check in checks.items():
            reach_km = "any" if check.reach_m is None else f"{check.reach_m / 1000:.0f}"
            agreed = f"{check.agreed} of {check.compared} agree"
            print(f"{mode}: {agreed}; used: {check.is_used}, up to {reach_km} km")
            if check.is_used:
                measure(graph, open_routing(plain), mode, nodes, inside)


if __name__ == "__main__":
    main()
