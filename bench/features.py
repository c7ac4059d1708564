"""Feature queries in process, against PostGIS on the same data, in one run.

    python -m bench.features DATA [--repetitions 100] [--no-peer]

DATA is a data folder (`mapyard build EXTRACT --data DATA --only store`). Each query runs at as many
random places as there are repetitions, once to warm up and once measured; every number is CPU time
per query, of PostGIS that of server process and client together. Both give whole features: id,
tags, geometry as GeoJSON with 7 decimals. The peer is a private cluster that this benchmark starts,
with GiST on geometry and geography and GIN on the tags; where PostgreSQL with PostGIS is not
installed, it says so. Every answer of the two is compared.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shapely

from bench import postgis
from mapyard.deadline import no_deadline
from mapyard.features.listing import list_features
from mapyard.features.query import FeatureQuery
from mapyard.features.regions import AroundRegion, BoxRegion, Region, ShapeRegion
from mapyard.features.tags import TagFilter
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M
from mapyard.results.features import write_feature, write_features
from mapyard.results.pages import PageRequest, write_collection
from mapyard.store.reader import E7, Store, open_store

COLUMNS = "SELECT eid, tags::text, ST_AsGeoJSON(geom, 7) FROM elements WHERE "
BOX = "ST_Intersects(geom, ST_MakeEnvelope(%s, %s, %s, %s, 4326))"
AROUND = (
    "ST_DWithin(geom::geography, ST_SetSRID(ST_MakePoint(%s, %s), 4326)::geography, 1000, false)"
)
RESTAURANT = """tags @> '{"amenity": "restaurant"}'"""
FILTERS = {
    RESTAURANT: TagFilter("amenity", "in", ("restaurant",)),
    "tags ? 'highway'": TagFilter("highway", "exists"),
    "tags ? 'building'": TagFilter("building", "exists"),
}


class Case(NamedTuple):
    """One kind of query; `make` gives region and SQL parameters at a place."""

    name: str
    condition: str
    make: Callable[[float, float], tuple[Region | None, tuple[Any, ...]]]
    tag: str = ""
    limit: int = 100
    limit_ms: float | None = None


def box_of(side_m: float) -> Callable[[float, float], tuple[Region, tuple[Any, ...]]]:
    def make(lon: float, lat: float) -> tuple[Region, tuple[Any, ...]]:
        dy = side_m / 2 / DEGREE_M
        dx = dy / float(np.cos(np.radians(lat)))
        box = Bbox(lon - dx, lat - dy, lon + dx, lat + dy)
        return BoxRegion(box), tuple(box)

    return make


def polygon_at(lon: float, lat: float) -> tuple[Region, tuple[Any, ...]]:
    shape = shapely.Point(lon, lat).buffer(0.01)
    return ShapeRegion("within", shape), (shapely.to_wkb(shape, hex=True),)


CASES = [
    Case("500 m box, amenity=restaurant", BOX, box_of(500), RESTAURANT, limit_ms=0.5),
    Case("5 km box, amenity=restaurant", BOX, box_of(5_000), RESTAURANT),
    Case("2 km box, first page of 100", BOX, box_of(2_000), limit_ms=2.0),
    Case("20 km box, first page of 100", BOX, box_of(20_000)),
    Case(
        "1 km around, highway=*",
        AROUND,
        lambda lon, lat: (AroundRegion(shapely.Point(lon, lat), 1_000), (lon, lat)),
        "tags ? 'highway'",
        limit=1000,
        limit_ms=8.0,
    ),
    Case(
        "within a polygon of 1 km, building=*",
        "ST_Within(geom, ST_SetSRID(ST_GeomFromWKB(decode(%s, 'hex')), 4326))",
        polygon_at,
        "tags ? 'building'",
        limit=1000,
    ),
    Case("amenity=restaurant anywhere", "true", lambda lon, lat: (None, ()), RESTAURANT),
]


def measure(run: Callable[[int], object], count: int, cpu_s: Callable[[], float]) -> float:
    """Return CPU milliseconds per call, after one round to warm up."""
    for i in range(count):
        run(i)
    start = cpu_s()
    for i in range(count):
        run(i)
    return (cpu_s() - start) * 1000 / count


def ask_case(store: Store, case: Case, lon: float, lat: float) -> tuple[list[int], bytes]:
    """Return the eids and the answer of a case at a place."""
    tags = (FILTERS[case.tag],) if case.tag else ()
    query = FeatureQuery(tags=tags, region=case.make(lon, lat)[0])
    found = list_features(store, "bench", query, PageRequest(case.limit), no_deadline())
    features = write_features(store, found.rows, distances_m=found.distances_m)
    return store.eids(found.rows).tolist(), write_collection(features)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    store = open_store(arguments.data / "current" / "elements")
    count = arguments.repetitions
    rng = np.random.default_rng(1)
    centers = store.rows_with_tag("amenity", "restaurant")
    centers = centers[rng.integers(0, len(centers), count)]
    boxes = store.boxes(centers) / E7
    lons = ((boxes[:, 0] + boxes[:, 2]) / 2).tolist()
    lats = ((boxes[:, 1] + boxes[:, 3]) / 2).tolist()
    ways = rng.integers(store.way_start, store.relation_start, count)
    ids = store.ids[ways].tolist()
    print(
        f"{platform.machine()}, Python {platform.python_version()}; "
        f"{store.node_count:,} nodes, {store.way_count:,} ways, "
        f"{store.relation_count:,} relations; {count} repetitions, CPU ms per query"
    )

    def by_id(i: int) -> bytes:
        return write_feature(store, store.find_row(1, ids[i]))

    ours = {"way by id": measure(by_id, count, time.process_time)}
    sizes = {"way by id": float(np.mean([len(by_id(i)) for i in range(count)]))}
    answers: dict[str, list[list[int]]] = {}
    for case in CASES:
        answers[case.name], texts = [], []
        for lon, lat in zip(lons, lats, strict=True):
            eids, text = ask_case(store, case, lon, lat)
            answers[case.name].append(eids)
            texts.append(len(text))
        sizes[case.name] = float(np.mean(texts))
        ours[case.name] = measure(
            lambda i, case=case: ask_case(store, case, lons[i], lats[i]), count, time.process_time
        )
    limits = {"way by id": 0.15, **{case.name: case.limit_ms for case in CASES}}
    binaries = None if arguments.no_peer else postgis.find_binaries()
    theirs: dict[str, float] = {}
    if binaries is None:
        print("no peer: PostgreSQL with PostGIS is not installed or was not asked for")
    else:
        with postgis.private_cluster(binaries) as connection:
            print(connection.execute("SELECT version()").fetchone()[0].partition(" on ")[0])
            postgis.load(connection, store)
            theirs = ask_peer(connection, ids, lons, lats, answers)
    print(f"{'':38} {'limit':>6} {'ours':>8} {'PostGIS':>8} {'ratio':>6} {'bytes':>10}")
    for name, ms in ours.items():
        peer = theirs.get(name)
        print(
            f"{name:38} {limits[name] or '':>6} {ms:8.3f} "
            + (f"{peer:8.3f} {peer / ms:6.1f}" if peer else f"{'':15}")
            + f" {sizes[name]:10,.0f}"
        )


def ask_peer(
    connection: Any,
    ids: list[int],
    lons: list[float],
    lats: list[float],
    answers: dict[str, list[list[int]]],
) -> dict[str, float]:
    """Return CPU ms per query of the peer; complain where its answer differs from ours."""
    backend = postgis.Backend(connection)

    def cpu_s() -> float:
        return backend.cpu_s() + time.process_time()

    def fetch(sql: str, parameters: tuple[Any, ...]) -> list[tuple[int, str, str]]:
        return connection.execute(sql, parameters, prepare=True).fetchall()

    by_id = COLUMNS + "eid = %s"
    found = {"way by id": measure(lambda i: fetch(by_id, (ids[i] * 4 + 1,)), len(ids), cpu_s)}
    for case in CASES:
        tag = f" AND {case.tag}" if case.tag else ""
        sql = f"{COLUMNS}{case.condition}{tag} ORDER BY eid LIMIT {case.limit}"
        differing = 0
        for lon, lat, eids in zip(lons, lats, answers[case.name], strict=True):
            rows = fetch(sql, case.make(lon, lat)[1])
            differing += len(set(eids) ^ {row[0] for row in rows})
        if differing:
            total = sum(map(len, answers[case.name]))
            print(f"{case.name}: {differing} of {total} elements differ from PostGIS")
        found[case.name] = measure(
            lambda i, sql=sql, case=case: fetch(sql, case.make(lons[i], lats[i])[1]),
            len(lons),
            cpu_s,
        )
    return found


if __name__ == "__main__":
    main()
