"""Vector tiles: CPU of cold and cached tiles, and whole archives against tilemaker and tippecanoe.

Run: `python -m bench.tiles EXTRACT.osm.pbf` (Liechtenstein for the numbers of docs/tiles.md).
tilemaker (Debian) and tippecanoe are used where they are installed (TIPPECANOE names its program).
CPU is user and system time of all processes that did the work; ratios are of the same run.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import shapely

from bench.serving import ROUNDS, Load, free_port, measure, running, show, wait_until_ready

OPENMAPTILES = Path("/usr/share/doc/tilemaker/examples")
PER_MINUTE = 2_000_000

BARE = """
import sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

TILES = {tiles!r}

async def endpoint(request):
    body = TILES[request.url.path]
    return Response(body, media_type="application/vnd.mapbox-vector-tile",
                    headers={{"Content-Encoding": "gzip"}})

app = Starlette(routes=[Route("/api/v1/tiles/{{z:int}}/{{x:int}}/{{y}}", endpoint)])
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", access_log=False,
            loop="uvloop", http="httptools")
"""


def cpu_s() -> float:
    """CPU of this process and of its children that ended."""
    own, ended = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def timed(work: Callable[[], object]) -> float:
    before = cpu_s()
    work()
    return cpu_s() - before


def cold_tiles(folder: Path) -> None:
    """Render the fullest tile of some zooms, with nothing cached."""
    from mapyard.tiles.mercator import TileId
    from mapyard.tiles.render import compress_tile, render_tile
    from mapyard.tiles.table import Table

    table = Table(folder)
    print("\ncold tiles, the fullest of each zoom, gzip included: CPU (median of 9), bytes")
    for zoom in (14, 13, 12, 11, 10, 8):
        x, y = table.tiles(zoom).T
        sizes = [len(render_tile(table, TileId(zoom, a, b))) for a, b in zip(x, y, strict=True)]
        best = int(np.argmax(sizes))
        tile = TileId(zoom, int(x[best]), int(y[best]))
        runs = []
        for _ in range(9):
            started = time.process_time()
            data = compress_tile(render_tile(table, tile))
            runs.append(time.process_time() - started)
        name = f"{tile.z}/{tile.x}/{tile.y}"
        print(f"  {name:<18}{statistics.median(runs) * 1e3:>8.1f} ms{len(data):>10,} bytes")


def whole_archive(source: Path, folder: Path) -> tuple[float, int]:
    """From the extract to all tiles in one file; return CPU and bytes."""
    from mapyard.osm.pbf import read_header
    from mapyard.store.reader import open_store
    from mapyard.store.writer import write_store
    from mapyard.tiles.archive import list_tiles, write_archive
    from mapyard.tiles.build import build_table, find_bounds
    from mapyard.tiles.pmtiles import PmtilesWriter
    from mapyard.tiles.table import Table
    from mapyard.tiles.tilejson import describe_archive

    path = folder / "all.pmtiles"

    def work() -> None:
        write_store(folder / "elements", source)
        store = open_store(folder / "elements")
        build_table(store, folder / "tiles", read_header(source).bbox or find_bounds(store))
        table = Table(folder / "tiles")
        writer = PmtilesWriter(path)
        count = write_archive(folder / "tiles", list_tiles(table, 0, 14), writer, 1)
        writer.close(describe_archive(table.info), table.info.bounds)
        print(f"  {count} tiles of {len(table):,} features")

    return timed(work), 0 if not path.exists() else path.stat().st_size


def tilemaker(source: Path, folder: Path) -> tuple[float, int] | None:
    """The same extract with the OpenMapTiles configuration, without its shapefiles."""
    program = shutil.which("tilemaker")
    if program is None or not OPENMAPTILES.exists():
        return None
    config = json.loads((OPENMAPTILES / "config-openmaptiles.json").read_text())
    config["layers"] = {k: v for k, v in config["layers"].items() if "source" not in v}
    (folder / "config.json").write_text(json.dumps(config))
    out = folder / "tilemaker.mbtiles"
    command = [
        program, "--input", str(source), "--output", str(out),
        "--config", str(folder / "config.json"),
        "--process", str(OPENMAPTILES / "process-openmaptiles.lua"),
    ]  # fmt: skip
    used = timed(lambda: subprocess.run(command, check=True, capture_output=True, cwd=folder))
    return used, out.stat().st_size


def write_geojson(folder: Path, path: Path) -> None:
    """Write the features of the table with their layer and first zoom."""
    from mapyard.tiles.mercator import GRID_SIZE
    from mapyard.tiles.schema import LAYERS
    from mapyard.tiles.shapes import POINT, to_geometries
    from mapyard.tiles.table import Table

    table = Table(folder)
    every = np.arange(len(table))
    layers = table.layers_of(every)
    counts, attribute, value = table.tags(every, 14)
    starts = np.cumsum(counts) - counts
    messages = table.values.take(np.arange(len(table.values)))
    decoded = [_read_value(message) for message in messages]

    def degrees(xy: np.ndarray) -> np.ndarray:
        lat = np.degrees(np.arctan(np.sinh(np.pi * (1 - 2 * xy[:, 1] / GRID_SIZE))))
        return np.column_stack([xy[:, 0] * 360 / GRID_SIZE - 180, lat])

    with path.open("w") as file:
        for index, layer in enumerate(LAYERS):
            chosen = every[layers == index]
            shapes = table.shapes.take(chosen)
            if layer.kind == POINT:
                geometries = shapely.points(shapes.xy.astype(float))
            else:
                geometries = to_geometries(shapes, layer.kind)
            texts = shapely.to_geojson(shapely.transform(geometries, degrees))
            for feature, text in zip(chosen.tolist(), np.atleast_1d(texts).tolist(), strict=True):
                span = range(int(starts[feature]), int(starts[feature] + counts[feature]))
                properties = {table.attribute_names[attribute[i]]: decoded[value[i]] for i in span}
                head = {
                    "type": "Feature", "id": int(table.ids[feature]), "properties": properties,
                    "tippecanoe": {"layer": layer.name, "minzoom": int(table.minzoom[feature])},
                }  # fmt: skip
                file.write(f'{json.dumps(head)[:-1]}, "geometry": {text}}}\n')


def _read_value(message: bytes) -> object:
    if message[0] == 0x0A:
        start = 2 if message[1] < 128 else 3
        return message[start:].decode()
    if message[0] == 0x15:
        return float(np.frombuffer(message[1:], "<f4")[0])
    number, shift = 0, 0
    for byte in message[1:]:
        number |= (byte & 127) << shift
        shift += 7
    return bool(number) if message[0] == 0x38 else number


def tippecanoe(folder: Path) -> tuple[float, int] | None:
    """Our features, nothing dropped, in tiles of tippecanoe."""
    program = os.environ.get("TIPPECANOE") or shutil.which("tippecanoe")
    if program is None:
        return None
    features = folder / "features.geojsonl"
    write_geojson(folder / "tiles", features)
    out = folder / "tippecanoe.pmtiles"
    command = [
        program, "-q", "-o", str(out), "-Z0", "-z14", "-r1", "-pf", "-pk", "-P", str(features),
    ]  # fmt: skip
    used = timed(lambda: subprocess.run(command, check=True, capture_output=True))
    return used, out.stat().st_size


def cached_tiles(source: Path, folder: Path) -> None:
    """Requests a second of cached tiles against a bare Starlette answer with the same bytes."""
    from mapyard.accounts import registry
    from mapyard.accounts.open import ensure_owner, open_accounts
    from mapyard.builder.pipeline import build_dataset
    from mapyard.builder.progress import Reporter
    from mapyard.builder.steps import select_steps
    from mapyard.tiles.mercator import TileId
    from mapyard.tiles.source import TileSource

    data = folder / "data"
    build_dataset([source], data, select_steps(["tiles"]), Reporter(quiet=True))
    tiles = TileSource(data / "current")
    wanted = [TileId(14, x, y) for x, y in tiles.table.tiles(14).tolist()]
    bodies = {f"/api/v1/tiles/{t.z}/{t.x}/{t.y}": tiles.get(t) for t in wanted}
    bodies = dict(sorted(((k, v) for k, v in bodies.items() if v), key=lambda kv: -len(kv[1]))[:50])
    print(f"\ncached: {len(bodies)} tiles, {statistics.mean(map(len, bodies.values())):,.0f} bytes")
    database = open_accounts(data)
    key = ensure_owner(database)
    account = registry.list_accounts(database)[0]
    registry.change_account(database, account.id, action="bench", per_minute_override=PER_MINUTE)
    database.close()
    requests = [
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
        f"Accept-Encoding: gzip\r\n\r\n".encode()
        for path in bodies
    ]
    script = folder / "bare.py"
    script.write_text(BARE.format(tiles=bodies))
    bare_port, port = free_port(), free_port()
    command = [str(Path(sys.executable).with_name("mapyard")), "serve", "--workers", "1"]
    variables = {"MAPYARD_ACCESS_LOG": "", "MAPYARD_UPDATES": "off", "MAPYARD_DATA": str(data)}
    with (
        running([sys.executable, str(script), str(bare_port)], bare_port) as bare,
        running([*command, "--port", str(port)], port, **variables) as served,
    ):
        wait_until_ready(port)
        worker = [p for p in served.children() if p.name() == "mapyard-web"]
        theirs: list[Load] = []
        ours: list[Load] = []
        for _ in range(ROUNDS):
            theirs.append(measure([(bare_port, [bare])], requests))
            ours.append(measure([(port, worker)], requests))
    peer = show("bare Starlette, the same bytes", theirs)
    own = show("mapyard, with key and limits", ours)
    rates, work = own.rps / peer.rps, peer.cpu_us / own.cpu_us
    print(f"ratio of requests a second: {rates:.2f} (by CPU {work:.2f})")


def main() -> None:
    source = Path(sys.argv[1])
    version = platform.python_version()
    print(f"machine: {os.cpu_count()} cores, {platform.machine()}, Python {version}")
    print(f"data: {source.name}; command: python -m bench.tiles {source.name}")
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        print("\nall tiles of zooms 0-14, from the extract to one file: CPU, bytes")
        ours = whole_archive(source, folder)
        print(f"  mapyard, Shortbread 1.1     {ours[0]:>8.2f} s{ours[1]:>12,}")
        theirs = tilemaker(source, folder)
        if theirs:
            print(f"  tilemaker, OpenMapTiles     {theirs[0]:>8.2f} s{theirs[1]:>12,}")
            print(f"  CPU ratio to tilemaker      {ours[0] / theirs[0]:>8.2f}")
        packed = tippecanoe(folder)
        if packed:
            print(f"  tippecanoe, our features    {packed[0]:>8.2f} s{packed[1]:>12,}")
            print(f"  size ratio to tippecanoe    {ours[1] / packed[1]:>8.2f}")
        cold_tiles(folder / "tiles")
        cached_tiles(source, folder)


if __name__ == "__main__":
    main()
