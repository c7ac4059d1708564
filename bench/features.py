"""Feature queries in process, against PostGIS on the same data, in one run.

    python -m bench.features DATA [--repetitions 100] [--no-peer]

DATA is a data folder (`mapyard build EXTRACT --data DATA --only store`). Each query runs at as many
random places as there are repetitions, once to warm up; then the best of three rounds counts. Every
number is CPU time per query, of PostGIS that of server process and client together.

Both sides do the same: from the filter, whose shapes and parameters are made before, to the bytes
of a GeoJSON FeatureCollection (by id: of a Feature) with id, tags, geometry with 7 decimals, and in
proximity queries the distance. The peer is a private cluster that this benchmark starts, with GiST
on geometry and geography and GIN on the tags, asked by psycopg's C implementation in its binary
form; its rows become the answer by one format each, which was as fast as or faster than building
the answer in SQL. It is asked with statements prepared once, and with statements planned anew
each time, which for some queries is the better plan. Ours also says which elements are incomplete
(@tainted), and in pages where the next one begins. Every answer of the two is compared, number by
number; distances to 0.1 %. Where PostgreSQL with PostGIS is not installed, it says so.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import shapely

from bench import postgis
from mapyard.deadline import no_deadline
from mapyard.features.listing import list_features
from mapyard.features.query import FeatureQuery
from mapyard.features.regions import AroundRegion, BoxRegion, Region, ShapeRegion
from mapyard.features.tags import TagFilter
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M
from mapyard.osm.elements import WAY, encode_eid
from mapyard.results.features import write_feature, write_features
from mapyard.results.pages import PageRequest, write_collection
from mapyard.store.reader import E7, Store, open_store

ROUNDS = 3
BOX = "ST_Intersects(geom, ST_MakeEnvelope(%s, %s, %s, %s, 4326))"
CENTER = "ST_SetSRID(ST_MakePoint(%s, %s), 4326)::geography"
AROUND = f"ST_DWithin(geom::geography, {CENTER}, 1000, false)"
WITHIN = "ST_Within(geom, ST_SetSRID(ST_GeomFromWKB(%s), 4326))"
RESTAURANT = """tags @> '{"amenity": "restaurant"}'"""
FILTERS = {
    RESTAURANT: TagFilter("amenity", "in", ("restaurant",)),
    "tags ? 'highway'": TagFilter("highway", "exists"),
    "tags ? 'building'": TagFilter("building", "exists"),
}


class Case(NamedTuple):
    """One kind of query.

    `find` gives what is asked at a place, `region` our condition of it, `bind` the SQL parameters.
    """

    name: str
    condition: str
    find: Callable[[float, float], Any] = lambda lon, lat: None
    region: Callable[[Any], Region | None] = lambda asked: None
    bind: Callable[[Any], tuple[Any, ...]] = lambda asked: ()
    tag: str = ""
    limit: int = 100
    limit_ms: float | None = None
    distance: str = ""


def box_of(side_m: float) -> Callable[[float, float], Bbox]:
    def find(lon: float, lat: float) -> Bbox:
        dy = side_m / 2 / DEGREE_M
        dx = dy / float(np.cos(np.radians(lat)))
        return Bbox(lon - dx, lat - dy, lon + dx, lat + dy)

    return find


CASES = [
    Case("500 m box, amenity=restaurant", BOX, box_of(500), BoxRegion, tuple, RESTAURANT, 100, 0.5),
    Case("5 km box, amenity=restaurant", BOX, box_of(5_000), BoxRegion, tuple, RESTAURANT),
    Case("2 km box, first page of 100", BOX, box_of(2_000), BoxRegion, tuple, limit_ms=2.0),
    Case("20 km box, first page of 100", BOX, box_of(20_000), BoxRegion, tuple),
    Case(
        "1 km around, highway=*",
        AROUND,
        lambda lon, lat: (lon, lat),
        lambda place: AroundRegion(shapely.Point(place), 1_000),
        lambda place: place + place,
        "tags ? 'highway'",
        1000,
        8.0,
        f"ST_Distance(geom::geography, {CENTER}, false)",
    ),
    Case(
        "within a polygon of 1 km, building=*",
        WITHIN,
        lambda lon, lat: shapely.Point(lon, lat).buffer(0.01),
        lambda shape: ShapeRegion("within", shape),
        lambda shape: (shapely.to_wkb(shape),),
        "tags ? 'building'",
        1000,
    ),
    Case("amenity=restaurant anywhere", "true", tag=RESTAURANT),
]
BY_ID = "way by id"
NAMES = [BY_ID, *(case.name for case in CASES)]
LIMITS_MS = {BY_ID: 0.15, **{case.name: case.limit_ms for case in CASES}}


class Questions(NamedTuple):
    """What is asked: ids of ways, and per case what is asked at each place."""

    ids: list[int]
    asked: dict[str, list[Any]]


def measure(run: Callable[[int], object], count: int, cpu_s: Callable[[], float]) -> float:
    """Return the CPU milliseconds per call of the best round."""
    best_s = np.inf
    for _ in range(ROUNDS):
        start = cpu_s()
        for i in range(count):
            run(i)
        best_s = min(best_s, cpu_s() - start)
    return float(best_s) * 1000 / count


def choose_questions(store: Store, count: int) -> Questions:
    """Ask around random restaurants, and for random ways."""
    rng = np.random.default_rng(1)
    centers = store.rows_with_tag("amenity", "restaurant")
    boxes = store.boxes(centers[rng.integers(0, len(centers), count)]) / E7
    places = np.column_stack([boxes[:, 0] + boxes[:, 2], boxes[:, 1] + boxes[:, 3]]) / 2
    ids = store.ids[rng.integers(store.way_start, store.relation_start, count)].tolist()
    return Questions(
        ids, {case.name: [case.find(*place) for place in places.tolist()] for case in CASES}
    )


def answer_case(store: Store, case: Case, asked: Any) -> bytes:
    tags = (FILTERS[case.tag],) if case.tag else ()
    query = FeatureQuery(tags=tags, region=case.region(asked))
    found = list_features(store, "bench", query, PageRequest(case.limit), no_deadline())
    return write_collection(write_features(store, found.rows, distances_m=found.distances_m))


def answer_all(
    store: Store, questions: Questions
) -> tuple[dict[str, list[bytes]], dict[str, float]]:
    """Return our answers to all questions, and CPU ms per query."""
    runs: dict[str, Callable[[int], bytes]] = {
        BY_ID: lambda i: write_feature(store, store.find_row(WAY, questions.ids[i]))
    }
    for case in CASES:
        asked = questions.asked[case.name]
        runs[case.name] = lambda i, case=case, asked=asked: answer_case(store, case, asked[i])
    count = len(questions.ids)
    answers = {name: [run(i) for i in range(count)] for name, run in runs.items()}
    times = {name: measure(run, count, time.process_time) for name, run in runs.items()}
    return answers, times


def ask_peer(
    connection: Any, questions: Questions, answers: dict[str, list[bytes]], *, prepare: bool
) -> dict[str, float]:
    """Return CPU ms per query of the peer; complain where its answer differs from ours."""
    backend = postgis.Backend(connection)
    cursor = connection.cursor(binary=True)

    def cpu_s() -> float:
        return backend.cpu_s() + time.process_time()

    def fetch(sql: str, parameters: tuple[Any, ...]) -> list[bytes]:
        return postgis.write_features(cursor.execute(sql, parameters, prepare=prepare).fetchall())

    eids = [encode_eid(WAY, osm_id) for osm_id in questions.ids]
    runs: dict[str, Callable[[int], bytes]] = {BY_ID: lambda i: fetch(postgis.BY_ID, (eids[i],))[0]}
    for case in CASES:
        tag = f" AND {case.tag}" if case.tag else ""
        sql = postgis.select(case.condition + tag, case.limit, case.distance)
        bound = [case.bind(asked) for asked in questions.asked[case.name]]
        # The distance stands first in the statement.
        runs[case.name] = lambda i, sql=sql, bound=bound: write_collection(fetch(sql, bound[i]))
    times = {}
    for name, run in runs.items():
        differing = sum(not is_same(run(i), answer) for i, answer in enumerate(answers[name]))
        if differing:
            print(f"{name}: {differing} of {len(answers[name])} answers differ from PostGIS")
        times[name] = measure(run, len(eids), cpu_s)
    return times


def is_same(theirs: bytes, ours: bytes) -> bool:
    """Compare two answers, distances to 0.1 %; the peer does not know what is incomplete."""
    mine, other = orjson.loads(ours), orjson.loads(theirs)
    features = mine.get("features", [mine])
    others = other.get("features", [other])
    if len(features) != len(others):
        return False
    for feature, counterpart in zip(features, others, strict=True):
        feature["properties"].pop("@tainted", None)
        here = feature["properties"].pop("distance_m", 0.0)
        there = counterpart["properties"].pop("distance_m", 0.0)
        if feature != counterpart or abs(here - there) > 0.01 + 0.001 * here:
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--no-peer", action="store_true")
    arguments = parser.parse_args()
    store = open_store(arguments.data / "current" / "elements")
    print(
        f"{platform.machine()}, Python {platform.python_version()}; "
        f"{store.node_count:,} nodes, {store.way_count:,} ways, "
        f"{store.relation_count:,} relations; {arguments.repetitions} repetitions, "
        "CPU ms per query"
    )
    questions = choose_questions(store, arguments.repetitions)
    answers, ours = answer_all(store, questions)
    binaries = None if arguments.no_peer else postgis.find_binaries()
    theirs: list[dict[str, float]] = []
    if binaries is None:
        print("no peer: PostgreSQL with PostGIS is not installed or was not asked for")
    else:
        with postgis.private_cluster(binaries) as connection:
            print(connection.execute("SELECT version()").fetchone()[0].partition(" on ")[0])
            postgis.load(connection, store)
            theirs = [
                ask_peer(connection, questions, answers, prepare=prepare)
                for prepare in (True, False)
            ]
    heads = "".join(f" {kind:>9} {'ratio':>6}" for kind in ("prepared", "planned")[: len(theirs)])
    print(f"{'':38} {'limit':>6} {'ours':>8}{heads} {'bytes':>10}")
    for name in NAMES:
        limit_ms, size = LIMITS_MS[name] or "", np.mean([len(answer) for answer in answers[name]])
        peers = "".join(f" {peer[name]:9.3f} {peer[name] / ours[name]:6.1f}" for peer in theirs)
        print(f"{name:38} {limit_ms:>6} {ours[name]:8.4f}{peers} {size:10,.0f}")


if __name__ == "__main__":
    main()
