"""Every question in three ways: in this process, over HTTP, by the command line; equal results."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import geopandas
import numpy as np
import orjson
import pytest
import shapely
from typer.testing import CliRunner

import mapyard
from mapyard.cli import build_app
from mapyard.errors import InvalidQuery, InvalidRequest, NotFound, Timeout
from mapyard.library.map import Map
from mapyard.library.question import NAMES
from mapyard.library.remote import RemoteMap
from osm_files import EXAMPLES
from servers import copy_data, running

HERE, THERE, OVER_THERE = (7.4246, 43.7384), (7.4197, 43.7314), (7.4273, 43.7402)
TRACE = [(7.4246, 43.7384), (7.4250, 43.7390), (7.4255, 43.7396)]


def at(*positions: tuple[float, float]) -> list[str]:
    """Write positions as the command line takes them."""
    return [f"{lat},{lon}" for lon, lat in positions]


class Case(NamedTuple):
    name: str
    positional: tuple[Any, ...]
    values: dict[str, Any]
    arguments: list[str]


VEHICLES = [{"id": 1, "profile": "foot", "start": list(HERE)}]
JOBS = [{"id": 1, "location": list(THERE)}, {"id": 2, "location": list(OVER_THERE)}]
CASES = [
    Case("features", (), {"tags": {"amenity": "cafe"}, "near": HERE, "radius": 400},
         ["--tags", "amenity=cafe", "--near", *at(HERE), "--radius", "400"]),
    Case("features", (), {"bbox": (43.73, 7.41, 43.74, 7.43), "tags": {"shop": True}, "limit": 7},
         ["--bbox", "43.73,7.41,43.74,7.43", "--tags", "shop=*", "--limit", "7"]),
    Case("features", (), {"within": shapely.box(7.41, 43.73, 7.43, 43.74), "type": "relation",
                          "output": {"geometry": False, "sort": "osm_id"}},
         ["--within", json.dumps(shapely.geometry.mapping(shapely.box(7.41, 43.73, 7.43, 43.74))),
          "--type", "relation", "--shape", "geometry=false"]),
    Case("feature", ("way", 94399684), {}, ["way/94399684"]),
    Case("lookup", ([{"type": "way", "id": 94399684}, {"type": "node", "id": 1}],), {},
         ["way/94399684", "node/1"]),
    Case("nearby", (HERE,), {"tags": {"amenity": ["cafe", "bar"]}, "limit": 5},
         [*at(HERE), "--tags", "amenity=cafe|bar", "--limit", "5"]),
    Case("search", ("monte carlo",), {}, ["monte carlo"]),
    Case("search", ("rue",), {"type": "way", "limit": 9, "output": {"sort": "name"}},
         ["rue", "--type", "way", "--limit", "9", "--shape", "sort=name"]),
    Case("geocode", ("Rue Grimaldi 5, Monaco",), {"limit": 3},
         ["Rue Grimaldi 5, Monaco", "--limit", "3"]),
    Case("autocomplete", ("rue grim",), {"focus": HERE}, ["rue grim", "--focus", *at(HERE)]),
    Case("reverse", (HERE,), {"limit": 3, "lang": ["fr", "en"]},
         [*at(HERE), "--limit", "3", "--lang", "fr,en"]),
    Case("route", (HERE, THERE), {"mode": "foot", "waypoints": [OVER_THERE], "steps": True},
         [*at(HERE, OVER_THERE, THERE), "--mode", "foot", "--steps"]),
    Case("route", (HERE, THERE), {"alternatives": 1, "annotations": True, "elevation": True},
         [*at(HERE, THERE), "--alternatives", "1", "--annotations", "--elevation"]),
    Case("nearest", (HERE,), {"number": 3}, [*at(HERE), "--number", "3"]),
    Case("nearest", (HERE,), {}, at(HERE)),
    Case("isochrone", (HERE, 300), {"mode": "foot"}, [*at(HERE), "300", "--mode", "foot"]),
    Case("isochrone", (HERE,), {"distance": [200, 400]}, [*at(HERE), "--distance", "200,400"]),
    Case("matrix", ([HERE, THERE], [OVER_THERE]), {"mode": "bicycle"},
         ["--origins", "|".join(at(HERE, THERE)), "--destinations", *at(OVER_THERE),
          "--mode", "bicycle"]),
    Case("optimize", ([HERE, THERE, OVER_THERE],), {"mode": "foot"},
         [*at(HERE, THERE, OVER_THERE), "--mode", "foot"]),
    Case("plan_tours", (VEHICLES, JOBS), {},
         ["--vehicles", json.dumps(VEHICLES), "--jobs", json.dumps(JOBS)]),
    Case("elevation", ([HERE, THERE],), {}, at(HERE, THERE)),
    Case("elevation_profile", ([HERE, THERE],), {"interval": 100},
         [*at(HERE, THERE), "--interval", "100"]),
    Case("tags", ("amenity",), {"limit": 5}, ["amenity", "--limit", "5"]),
    Case("tags", (), {"prefix": "addr:"}, ["--prefix", "addr:"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def data(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_data(monaco, tmp_path_factory.mktemp("library") / "data")
    (folder / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", folder / "elevation")
    return folder


@pytest.fixture(scope="module")
def here(data: Path) -> Iterator[Map]:
    with mapyard.open(data) as source:
        yield source


@pytest.fixture(scope="module")
def there(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteMap]:
    log = tmp_path_factory.mktemp("library-log") / "serve.log"
    with running(data, log) as server, mapyard.connect(server.address, key=server.key) as source:
        yield source


def as_json(result: Any) -> Any:
    made = result.to_geojson() if hasattr(result, "to_geojson") else result.to_json()
    return orjson.loads(orjson.dumps(made))


def by_command(data: Path, name: str, arguments: list[str]) -> Any:
    command = name.replace("_", "-")
    done = CliRunner().invoke(
        build_app([command]), [command, *arguments, "--data", str(data), "--json"]
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return orjson.loads(done.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{len(case.values)}")
def test_three_ways_give_one_answer(here: Map, there: RemoteMap, data: Path, case: Case) -> None:
    mine = getattr(here, case.name)(*case.positional, **case.values)
    theirs = getattr(there, case.name)(*case.positional, **case.values)
    assert as_json(mine) == as_json(theirs)
    assert mine == theirs
    assert by_command(data, case.name, case.arguments) == as_json(mine)
    if hasattr(mine, "__len__"):
        assert len(mine) == len(theirs) > 0


def test_a_file_of_points_is_matched_in_three_ways(
    here: Map, there: RemoteMap, data: Path, tmp_path: Path
) -> None:
    points = "".join(f'<trkpt lat="{lat}" lon="{lon}"/>' for lon, lat in TRACE)
    file = tmp_path / "trip.gpx"
    file.write_text(f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>")
    mine = here.match(str(file), mode="foot")
    assert mine == there.match(file, mode="foot") == here.match(TRACE, mode="foot")  # type: ignore[arg-type]
    assert by_command(data, "match", [str(file), "--mode", "foot"]) == as_json(mine)
    assert len(mine.legs) == 2
    assert 0 < mine.confidence <= 1


def test_a_batch(here: Map, there: RemoteMap) -> None:
    rows = ["Rue Grimaldi 5, Monaco", {"lat": 43.7384, "lng": 7.4246}, {"lat": 200}]
    mine, theirs = here.geocode_batch(rows), there.geocode_batch(rows)
    assert mine == theirs
    assert mine[0][0].name.startswith("5 Rue Grimaldi") or "Rue Grimaldi" in mine[0][0].name
    assert mine[2].members["error"]["code"] == "invalid_request"


@pytest.mark.parametrize(
    "text",
    [
        'search(node, amenity: "cafe");',
        '$$.bars = search(node, amenity: "bar").limit(3); $$.count = search(shop: *).count();',
        'search(way, highway: *).group_by(t["highway"]).count();',
    ],
)
def test_plazaql(here: Map, there: RemoteMap, text: str) -> None:
    mine, theirs = here.plazaql(text), there.plazaql(text)
    assert [f.to_geojson() for f in mine] == [f.to_geojson() for f in theirs]
    assert mine.members == theirs.members


def test_overpass(here: Map, there: RemoteMap, data: Path, tmp_path: Path) -> None:
    text = "node[amenity=cafe](43.73,7.41,43.75,7.43);out;way[leisure=park];out count;"
    mine, theirs = here.overpass(text), there.overpass(text)
    assert mine == theirs
    assert mine.counts == theirs.counts
    assert mine.counts[0]["ways"] > 0
    file = tmp_path / "query.ql"
    file.write_text(text)
    done = CliRunner().invoke(build_app(["query"]), ["query", str(file), "--data", str(data)])
    assert orjson.loads(done.stdout) == as_json(mine)


@pytest.mark.parametrize(
    ("name", "query"),
    [("explain_overpass", "node[amenity=cafe];out;"),
     ("explain_sparql", 'SELECT ?s { ?s osmkey:amenity "cafe" }')],
)  # fmt: skip
def test_plans(here: Map, there: RemoteMap, name: str, query: str) -> None:
    mine, theirs = getattr(here, name)(query), getattr(there, name)(query)
    assert mine.rows == theirs.rows > 20
    assert [(s.step, s.rows) for _, s in mine.lines()] == [
        (s.step, s.rows) for _, s in theirs.lines()
    ]
    assert "in all" in str(theirs)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ('SELECT ?s ?name WHERE { ?s osm:amenity "cafe" . ?s osm:name ?name } ORDER BY ?s',
         "solutions"),
        ('ASK { ?s osm:amenity "cafe" }', "boolean"),
        ('CONSTRUCT { ?s a <http://example.org/Cafe> } WHERE { ?s osm:amenity "cafe" }', "triples"),
        ("SELECT (COUNT(*) AS ?n) (1.5 AS ?x) (true AS ?t) WHERE { ?s osm:amenity ?v }",
         "solutions"),
    ],
)  # fmt: skip
def test_sparql(
    here: Map, there: RemoteMap, data: Path, tmp_path: Path, query: str, kind: str
) -> None:
    mine, theirs = here.sparql(query), there.sparql(query)
    assert mine.kind == theirs.kind == kind
    assert mine == theirs
    assert bool(mine)
    file = tmp_path / "query.rq"
    file.write_text(query)
    form = "ntriples" if kind == "triples" else "json"
    done = CliRunner().invoke(
        build_app(["sparql"]), ["sparql", str(file), "--data", str(data), "-f", form]
    )
    if kind == "triples":
        assert sorted(done.stdout.split("\n")[:-2]) == sorted(mine.triples)
        assert "example.org/Cafe" in theirs.turtle
    else:
        assert orjson.loads(done.stdout) == orjson.loads(
            b"".join(theirs.write("application/sparql-results+json"))
        )
    if kind == "solutions":
        assert mine.to_geojson()["features"] == theirs.to_geojson()["features"]


def test_values_of_solutions_have_their_types(here: Map) -> None:
    row = here.sparql("SELECT (2+3 AS ?n) (1.5 AS ?x) (true AS ?t) ('a' AS ?s) WHERE {}")[0]
    assert row == {"n": 5, "x": 1.5, "t": True, "s": "a"}
    table = here.sparql("SELECT (2+3 AS ?n) WHERE {}").to_arrow()
    assert table.column("n").to_pylist() == [5]


def test_a_tile_is_the_same_bytes(here: Map, there: RemoteMap, data: Path, tmp_path: Path) -> None:
    mine = here.tile(14, 8529, 5974)
    assert mine == there.tile(14, 8529, 5974)
    assert len(mine) > 1_000
    file = tmp_path / "tile.mvt"
    arguments = ["tile", "14/8529/5974", "--data", str(data), "-o", str(file)]
    assert CliRunner().invoke(build_app(["tile"]), arguments).exit_code == 0
    assert file.read_bytes() == mine
    with pytest.raises(InvalidRequest, match="at zoom 2"):
        here.tile(2, 9, 0)


def test_every_question_is_asked_here() -> None:
    asked = {case.name for case in CASES}
    elsewhere = {"match", "geocode_batch", "overpass", "plazaql", "sparql", "tile"}
    assert asked | elsewhere | {"explain_overpass", "explain_sparql"} == set(NAMES)


@pytest.mark.parametrize(
    ("name", "positional", "values", "error"),
    [
        ("feature", ("node", 1), {}, NotFound),
        ("nearby", ((7.4, 143.0),), {}, InvalidRequest),
        ("geocode", ("x",), {"limit": 0}, InvalidRequest),
        ("overpass", ("node[;out;",), {}, InvalidQuery),
        ("sparql", ("SELECT {",), {}, InvalidQuery),
        ("plazaql", ("search(node;",), {}, InvalidQuery),
        ("route", (HERE, (0.0, 0.0)), {}, NotFound),
    ],
)
def test_errors_are_the_same_here_and_there(
    here: Map, there: RemoteMap, name: str, positional: Any, values: Any, error: type[Exception]
) -> None:
    with pytest.raises(error) as mine:
        getattr(here, name)(*positional, **values)
    with pytest.raises(error) as theirs:
        getattr(there, name)(*positional, **values)
    assert (mine.value.code, mine.value.message) == (theirs.value.code, theirs.value.message)  # type: ignore[attr-defined]


def test_a_whole_list_comes_lazily_in_both_ways(here: Map, there: RemoteMap) -> None:
    mine, theirs = here.features(tags="building"), there.features(tags="building")
    assert next(iter(mine)) == next(iter(theirs))
    assert mine[1_234] == theirs[1_234]
    assert mine[-1] == theirs[-1]
    assert [f.id for f in mine[10:13]] == [f.id for f in theirs[10:13]]
    assert len(mine) == len(theirs) > 1_500


def test_files_are_the_same_from_here_and_there(
    here: Map, there: RemoteMap, tmp_path: Path
) -> None:
    frames = []
    for name, source in (("here", here), ("there", there)):
        file = tmp_path / f"{name}.parquet"
        assert source.export(file, tags={"amenity": "cafe"}) > 10
        frames.append(geopandas.read_parquet(file).sort_values(["osm_type", "osm_id"]))
    mine, theirs = (frame.reset_index(drop=True) for frame in frames)
    assert mine.osm_id.equals(theirs.osm_id)
    assert [dict(tags) for tags in mine.tags] == [dict(tags) for tags in theirs.tags]
    assert mine.geometry.geom_equals(theirs.geometry).all()
    with pytest.raises(InvalidRequest, match="from a data folder"):
        there.export(tmp_path / "x.osm.pbf", tags={"amenity": "cafe"})


def test_a_key_that_is_wrong_is_told(there: RemoteMap) -> None:
    with (
        mapyard.connect(there.url, key="pk_live_wrong") as source,
        pytest.raises(mapyard.MapyardError) as caught,
    ):
        source.geocode("x")
    assert caught.value.code == "invalid_key"
    with (
        mapyard.connect("http://127.0.0.1:9") as nobody,
        pytest.raises(mapyard.MapyardError, match="cannot be reached"),
    ):
        nobody.geocode("x")


def test_with_await(data: Path, there: RemoteMap) -> None:
    async def ask() -> tuple[Any, Any, Any]:
        async with mapyard.aopen(data) as here:
            first, second = await asyncio.gather(
                here.geocode("Rue Grimaldi 5, Monaco"), here.route(HERE, THERE, mode="foot")
            )
            third = await mapyard.AsyncMap(there).geocode("Rue Grimaldi 5, Monaco")
            return first, second, third

    first, second, third = asyncio.run(ask())
    assert first == third
    assert second.distance_m > 500


def test_limits_of_a_call(here: Map) -> None:
    slow = "way(if:length()>1);node(w);way(bn);out;"
    with pytest.raises(Timeout):
        here.overpass(slow, timeout=0.001)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(mapyard.Cancelled):
        here.overpass(slow, cancel=cancel)
    with pytest.raises(mapyard.MapyardError, match="bytes, its limit is 5,000") as caught:
        here.overpass("way[highway];node(w);way(bn);out;", max_bytes=5_000)
    assert caught.value.code == "too_large"


def test_threads_and_several_maps_at_once(here: Map, data: Path) -> None:
    expected = here.geocode("Rue Grimaldi 5, Monaco")
    found: list[Any] = []
    with mapyard.open(data) as second:

        def ask(source: Map) -> None:
            found.append(source.geocode("Rue Grimaldi 5, Monaco"))
            found.append(source.matrix([HERE, THERE], [OVER_THERE]).durations_s)

        threads = [threading.Thread(target=ask, args=(s,)) for s in (here, second) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 16
    assert all(places == expected for places in found if not isinstance(places, np.ndarray))
