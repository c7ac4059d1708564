"""Random requests of all kinds: a fleet of regions beside one machine with the whole map.

    make fleet-agreement EXTRACTS="liechtenstein.osm.pbf monaco.osm.pbf"

joins the extracts and copies of the first one, linked by roads, into one map, splits it into four
regions of two copies each, builds all, and compares 2,000 answers. Prints what differed per
endpoint; ends with 1 where anything did that docs/fleet.md does not name.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from fleets import ask, build_regions, make_front, make_single, normalize
from linked_map import write_linked_map
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.http.app import Application
from mapyard.store.reader import Store

KINDS = ["amenity", "shop", "highway", "building", "tourism", "leisure", "natural", "name"]


class Request(NamedTuple):
    """One request; a body makes it a POST."""

    path: str
    params: dict[str, Any]
    body: Any = None


class Requests:
    """Random requests about what a store has."""

    def __init__(self, store: Store, seed: int, without: tuple[str, ...] = ()) -> None:
        self.store = store
        self.rng = random.Random(seed)
        rows = self.rng.sample(range(store.row_count), min(40_000, store.row_count))
        self.names, self.addresses, self.ids = [], [], [store.name_of(row) for row in rows[:500]]
        for row in rows:
            tags = store.tags(row)
            if "name" in tags:
                self.names.append(tags["name"])
                self.ids.append(store.name_of(row))
            if "addr:housenumber" in tags and "addr:street" in tags:
                parts = ("addr:street", "addr:housenumber", "addr:postcode", "addr:city")
                self.addresses.append({name[5:]: tags.get(name, "") for name in parts})
        self.makers: list[Callable[[], Request]] = [
            getattr(self, name)
            for name in sorted(dir(self))
            if name.startswith("make_") and name.removeprefix("make_") not in without
        ]

    def next(self) -> Request:
        """Return a request; each kind comes as often as the others."""
        return self.rng.choice(self.makers)()

    # What requests are about.

    def at(self, jitter_deg: float = 0.002) -> tuple[float, float]:
        """Return lon, lat near something."""
        node = self.rng.randrange(self.store.node_count)
        return (
            round(int(self.store.lon[node]) / 1e7 + self.rng.uniform(-jitter_deg, jitter_deg), 6),
            round(int(self.store.lat[node]) / 1e7 + self.rng.uniform(-jitter_deg, jitter_deg), 6),
        )

    def near(self) -> str:
        """Return lat,lon."""
        lon, lat = self.at()
        return f"{lat},{lon}"

    def box(self, largest_deg: float = 0.05) -> str:
        """Return south,west,north,east; now and then a large one."""
        lon, lat = self.at()
        size = self.rng.choice([self.rng.uniform(0.001, largest_deg), 0.4])
        return f"{lat},{lon},{lat + size / 1.5:.6f},{lon + size:.6f}"

    def text(self) -> str:
        """Return a name or an address, at times with a letter lost."""
        rng = self.rng
        if rng.random() < 0.5:
            text = rng.choice(self.names)
        else:
            parts = rng.choice(self.addresses)
            text = f"{parts['street']} {parts['housenumber']}, {parts['postcode']} {parts['city']}"
        if rng.random() < 0.25 and len(text) > 5:
            place = rng.randrange(1, len(text))
            text = text[:place] + text[place + 1 :]
        return text.strip(", ")

    def pair(self) -> list[tuple[float, float]]:
        """Return two positions, some hundred meters apart."""
        lon, lat = self.at(0)
        return [(lon, lat), (round(lon + self.rng.uniform(-0.01, 0.01), 6), round(lat + 0.004, 6))]

    # Features.

    def make_features_in_a_box(self) -> Request:
        tags = {"tags": self.rng.choice(KINDS)} if self.rng.random() < 0.7 else {}
        limit = self.rng.choice([3, 20, 100])
        return Request("/api/v1/features", {"bbox": self.box(), "limit": limit, **tags})

    def make_features_around(self) -> Request:
        radius = self.rng.choice([50, 500, 3_000])
        tags = self.rng.choice(KINDS)
        return Request("/api/v1/features", {"near": self.near(), "radius": radius, "tags": tags})

    def make_features_everywhere(self) -> Request:
        more = self.rng.choice([{}, {"offset": 15}, {"output[geometry]": "false"}])
        return Request("/api/v1/features", {"tags": self.rng.choice(KINDS), "limit": 25, **more})

    def make_features_by_post(self) -> Request:
        return Request("/api/v1/features", {}, {"tags": {self.rng.choice(KINDS): True}, "limit": 9})

    def make_stream(self) -> Request:
        form = self.rng.choice(["geojson", "csv", "ndjson"])
        tags = self.rng.choice(["amenity=restaurant", "shop", "boundary", "tourism"])
        where = self.rng.choice([{}, {"bbox": self.box()}])
        return Request("/api/v1/features", {"tags": tags, "format": form, **where})

    def make_nearby(self) -> Request:
        return Request("/api/v1/features/nearby", {
            "near": self.near(), "radius": self.rng.choice([100, 2_000, 20_000]),
            "tags": self.rng.choice(KINDS), "limit": self.rng.choice([3, 30]),
        })  # fmt: skip

    def make_search(self) -> Request:
        limit = self.rng.choice([5, 25])
        return Request("/api/v1/search", {"q": self.rng.choice(self.names), "limit": limit})

    def make_by_id(self) -> Request:
        return Request(f"/api/v1/features/{self.rng.choice([*self.ids, 'node/1'])}", {})

    def make_lookup(self) -> Request:
        kind, _, number = self.rng.choice(self.ids).partition("/")
        return Request("/api/v1/features/lookup", {"type": kind, "id": number})

    def make_batch(self) -> Request:
        elements = [
            {"type": kind, "id": int(number)}
            for kind, _, number in (name.partition("/") for name in self.rng.sample(self.ids, 6))
        ]
        elements.append({"type": "node", "id": 3})
        return Request("/api/v1/features/batch", {}, {"elements": elements})

    def make_named(self) -> Request:
        return Request("/api/v1/reverse-geocode", {"near": self.near(), "radius": 800})

    def make_tags(self) -> Request:
        return Request("/api/v1/tags", {"key": self.rng.choice(KINDS)})

    # Places.

    def make_geocode(self) -> Request:
        return Request("/api/v1/geocode", {"q": self.text(), "limit": self.rng.choice([1, 5, 20])})

    def make_geocode_focused(self) -> Request:
        more = self.rng.choice([
            {"focus": self.near()}, {"bbox": self.box()}, {"bbox": self.box(), "bounded": "false"},
            {"lang": "fr", "layer": "poi"}, {"areas": "true"}, {"tags[amenity]": "*"},
        ])  # fmt: skip
        return Request("/api/v1/geocode", {"q": self.text(), "limit": 5, **more})

    def make_geocode_kind(self) -> Request:
        what = self.rng.choice(["restaurant", "parking", "church", "hotel", "bakery", "bus stop"])
        how = self.rng.choice(["near", "in", ""])
        return Request("/api/v1/geocode", {"q": f"{what} {how} {self.rng.choice(self.names)}"})

    def make_structured(self) -> Request:
        parts = dict(self.rng.choice(self.addresses))
        for name in self.rng.sample(sorted(parts), 1):
            parts.pop(name)
        return Request("/api/v1/geocode", {k: v for k, v in parts.items() if v} or {"q": "x"})

    def make_crossing(self) -> Request:
        streets = [self.rng.choice(self.addresses)["street"] for _ in range(2)]
        return Request("/api/v1/geocode", {"q": " & ".join(streets)})

    def make_autocomplete(self) -> Request:
        text = self.text()
        typed = text[: self.rng.randint(1, len(text))]
        return Request("/api/v1/geocode/autocomplete", {"q": typed})

    def make_reverse(self) -> Request:
        more = self.rng.choice([{}, {}, {"layer": "poi"}, {"layer": "street"}, {"limit": 5},
                                {"zoom": 10}, {"areas": "true"}])  # fmt: skip
        return Request("/api/v1/geocode/reverse", {"near": self.near(), **more})

    def make_geocode_batch(self) -> Request:
        lon, lat = self.at()
        rows = [self.text(), self.rng.choice(self.addresses), {"lat": lat, "lng": lon}, 7]
        form = {"format": self.rng.choice(["json", "csv", "ndjson"])}
        return Request("/api/v1/geocode/batch", form, {"addresses": rows})

    def make_other_forms_of_places(self) -> Request:
        lon, lat = self.at()
        return self.rng.choice([
            Request("/nominatim/search", {"q": self.text(), "addressdetails": 1, "format": "json"}),
            Request("/nominatim/reverse", {"lat": lat, "lon": lon, "format": "json"}),
            Request("/photon/api", {"q": self.text()}),
            Request("/photon/reverse", {"lat": lat, "lon": lon}),
            Request("/pelias/v1/search", {"text": self.text()}),
            Request("/pelias/v1/reverse", {"point.lat": lat, "point.lon": lon}),
            Request("/graphhopper/geocode", {"q": self.text()}),
        ])  # fmt: skip

    # Maps.

    def make_tile(self) -> Request:
        z = self.rng.randint(0, 14)
        return Request(f"/api/v1/tiles/{z}/{self._tile(z)}.mvt", {})

    def make_contents_of_maps(self) -> Request:
        path = self.rng.choice(["/api/v1/tiles/style.json", "/api/v1/tiles/sprites/sprite.json",
                                "/api/v1/tiles/world.json", "/api/v1/elevation"])  # fmt: skip
        return Request(path, {"near": self.near()} if path.endswith("elevation") else {})

    def _tile(self, z: int) -> str:
        lon, lat = self.at()
        row = (1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2 * 2**z
        return f"{int((lon + 180) / 360 * 2**z)}/{int(row)}"

    # Ways.

    def make_nearest(self) -> Request:
        number = self.rng.choice([1, 3])
        return Request("/api/v1/nearest", {"near": self.near(), "number": number, "radius": 500})

    def make_route(self) -> Request:
        (x0, y0), (x1, y1) = self.pair()
        mode = self.rng.choice(["auto", "foot", "bicycle"])
        return Request("/api/v1/route", {"origin": f"{y0},{x0}", "destination": f"{y1},{x1}",
                                         "mode": mode})  # fmt: skip

    def make_matrix(self) -> Request:
        places = [{"lng": lon, "lat": lat} for lon, lat in self.pair()]
        return Request("/api/v1/matrix", {}, {"origins": places, "destinations": places,
                                              "mode": "foot"})  # fmt: skip

    def make_isochrone(self) -> Request:
        return Request("/api/v1/isochrone", {"near": self.near(), "time": 240, "mode": "foot"})

    def make_other_forms_of_ways(self) -> Request:
        (x0, y0), (x1, y1) = self.pair()
        places = [{"lat": y0, "lon": x0}, {"lat": y1, "lon": x1}]
        return self.rng.choice([
            Request(f"/osrm/route/v1/foot/{x0},{y0};{x1},{y1}", {}),
            Request("/valhalla/route", {}, {"locations": places, "costing": "pedestrian"}),
            Request("/valhalla/locate", {}, {"locations": places, "costing": "pedestrian"}),
            Request("/graphhopper/route", {"point": [f"{y0},{x0}", f"{y1},{x1}"],
                                           "profile": "foot"}),
            Request("/ors/v2/directions/foot-walking", {"start": f"{x0},{y0}",
                                                        "end": f"{x1},{y1}"}),
        ])  # fmt: skip

    def make_trace(self) -> Request:
        lon, lat = self.at(0)
        trace = [[round(lon + i * 0.0003, 6), lat] for i in range(8)]
        line = {"type": "LineString", "coordinates": trace}
        return Request("/api/v1/map-match", {}, {"geometry": line, "mode": "foot"})

    def make_tour(self) -> Request:
        (x0, y0), (x1, y1) = self.pair()
        waypoints = [{"lat": y0, "lng": x0}, {"lat": y1, "lng": x1}, {"lat": y0, "lng": x1}]
        return Request("/api/v1/optimize", {}, {"waypoints": waypoints, "mode": "foot"})

    # Query languages.

    def make_sparql(self) -> Request:
        key = self.rng.choice(["amenity", "shop", "tourism", "leisure"])
        query = self.rng.choice([
            f"SELECT ?s ?v {{ ?s osmkey:{key} ?v }} LIMIT 20",
            f"SELECT (COUNT(?s) AS ?n) {{ ?s osmkey:{key} ?v }}",
        ])  # fmt: skip
        return Request("/api/v1/sparql", {}, {"query": query})

    def make_overpass(self) -> Request:
        rng = self.rng
        kind = rng.choice(["node", "way", "rel", "nwr"])
        key = rng.choice(KINDS)
        start = rng.choice([
            f"{kind}[{key}]({self.box(0.02)});", f"{kind}[{key}](around:700,{self.near()});",
            f"{kind}[amenity=restaurant];", f"{kind}({self.box(0.004)});",
            f"area[name={rng.choice(['Vaduz', 'Monaco', 'Schaan'])}]->.a;{kind}(area.a)[{key}];",
            f"({kind}[{key}]({self.box(0.01)});-{kind}[name]({self.box(0.2)}););",
            f"node[{key}]({self.box(0.02)})->.s;{kind}(around.s:150)[{rng.choice(KINDS)}];",
        ])  # fmt: skip
        then = rng.choice(["", "", "(._;>;);", "<;", "<;>;", "node(w);"])
        out = rng.choice(["out 60;", "out count;", "out ids 100;", "out center qt 40;",
                          "out tags 30;", "out geom 20;", "out meta 20;"])  # fmt: skip
        form = rng.choice(["json", "xml"])
        return rng.choice([
            Request("/api/interpreter", {"data": f"[out:{form}];{start}{then}{out}"}),
            Request("/api/v1/overpass", {"data": f"{start}{then}{out}", "limit": 30}),
            Request("/api/v1/overpass", {"data": f"{start}{then}{out}", "format": "ndjson"}),
        ])  # fmt: skip


REFUSALS = ("is over several regions",)
#: When an answer of Pelias was made, and what one of GraphHopper took.
_MOMENT = re.compile(rb'"timestamp":\d{13}|"took":[\d.]+|"graph_date":"[^"]*"')
#: Of two ways that cost about the same a region may know one only, or prefer the other.
WAYS = ("/api/v1/route", "/api/v1/matrix", "/api/v1/optimize")
_TIMES = re.compile(rb'"durations?(?:_s)?":([\d.\[\], -]+)')
_NUMBER = re.compile(rb"\d+\.?\d*")
#: A geometry of several lines in a stream of CSV.
_LINES = re.compile(rb"MULTILINESTRING \(\((.*?)\)\)")


def judge(request: Request, expected: httpx.Response, found: httpx.Response) -> str:
    """Return how an answer of a fleet is that of one machine: same, listed, refused or wrong.

    `listed`: but for what docs/fleet.md names as different.
    """
    one, other = (_MOMENT.sub(b"", answer.content) for answer in (expected, found))
    if (found.status_code, other) == (expected.status_code, one):
        same = all(found.headers.get(name) == expected.headers.get(name)
                   for name in ("content-type", "x-has-more", "x-next-offset"))  # fmt: skip
        return "same" if same else "wrong"
    if found.status_code in (400, 422) and any(text in found.text for text in REFUSALS):
        return "refused"
    if found.status_code != expected.status_code:
        return "wrong"
    if request.path in WAYS and _is_as_long(one, other):
        return "listed"
    return "listed" if _normalize_lines(other) == _normalize_lines(one) else "wrong"


def _is_as_long(one: bytes, other: bytes) -> bool:
    """Return whether ways take as long: one that would leave the region is not known to it."""
    times = [[float(text) for row in _TIMES.findall(body) for text in _NUMBER.findall(row)]
             for body in (one, other)]  # fmt: skip
    return len(times[0]) == len(times[1]) > 0 and all(
        math.isclose(a, b, rel_tol=0.02, abs_tol=2.0) for a, b in zip(*times, strict=True)
    )


def _normalize_lines(body: bytes) -> list[Any]:
    """Leave out what docs/fleet.md names, of a document or of each line of a stream."""
    try:
        json.loads(body)
    except ValueError:
        body = _LINES.sub(lambda lines: b",".join(sorted(lines[1].split(b"), ("))), body)
        return [*map(normalize, body.split(b"\n"))]
    return [normalize(body)]


def compare(
    single: Application, fleet: Application, requests: Requests, count: int, say: Any
) -> dict[str, Counter[str]]:
    """Return how often which endpoints agreed."""
    judged: dict[str, Counter[str]] = {}
    for _ in range(count):
        request = requests.next()
        expected = ask(single, request.path, request.params, request.body)
        found = ask(fleet, request.path, request.params, request.body)
        verdict = judge(request, expected, found)
        if expected.status_code >= 400 and verdict == "same":
            verdict = "same error"
        path = re.sub(r"/(node|way|relation)/\d+$", "/{type}/{id}", request.path)
        path = re.sub(r"/[\d.,;-]+$", "/{coordinates}", path)
        path = re.sub(r"/\d+/\d+/\d+\.mvt$", "/{z}/{x}/{y}", path)
        judged.setdefault(path, Counter())[verdict] += 1
        if verdict == "wrong":
            say(f"{request}\n  one machine {expected.status_code} {expected.text[:1500]}\n"
                f"  fleet       {found.status_code} {found.text[:1500]}")  # fmt: skip
    return judged


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Build what is not there, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extracts", type=Path, nargs="+")
    parser.add_argument("--folder", type=Path, help="keeps what is built; a temporary one else")
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--regions", type=int, default=4)
    parser.add_argument("--roads", default="1", help="regions of roads; empty: none")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "map.osm.pbf"
        if not source.exists():
            write_linked_map(options.extracts, source, options.copies)
        split = build_regions(
            source, folder / "regions", options.regions, 2_000.0, options.roads, 20_000.0
        )
        if not (folder / "data" / "current").exists():
            with Reporter(quiet=True) as progress:
                build_dataset([source], folder / "data", select_steps(), progress)
        local = {"r001", "r002"}
        front, fleet = make_front(split, folder / "regions", local, folder / "data", copies=2)
        single = make_single(folder / "data")
        store: Store = single.services.snapshots.lease().part("store")  # type: ignore[assignment]
        requests = Requests(store, options.seed)
        began_s = time.monotonic()
        judged = compare(single, fleet, requests, options.requests, say)
        front.close()
    total: Counter[str] = sum(judged.values(), Counter())
    for path, counts in sorted(judged.items()):
        say(f"{path:45} {json.dumps(counts)}")
    say(f"{'all':45} {json.dumps(total)} in {time.monotonic() - began_s:.0f} s")
    sys.exit(1 if total["wrong"] else 0)


if __name__ == "__main__":
    main()
