"""Overpass QL queries, from text to native JSON, as a share of a bare pyosmium loop in one run.

    python bench/overpass.py EXTRACT [--big EXTRACT20] [--repetitions 15]

EXTRACT is Liechtenstein (.osm.pbf): the places of the queries lie there. The yardstick is the CPU
time of a pyosmium loop that only visits every element of EXTRACT. `original` is the share that the
original Overpass API 0.7.62 took for the same kind of query on this extract on this kind of machine
(research notes); `times below` is how many times smaller ours is. With --big (the extract
replicated, tools/replicate.py) the same queries run there too, and `growth` compares the CPU time
per kilobyte of answer.

Nothing is remembered between the runs of a query: what the store keeps of earlier queries (matches
of regular expressions) is dropped before each; columns made once per dataset stay. Every number is
the least CPU time of its runs, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import osmium

from mapyard.deadline import no_deadline
from mapyard.overpass.engine import run_text
from mapyard.overpass.osm.derived_columns import forget_queries
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.osmjson import write_document
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store

BOX = "47.13,9.50,47.16,9.55"
#: Name → query and the original's share of the loop, in percent.
QUERIES: dict[str, tuple[str, float]] = {
    "node box with tag": (f"[out:json];node[highway]({BOX});out;", 1.4),
    "country-wide tag": ("[out:json];nwr[amenity=restaurant];out;", 3.9),
    "around": ("[out:json];nwr(around:1000,47.1392,9.5228)[shop];out;", 1.7),
    "regex on name": ('[out:json];nwr[name~"strasse$"];out;', 3.9),
    "key exists": ("[out:json];node[name];out;", 9.6),
    "bus relations + recursion": ("[out:json];rel[route=bus];>>;out;", 9.5),
    "ways + nodes in a box": (f"[out:json];(way[highway]({BOX});node(w););out;", 4.5),
    "is_in": ("[out:json];is_in(47.1392,9.5228);out;", 0.9),
    "area by name": ('[out:json];area["name"="Vaduz"]->.a;node(area.a)[amenity];out;', 8.5),
    "union of shops": ("[out:json];(node[shop];way[shop];rel[shop];);out center;", 9.9),
    "difference + count": (
        "[out:json];(way[highway];-way[highway=footway];);out count;", 11.2,
    ),
    "building count": ("[out:json];way[building];out count;", 8.9),
    "residential ways, geometry": ("[out:json];way[highway=residential];out geom;", 5.8),
    "foreach municipality": (
        "[out:json];rel[boundary=administrative][admin_level=8]->.m;"
        "foreach.m->.r(.r map_to_area->.a;node(area.a)[amenity=restaurant];out count;);", 10.5,
    ),
    "buildings in a polygon": (
        '[out:json];way[building](poly:"47.13 9.50 47.16 9.50 47.16 9.54 47.13 9.53");out;', 7.1,
    ),
    "network download": (
        '[out:json];(way["highway"]["area"!~"yes"]["highway"!~"footway|path|steps"]'
        f"({BOX});>;);out;", 3.4,
    ),
    "map call": ("[out:json];(node(47.1395,9.5205,47.1425,9.5245);<;);out meta;", 3.2),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extract", type=Path)
    parser.add_argument("--big", type=Path)
    parser.add_argument("--repetitions", type=int, default=15)
    arguments = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, {arguments.extract.name}")
    loop_s = cpu_s(lambda: visit(arguments.extract), 5)
    print(f"bare pyosmium loop: {loop_s * 1e3:,.0f} ms CPU\n")
    with tempfile.TemporaryDirectory() as folder:
        store = build(arguments.extract, Path(folder) / "small")
        big = build(arguments.big, Path(folder) / "big") if arguments.big else None
        run(store, big, loop_s, arguments.repetitions)


def build(extract: Path, folder: Path) -> Store:
    write_store(folder, extract)
    return open_store(folder)


def visit(extract: Path) -> None:
    for _ in osmium.FileProcessor(str(extract)):
        pass


def run(store: Store, big: Store | None, loop_s: float, repetitions: int) -> None:
    print(
        "| query | elements | kB | ms CPU | share % | original % | times below | ×20 ms | growth |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (text, original) in QUERIES.items():
        body = answer(store, text)
        small_s = cpu_s(lambda text=text: answer(store, text), repetitions)  # type: ignore[misc]
        share = 100 * small_s / loop_s
        shown = sum(found.size for _, found in run_text(store, text).outs)
        columns = [
            name, f"{shown:,}", f"{len(body) / 1e3:,.0f}", f"{small_s * 1e3:.2f}", f"{share:.3f}",
            f"{original}", f"{original / share:.1f}",
        ]  # fmt: skip
        if big is not None:
            other = answer(big, text)
            big_s = cpu_s(lambda text=text: answer(big, text), repetitions)  # type: ignore[misc]
            growth = (big_s / len(other)) / (small_s / len(body))
            columns += [f"{big_s * 1e3:.2f}", f"{growth:.2f}"]
        print("| " + " | ".join(columns) + " |")


def answer(store: Store, text: str) -> bytes:
    """Return the whole answer, as if the query were new."""
    forget_queries(store)
    result = run_text(store, text)
    return write_document(store, result.outs, "", Budget(no_deadline()))


def cpu_s(work: Callable[[], object], repetitions: int) -> float:
    """Return the least CPU time of a call."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
