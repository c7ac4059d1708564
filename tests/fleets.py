"""Regions of a map without Ray: what its front answers, beside one machine with the whole."""

from __future__ import annotations

import asyncio
import fcntl
import json
import math
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec
import shapely

from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.fleet import build as fleet_build
from mapyard.fleet.front import Front, Replica, Table
from mapyard.fleet.generation import Generation, Region, Split, read_split
from mapyard.fleet.host import Host
from mapyard.fleet.objects import Objects
from mapyard.fleet.split import split_regions
from mapyard.fleet.wire import (
    Question,
    Reply,
    decode_question,
    decode_reply,
    encode,
)
from mapyard.http.app import Application
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshot, Snapshots
from mapyard.server.assembly import load_endpoints
from mapyard.settings import Settings, get_settings
from osm_files import EXAMPLES


def build_regions(
    source: Path, folder: Path, regions: int, margin_m: float, roads: str = "",
    roads_margin_m: float = 0.0,
) -> Split:  # fmt: skip
    """Split and build once for all test processes; a region's data folder is folder/NAME/data."""
    folder.parent.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "built").exists():
            return read_split(folder)
        split = split_regions(
            [source], str(regions), folder, margin_m=margin_m, roads=roads,
            roads_margin_m=roads_margin_m,
        )  # fmt: skip
        for region in split.extracts:
            work = folder / region.name
            step = fleet_build.Step(
                "region", fleet_build._copy_guests, lambda size: fleet_build.Estimate(0, 0, 0.0)
            )
            with Reporter(quiet=True) as progress:
                build_dataset(
                    [work / "source.osm.pbf"],
                    work / "data",
                    [*select_steps(fleet_build.choose_parts(split, region)), step],
                    progress,
                )
        (folder / "built").touch()
    return split


ROADS_FOLDER = "monaco-roads"


def build_roads(shared_folder: Path) -> Split:
    """Monaco in two regions, its roads in one of all and one of the west; only these are built."""
    folder = shared_folder / ROADS_FOLDER
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "built").exists():
            return read_split(folder)
        areas = write_areas(
            shared_folder / "roads.json", all=(7.3, 43.6, 7.6, 43.9), west=(7.3, 43.6, 7.418, 43.9)
        )
        made = split_regions(
            [EXAMPLES / "monaco.osm.pbf"], "2", folder, margin_m=200.0, roads=str(areas),
            roads_margin_m=100.0,
        )  # fmt: skip
        for roads in made.roads:
            with Reporter(quiet=True) as progress:
                build_dataset(
                    [folder / roads.name / "source.osm.pbf"], folder / roads.name / "data",
                    select_steps(fleet_build.choose_parts(made, roads)), progress,
                )  # fmt: skip
        (folder / "built").touch()
    return made


def write_areas(path: Path, **boxes: tuple[float, float, float, float]) -> Path:
    """Write boxes with names as GeoJSON."""
    features = [
        {"type": "Feature", "properties": {"name": name},
         "geometry": json.loads(shapely.to_geojson(shapely.box(*box)))}
        for name, box in boxes.items()
    ]  # fmt: skip
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def upload(url: Path, made: Sequence[tuple[Split, Path]]) -> Generation:
    """Publish the datasets that splits have built, as one generation; links stand for copies."""
    regions = []
    for split, folder in made:
        for region in split.extracts:
            dataset = (folder / region.name / "data" / "current").resolve()
            if not dataset.exists():
                continue
            target = url / "datasets" / region.name / dataset.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(
                dataset, target, copy_function=lambda a, b: Path(b).hardlink_to(Path(a).resolve())
            )
            regions.append(
                Region(region.name, region.area, region.grown, dataset.name, 0, region.kind)
            )
    first = made[0][0]
    margin_m = max(split.roads_margin_m for split, _ in made)
    return fleet_build.publish(
        Objects(str(url)), msgspec.structs.replace(first, roads_margin_m=margin_m), regions
    )


def open_generation(split: Split, folder: Path) -> tuple[Generation, dict[str, Snapshot]]:
    """Return the regions as a generation, and their datasets, open."""
    settings = get_settings().replace(data=folder)
    snapshots = {}
    regions = []
    for region in split.extracts:
        path = (folder / region.name / "data" / "current").resolve()
        snapshot = Snapshot(path, settings)
        snapshots[region.name] = snapshot
        regions.append(
            Region(
                region.name,
                region.area,
                region.grown,
                snapshot.id,
                0,
                region.kind,
            )
        )
    generation = Generation(
        1, "generation-one", "", split.osm_timestamp, split.margin_m, regions, split.roads_margin_m
    )
    return generation, snapshots


class Away(Replica):
    """A replica on another node, as far as bytes tell."""

    def __init__(self, name: str, host: Host) -> None:
        self.name, self.host, self.ready = name, host, True

    async def ask(self, question: Question) -> Reply:
        """Answer over bytes."""
        reply = await self.host.ask(decode_question(encode(question)))
        return decode_reply(encode(reply))


def make_front(
    split: Split, folder: Path, local: set[str], data: Path | None = None, copies: int = 1
) -> tuple[Front, Application]:
    """Return a node that has the named regions itself and all others away."""
    generation, snapshots = open_generation(split, folder)
    settings = get_settings()
    if data is not None:  # for its elevation
        settings = settings.replace(data=data)
    endpoints = load_endpoints()
    replicas = {
        name: [
            Away(f"{name}/{number}", Host(snapshot, settings, endpoints))
            for number in range(copies)
        ]
        for name, snapshot in snapshots.items()
    }
    front = Front(settings, endpoints)
    here = {name: snapshot for name, snapshot in snapshots.items() if name in local}
    front.table = Table(generation, replicas, here)
    front.is_current = True
    application = Application(Services(settings, front, endpoints), endpoints)
    application.elsewhere = front
    return front, application


def make_single(data: Path) -> Application:
    """Return one machine with the whole map."""
    settings: Settings = get_settings().replace(data=data)
    endpoints = load_endpoints()
    return Application(Services(settings, Snapshots(settings), endpoints), endpoints)


def ask(
    application: Application, path: str, params: Mapping[str, Any] | None = None, json: Any = None,
    headers: Mapping[str, str] | None = None,
) -> httpx.Response:  # fmt: skip
    """Return the answer of an application; POST where there is a body."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            if json is None:
                return await client.get(path, params=params, headers=headers)
            return await client.post(path, params=params, json=json, headers=headers)

    return asyncio.run(send())


class Questions:
    """Random requests of a box, the same for the same seed."""

    def __init__(self, bounds: tuple[float, float, float, float], seed: int) -> None:
        self.rng = random.Random(seed)
        self.west, self.south, self.east, self.north = bounds

    def position(self) -> tuple[float, float]:
        """Return lon, lat."""
        return (
            round(self.rng.uniform(self.west, self.east), 6),
            round(self.rng.uniform(self.south, self.north), 6),
        )

    def near(self) -> str:
        """Return lat,lon."""
        lon, lat = self.position()
        return f"{lat},{lon}"

    def tile(self, lowest: int, highest: int) -> str:
        """Return the path of a tile."""
        z = self.rng.randint(lowest, highest)
        lon, lat = self.position()
        column = int((lon + 180) / 360 * 2**z)
        row = int((1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2 * 2**z)
        return f"/api/v1/tiles/{z}/{column}/{row}.mvt"

    def box(self, largest: float) -> str:
        """Return south,west,north,east."""
        lon, lat = self.position()
        size = self.rng.uniform(0.0005, largest)
        return f"{lat},{lon},{lat + size / 1.5:.6f},{lon + size:.6f}"


BOUNDS = (7.409, 43.724, 7.44, 43.752)
ADDRESSES = [
    "Rue Grimaldi 5, Monaco", "5 rue grimaldi", "avenue princesse grace 27", "98000 monaco",
    "larvotto", "monaco-ville", "stade louis ii", "place du casino", "boulevrd des moulins 12",
    "cafe near casino", "pharmacy monaco", "restaurant", "hotel de paris", "moneghetti",
    "rue grimaldi & rue princesse caroline", "43.7384, 7.4246", "beausoleil", "jardin exotic",
]  # fmt: skip
STREETS = ["Rue Grimaldi 5", "Boulevard Princesse Charlotte", "Avenue de Monte-Carlo 1", "Nowhere"]
NAMES = ["grimaldi", "monte carlo", "casino", "port hercule", "rue", "boulevrd", "jardin exotique"]


def normalize(body: bytes) -> Any:
    """Leave out what docs/fleet.md names: figures of road edges, the order of lines in one."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            made = {k: walk(v) for k, v in value.items() if k not in ("edge_id", "edge_length_m")}
            if made.get("type") == "MultiLineString":
                made["coordinates"] = sorted(made["coordinates"])
            return made
        return [walk(item) for item in value] if isinstance(value, list) else value

    try:
        return walk(json.loads(body))
    except ValueError:
        return body


def exact_requests(seed: int) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Requests whose answers are exact over any regions."""
    q = Questions(BOUNDS, seed)
    choose = q.rng.choice
    makers: list[Callable[[], tuple[str, dict[str, Any], Any]]] = [
        lambda: ("/api/v1/features", {"bbox": q.box(0.03), "limit": choose([3, 20, 200])}, None),
        lambda: ("/api/v1/features", {"near": q.near(), "radius": choose([50, 300, 1500]),
                 "tags": choose(["amenity", "building", "highway"])}, None),
        lambda: ("/api/v1/features", {"tags": choose(["amenity=cafe", "boundary", "shop"]),
                 "limit": 30, "offset": choose([0, 7])}, None),
        lambda: ("/api/v1/features", {"not_within": json.dumps({"type": "Point", "coordinates":
                 q.position()}), "tags": "tourism"}, None),
        lambda: ("/api/v1/features", {}, {"tags": {"amenity": True}, "limit": 5}),
        lambda: ("/api/v1/features/nearby", {"near": q.near(), "radius": choose([100, 3000]),
                 "tags": choose(["amenity", "shop"]), "limit": choose([3, 20])}, None),
        lambda: ("/api/v1/search", {"q": choose(NAMES), "limit": choose([3, 25])}, None),
        lambda: ("/api/v1/nearest", {"near": q.near(), "number": choose([1, 3])}, None),
        lambda: ("/api/v1/elevation", {"near": q.near()}, None),
        lambda: ("/api/v1/geocode", {"q": choose(ADDRESSES), "limit": choose([1, 20])}, None),
        lambda: ("/api/v1/geocode", {"street": choose(STREETS), "city": "Monaco"}, None),
        lambda: ("/api/v1/geocode", {"q": choose(NAMES), "focus": q.near(), "limit": 5}, None),
        lambda: ("/api/v1/geocode/autocomplete",
                 {"q": choose(ADDRESSES)[: q.rng.randint(2, 12)]}, None),
        lambda: ("/api/v1/geocode/reverse", {"near": q.near(), "limit": choose([1, 5])}, None),
        lambda: ("/api/v1/geocode/reverse", {"near": q.near(), "layer": "poi"}, None),
        lambda: ("/api/v1/geocode/batch", {"format": choose(["json", "csv", "ndjson"])},
                 {"addresses": [choose(ADDRESSES), {"street": choose(STREETS)}, 5,
                                dict(zip(("lng", "lat"), q.position(), strict=True))]}),
        lambda: ("/nominatim/search", {"q": choose(ADDRESSES), "addressdetails": 1}, None),
        lambda: ("/photon/api", {"q": choose(NAMES)}, None),
        lambda: (q.tile(0, 13), {}, None),
        lambda: (f"/api/v1/features/{choose(['way/94399747', 'node/1', 'relation/2220207'])}",
                 {}, None),
        lambda: ("/api/v1/features/batch", {}, {"elements": [
            {"type": "way", "id": 94399747}, {"type": "node", "id": 1},
            {"type": "relation", "id": 5986438}]}),
    ]  # fmt: skip
    while True:
        yield choose(makers)()
