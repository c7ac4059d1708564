"""SPARQL in process, to the serialized result, against pyoxigraph on the same triples, in one run.

    python bench/sparql.py DATA [--repetitions 20] [--peer-repetitions 3] [--folder TEMP]

DATA is a data folder (`mapyard build EXTRACT --data DATA --only store`). The peer's triples are
made from the same store (tests/osm_triples.py), loaded into an Oxigraph store on disk, and both
answer the same texts; the numbers of solutions are compared. Every figure is CPU time, the median
over the repetitions after one to warm up; the two distances are between nodes, because
Oxigraph gives none to other shapes; ours includes evaluation and writing SPARQL Results JSON,
with plans kept from the first run, and parsing is measured apart.
"""

from __future__ import annotations

import argparse
import gc
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyoxigraph as ox
import shapely

from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.parse.parser import parse_query
from mapyard.sparql.terms.prefixes import PREFIXES
from mapyard.sparql.write.solutions import write_json
from mapyard.store.reader import E7, Store, open_store

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from osm_triples import iter_triples

TARGETS = {"look-up": 2.0, "join": 4.0, "spatial": 20.0}
GEOMETRY = "geo:hasGeometry/geo:asWKT"


class Case(NamedTuple):
    name: str
    kind: str
    text: str


def make_cases(lon: float, lat: float) -> list[Case]:
    """The thirteen questions, around a place in the data."""
    box = f'"{shapely.box(lon - 0.03, lat - 0.02, lon + 0.03, lat + 0.02).wkt}"^^geo:wktLiteral'
    circle = shapely.Point(lon, lat).buffer(0.012, quad_segs=8)
    polygon = f'"{circle.wkt}"^^geo:wktLiteral'
    point = f'"POINT({lon:.5f} {lat:.5f})"^^geo:wktLiteral'
    return [
        Case("q1 restaurants, name, geometry", "look-up", "SELECT ?s ?name ?g WHERE { "
             f"?s osmkey:amenity 'restaurant' ; osmkey:name ?name ; {GEOMETRY} ?g }}"),
        Case("q2 count buildings", "join", "SELECT (COUNT(?s) AS ?n) WHERE { "
             "?s osmkey:building ?b }"),
        Case("q3 group by highway", "join", "SELECT ?h (COUNT(?s) AS ?n) WHERE { "
             "?s osmkey:highway ?h } GROUP BY ?h ORDER BY DESC(?n) ?h"),
        Case("q4 regex name ^s, i", "look-up", "SELECT ?s ?n WHERE { "
             "?s osmkey:name ?n FILTER(REGEX(?n, '^s', 'i')) }"),
        Case("q5 peaks over 2000 m, optional name", "look-up", "SELECT ?s ?e ?n WHERE { "
             "?s osmkey:natural 'peak' ; osmkey:ele ?e OPTIONAL { ?s osmkey:name ?n } "
             "FILTER(xsd:double(?e) > 2000) }"),
        Case("q6 bus route members", "join", "SELECT ?r ?m ?role WHERE { ?r osmkey:route 'bus' ; "
             "osmrel:member ?x . ?x osmrel:member_id ?m ; osmrel:member_role ?role }"),
        Case("q7 amenities in a box", "spatial", "SELECT ?s ?a WHERE { ?s osmkey:amenity ?a ; "
             f"{GEOMETRY} ?g FILTER(geof:sfIntersects(?g, {box})) }}"),
        Case("q8 buildings within a polygon", "spatial", "SELECT ?s WHERE { "
             f"?s osmkey:building ?b ; {GEOMETRY} ?g FILTER(geof:sfWithin(?g, {polygon})) }}"),
        Case("q9 within 1 km, by distance", "spatial", "SELECT ?s ?d WHERE { "
             f"?s osmkey:amenity ?a ; a osm:node ; {GEOMETRY} ?g "
             f"BIND(geof:distance(?g, {point}, uom:metre) AS ?d) "
             "FILTER(?d < 1000) } ORDER BY ?d"),
        Case("q10 benches in a municipality", "spatial", "SELECT ?b WHERE { "
             f"?a osmkey:admin_level 8 ; osmkey:name 'Vaduz' ; {GEOMETRY} ?ag . "
             f"?b osmkey:amenity 'bench' ; {GEOMETRY} ?bg FILTER(geof:sfContains(?ag, ?bg)) }}"),
        Case("q11 cafés near bus stops", "spatial", "SELECT ?c ?b WHERE { "
             f"?c osmkey:amenity 'cafe' ; a osm:node ; {GEOMETRY} ?cg . "
             f"?b osmkey:highway 'bus_stop' ; a osm:node ; {GEOMETRY} ?bg "
             "FILTER(geof:distance(?cg, ?bg, uom:metre) < 100) }"),
        Case("q12 without opening hours", "look-up", "SELECT ?s WHERE { "
             "?s osmkey:amenity 'restaurant' MINUS { ?s osmkey:opening_hours ?o } }"),
        Case("q13 count by predicate", "join", "SELECT ?p (COUNT(*) AS ?n) WHERE { ?s ?p ?o } "
             "GROUP BY ?p ORDER BY DESC(?n) LIMIT 20"),
    ]  # fmt: skip


def measure(run: Callable[[], Any], repetitions: int) -> tuple[float, Any]:
    result = run()
    gc.collect()
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        result = run()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000, result


def load_peer(store: Store, folder: Path) -> ox.Store:
    peer = ox.Store(str(folder / "oxigraph"))
    if len(peer) == 0:
        start = time.process_time()
        path = folder / "triples.nt"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(iter_triples(store))
        peer.bulk_load(path=str(path), format=ox.RdfFormat.N_TRIPLES)
        path.unlink()
        print(f"peer loaded: {len(peer):,} triples, {time.process_time() - start:.1f} s CPU")
    return peer


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--repetitions", type=int, default=20)
    arguments.add_argument("--peer-repetitions", type=int, default=3)
    arguments.add_argument("--folder", type=Path, help="where the peer's store is kept")
    options = arguments.parse_args()
    store = open_store(options.data / "current" / "elements")
    source = OsmSource(store)
    start = time.process_time()
    assert len(source.values.shared) >= 0
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, "
        f"pyoxigraph {ox.__version__}; {store.row_count:,} elements"
    )
    print(f"opening: shared ids of tag texts {time.process_time() - start:.2f} s CPU, once")
    restaurants = store.rows_with_tag("amenity", "restaurant")
    nodes = restaurants[restaurants < store.node_count]
    # A restaurant in the middle of all from west to east.
    node = nodes[np.argsort(store.lon[nodes])[len(nodes) // 2]]
    middle = store.lon[node] / E7, store.lat[node] / E7
    with tempfile.TemporaryDirectory() as temporary:
        peer = load_peer(store, options.folder or Path(temporary))
        run_cases(make_cases(*map(float, middle)), Engine(source), peer, options)
        del peer


def run_cases(cases: list[Case], engine: Engine, peer: ox.Store, options: Any) -> None:
    prefixes = "".join(f"PREFIX {p}: <{n}>\n" for p, n in PREFIXES.items())
    print(f"{'query':38} {'rows':>7} {'parse':>7} {'ours':>8} {'peer':>9} {'ratio':>7}  target")
    missed = []
    for case in cases:
        parse_ms, _ = measure(lambda text=case.text: parse_query(text), 20)

        def ours(text: str = case.text) -> bytes:
            result = engine.query(text)
            assert isinstance(result, Solutions)
            return b"".join(write_json(result))

        def theirs(text: str = prefixes + case.text) -> bytes:
            written: bytes = peer.query(text).serialize(format=ox.QueryResultsFormat.JSON)
            return written

        our_ms, mine = measure(ours, options.repetitions)
        peer_ms, other = measure(theirs, options.peer_repetitions)
        rows = len(orjson.loads(mine)["results"]["bindings"])
        peer_rows = len(orjson.loads(other)["results"]["bindings"])
        ratio, target = peer_ms / our_ms, TARGETS[case.kind]
        if ratio < target:
            missed.append(case.name)
        note = "" if rows == peer_rows else f"  peer: {peer_rows} rows"
        print(
            f"{case.name:38} {rows:7} {parse_ms:7.2f} {our_ms:8.2f} {peer_ms:9.1f} "
            f"{ratio:6.1f}x  {target:.0f}x{note}",
            flush=True,
        )
    print("missed: " + (", ".join(missed) or "none"))


if __name__ == "__main__":
    main()
