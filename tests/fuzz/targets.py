"""What is fuzzed: readers of what strangers send. Each may refuse, but only by a MapyardError.

A target gets bytes. It must end within its time, whatever they are: LIMIT_S is what queries are
given, and SLACK_S what may pass beyond it.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import mapyard
from mapyard.errors import MapyardError
from mapyard.library.map import Map

LIMIT_S: Final = 1.0
SLACK_S: Final = 2.0
MAX_BYTES: Final = 50_000_000


class Target(NamedTuple):
    """A reader, texts that it takes, and words that get it further."""

    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()


class SlowError(AssertionError):
    """An input held its reader longer than it may."""


_data: Path | None = None


def use(data: Path) -> None:
    """Ask the languages over this data folder."""
    global _data
    _data = data
    _map.cache_clear()


@lru_cache(maxsize=1)
def _map() -> Map:
    assert _data is not None, "say which data folder: use(data)"
    return mapyard.open(_data)


def check(target: Target, data: bytes) -> bool:
    """Return whether an input was taken; raise what no input may cause."""
    started = time.monotonic()
    try:
        target.run(data)
    except MapyardError as error:
        if error.status >= 500 and error.code == "internal_error":
            raise
        taken = False
    else:
        taken = True
    spent = time.monotonic() - started
    if spent > LIMIT_S + SLACK_S:
        raise SlowError(f"{target.name}: {spent:.1f} s for {data[:200]!r}")
    return taken


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _overpass(data: bytes) -> None:
    found = _map().overpass(_text(data), timeout=LIMIT_S, max_bytes=MAX_BYTES)
    found[:50].to_geojson()


def _sparql(data: bytes) -> None:
    result = _map().sparql(_text(data), timeout=LIMIT_S, max_bytes=MAX_BYTES)
    assert len(result) >= 0 if result.kind != "boolean" else True


def _wkt(data: bytes) -> None:
    text = _text(data).replace("\\", "").replace('"', "").replace("\n", " ")
    _sparql(
        f'SELECT (geof:area("{text}"^^geo:wktLiteral) AS ?a) '
        f'(geof:buffer("{text}"^^geo:wktLiteral, 10, uom:metre) AS ?b) WHERE {{}}'.encode()
    )


def _geojson(data: bytes) -> None:
    _map().features(within=_text(data), limit=5, timeout=LIMIT_S)[:5].to_geojson()


def _gpx(data: bytes) -> None:
    from mapyard.routing.gpx import read_gpx

    read_gpx(_text(data))


def _csv(data: bytes) -> None:
    from mapyard.geocoding.answer.batch import read_csv

    _, rows, _ = read_csv(_text(data))
    if 0 < len(rows) <= 20:
        for places in _map().geocode_batch(rows, timeout=LIMIT_S):
            places.to_geojson()


def _geocode(data: bytes) -> None:
    text = _text(data)
    _map().geocode(text, limit=3, timeout=LIMIT_S)
    _map().autocomplete(text, limit=3, timeout=LIMIT_S)


def _pbf(data: bytes) -> None:
    from mapyard.osm.pbf import read_header

    with tempfile.NamedTemporaryFile(suffix=".osm.pbf") as file:
        file.write(data)
        file.flush()
        read_header(Path(file.name))
        _read_blocks(Path(file.name))


def _query(data: bytes) -> None:
    from mapyard.http.body import read_query

    _parse(read_query(data))


def _body(data: bytes) -> None:
    from mapyard.http.body import read_body

    _parse(read_body(data, "application/json", {}, {"tags", "within"}))


def _parse(raw: dict[str, object]) -> None:
    from mapyard.library.question import load_questions

    for question in load_questions():
        question.parser.find_unknown(raw)
        try:
            question.parser.parse(dict(raw))
        except MapyardError as error:
            if error.status >= 500:
                raise


def _read_blocks(path: Path) -> None:
    from mapyard.osm.pbf import NeedsRewrite, iter_blocks

    with contextlib.suppress(NeedsRewrite):  # osmium reads such a file then
        for _ in iter_blocks(path):
            pass


def _block(data: bytes) -> None:
    """Read a file whose one data block, unpacked, is this."""
    blob = b"\x0a" + _varint(len(data)) + data
    header = b"\x0a\x07OSMData\x18" + _varint(len(blob))
    head = _monaco_blobs()
    with tempfile.NamedTemporaryFile(suffix=".osm.pbf") as file:
        file.write(head[: _end_of_header(head)])
        file.write(len(header).to_bytes(4, "big") + header + blob)
        file.flush()
        _read_blocks(Path(file.name))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes((value,))


def _end_of_header(data: bytes) -> int:
    from mapyard.osm.pbf import _iter_blobs

    with tempfile.NamedTemporaryFile(suffix=".osm.pbf") as file:
        file.write(data)
        file.flush()
        with Path(file.name).open("rb") as opened:
            next(_iter_blobs(opened, Path(file.name)))
            return opened.tell()


def _monaco_blobs() -> bytes:
    """Return the first blobs of the demo's extract."""
    import osm_files

    return (osm_files.EXAMPLES / "monaco.osm.pbf").read_bytes()[:40_000]


def _monaco_blocks() -> list[bytes]:
    """Return small blocks of nodes, ways and relations, unpacked."""
    import osmium
    import osmium.osm.mutable as mutable

    from mapyard.osm.pbf import _iter_blobs, _unpack

    found = []
    made: list[tuple[str, Any]] = [
        ("node", mutable.Node(id=1, location=(7.4, 43.7), tags={"a": "b"}, version=1)),
        ("way", mutable.Way(id=2, nodes=[1, 2, 3], tags={"highway": "x"}, version=2)),
        ("relation", mutable.Relation(id=3, members=[("w", 2, "outer")], tags={"type": "y"})),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for kind, element in made:
            path = Path(folder) / f"{kind}.osm.pbf"
            with osmium.SimpleWriter(str(path)) as writer:
                writer.add(element)
            with path.open("rb") as file:
                found += [_unpack(b, path) for k, b in _iter_blobs(file, path) if k == b"OSMData"]
    return found


TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for target in (
        Target(
            "overpass", _overpass,
            (b"node[amenity=cafe](43.73,7.41,43.75,7.43);out;",
             b'[out:json][timeout:5];area["name"="Monaco"]->.a;(way(area.a)[leisure=park];>;);'
             b"out center qt 5;",
             b'nwr[~"^addr:"~"."](around:50,43.7384,7.4246);foreach(out count;);',
             b'way[highway](if:t["lanes"]>1);convert x ::id=id(),l=length();out;',
             b"relation[type=route];>>;out ids;node(user:x)(newer:'2020-01-01T00:00:00Z');out;"),
            (b"out", b"node", b"way", b"rel", b"nwr", b"area", b"(", b")", b"[", b"]", b"{", b"}",
             b";", b"->.", b"<<", b">>", b"if:", b"::id", b"around", b"poly:", b"is_in", b"complete",
             b"retro", b"for", b"make", b"union", b"difference", b"{{bbox}}", b"\"", b"1e308"),
        ),
        Target(
            "sparql", _sparql,
            (b'SELECT ?s ?name WHERE { ?s osm:amenity "cafe" . ?s osm:name ?name } LIMIT 3',
             b"SELECT ?k (COUNT(*) AS ?n) WHERE { ?s osmkey:amenity ?k } GROUP BY ?k HAVING (?n > 2)",
             b"PREFIX x: <http://x/> ASK { { ?a x:b* ?c } UNION { ?c ^x:d/x:e|!x:f ?a } }",
             b"CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o . FILTER(REGEX(STR(?o), '^a', 'i')) } LIMIT 2",
             b"SELECT * { VALUES ?x { 1 2.5 'a'@en } BIND(IF(?x > 1, 'y', 1/0) AS ?y) "
             b"OPTIONAL { ?s osmkey:name ?x } MINUS { ?s osmkey:shop ?z } } ORDER BY DESC(?y)"),
            (b"SELECT", b"WHERE", b"{", b"}", b"(", b")", b"?x", b".", b";", b",", b"OPTIONAL",
             b"UNION", b"FILTER", b"BIND", b"AS", b"VALUES", b"GROUP BY", b"ORDER BY", b"LIMIT",
             b"NOT EXISTS", b"SERVICE", b"GRAPH", b"<<", b"||", b"&&", b"^^xsd:integer", b"@en",
             b"REPLACE", b"GROUP_CONCAT", b"geof:buffer", b"geo:wktLiteral", b"*", b"+"),
        ),
        Target(
            "wkt", _wkt,
            (b"POINT(7.42 43.73)", b"POLYGON((7 43,8 43,8 44,7 44,7 43),(7.2 43.2,7.3 43.2,7.3 43.3,"
             b"7.2 43.2))", b"<http://www.opengis.net/def/crs/EPSG/0/3857> LINESTRING Z(1 2 3,4 5 6)",
             b"GEOMETRYCOLLECTION(POINT EMPTY,MULTIPOINT((1 2),(3 4)))", b"POLYGON((0 0,1 1,0 1,1 0,0 0))"),
            (b"EMPTY", b"NAN", b"INF", b"1e999", b"-180", b"90", b"MULTIPOLYGON", b"(((", b")))"),
        ),
        Target(
            "geojson", _geojson,
            (b'{"type":"Polygon","coordinates":[[[7.41,43.73],[7.43,43.73],[7.43,43.74],[7.41,43.73]]]}',
             b'{"type":"Feature","geometry":{"type":"Point","coordinates":[7.4,43.7]},"properties":{}}',
             b'{"type":"MultiPolygon","coordinates":[[[[7,43],[8,43],[8,44],[7,43]]]]}'),
            (b"NaN", b"1e400", b"null", b"[", b"]", b"GeometryCollection", b"coordinates", b"181"),
        ),
        Target(
            "gpx", _gpx,
            (b'<gpx><trk><trkseg><trkpt lat="43.7" lon="7.4"><time>2024-01-01T00:00:00Z</time></trkpt>'
             b'<trkpt lat="43.8" lon="7.5"/></trkseg></trk></gpx>',
             b'<gpx xmlns="http://www.topografix.com/GPX/1/1"><rte><rtept lat="1" lon="2"/></rte></gpx>'),
            (b"<!DOCTYPE", b"<!ENTITY", b"&amp;", b"<trkpt", b"/>", b"lat=", b"nan", b"1e999"),
        ),
        Target(
            "csv", _csv,
            (b"q,note\nRue Grimaldi 5,a\n", b"lat;lon\n43.7384;7.4246\n",
             b"street,housenumber,city\n\"Rue, Grimaldi\",5,Monaco\n"),
            (b"\"", b"\"\"", b"\n", b"\r\n", b"\0", b"q", b"lat", b"lng", b"\t", b"\xef\xbb\xbf"),
        ),
        Target(
            "geocode", _geocode,
            (b"Rue Grimaldi 5, Monaco", b"43.7384, 7.4246", b"8FM9PCVX+FC", "Städtle 12 1/2".encode(),
             "東京都練馬区".encode(), b"cafe near casino"),
            (b"&", b"/", b"N", b"'", "°".encode(), b"+", "\u202e".encode(), b"1" * 50),
        ),
        Target("pbf", _pbf, (_monaco_blobs(),)),
        Target("block", _block, tuple(_monaco_blocks())),
        Target(
            "query", _query,
            (b"lat=43.7&lng=7.4&tags[amenity]=cafe|bar&output[precision]=3&bbox=1,2,3,4",
             b"q=a&tags=~x&near=1,2&radius=5&h3=8a1969057927fff&geometry=%7B%7D"),
            (b"[", b"]", b"%", b"&", b"=", b"output", b"tags", b"\xff", b"nan", b"1e999"),
        ),
        Target(
            "body", _body,
            (b'{"origin":[7.4,43.7],"destination":{"lat":1,"lng":2},"waypoints":["1,2"],"mode":"foot"}',
             b'{"elements":[{"type":"node","id":1}],"tags":{"a":["b"],"c":true},"within":{"type":'
             b'"Point","coordinates":[1,2]}}'),
            (b"{", b"}", b"[", b"]", b"null", b"1e999", b"\\ud800", b"true", b'""', b":", b","),
        ),
    )
}  # fmt: skip


def mutate(rng: random.Random, target: Target) -> bytes:
    """Return a seed of a target with some changes."""
    data = bytearray(rng.choice(target.seeds))
    for _ in range(rng.choice((1, 1, 2, 3, 6, 12))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 1, 2, 5, 20)))
        match rng.randrange(7):
            case 0 if data:
                data[at % len(data)] = rng.randrange(256)
            case 1:
                del data[at:to]
            case 2:
                data[at:at] = rng.choice(target.words) if target.words else rng.randbytes(2)
            case 3:
                data[at:at] = data[at:to] * rng.choice((1, 2, 50))
            case 4:
                other = rng.choice(target.seeds)
                cut = rng.randrange(len(other) + 1)
                data[at:to] = other[cut : cut + rng.randrange(40)]
            case 5:
                data[at:to] = rng.choice((b"0", b"-1", b"9" * 20, b"1.5", b"\xc3\xa9", b"\x00"))
            case _:
                data[at:at] = rng.randbytes(rng.randrange(4))
        del data[100_000:]
    return bytes(data)
