"""The shell commands of README, docs and `--help` run as they are printed, on Monaco.

The blocks of a page run one after the other in a folder of their own, each by `bash -e`. There are
the files that the page prints and, under the names it uses, those below; extracts and updates
come from a server on loopback in place of Geofabrik's. A command that serves is stopped once it
is ready. Before a block that cannot run here its page has the comment `<!-- not run: why -->`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from code_blocks import Block, group_blocks
from mapyard.accounts.open import ensure_owner, open_accounts
from mapyard.dataset.catalog import Catalog
from mapyard.fleet.split import split_regions
from osm_files import EXAMPLES, ROOT, TEST_DATA
from servers import copy_data, free_port, running

#: Blocks that build on each other: those of a page, but of `--help` each example stands alone.
RUNS = {
    name: blocks
    for page, of_page in group_blocks("sh").items()
    for name, blocks in (
        {str(block): [block] for block in of_page}
        if page.endswith("commands.md")
        else {page: of_page}
    ).items()
}
PRINTED = re.compile(r"`(\w+\.csv)`[^\n]*\n\n```csv\n(.*?)```", re.DOTALL)
MONACO = EXAMPLES / "monaco.osm.pbf"

SITE = "https://maps.example.org"
SHOPS = "name,kind,lat,lon,price\nUn,cafe,43.7384,7.4246,3.5\nDeux,bar,43.7314,7.4197,4\n"
CAFES = 'SELECT ?s ?name { ?s osmkey:amenity "cafe" ; osmkey:name ?name }\n'
SQUARE = {
    "type": "Polygon",
    "coordinates": [[[7.41, 43.72], [7.45, 43.72], [7.45, 43.76], [7.41, 43.76], [7.41, 43.72]]],
}
#: Name → text of the files that commands read.
TEXTS = {
    "addresses.ndjson": '{"address": "Rue Grimaldi 5, Monaco"}\n',
    "customers.csv": 'name,address,where,lat,lon\nx,"Rue Grimaldi 5, Monaco","43.7384,7.4246",'
    "43.7384,7.4246\n",
    "homes.csv": "id,lat,lon\n1,43.7384,7.4246\n",
    "peaks.csv": "id,lat,lon\n1,43.7384,7.4246\n",
    "rush-hour.csv": "way_id,direction,speed_kmh\n4097656,forward,12\n",
    "sensors.ndjson": '{"id": 1, "lat": 43.7384, "lon": 7.4246}\n',
    "shops.csv": SHOPS,
    "stops.csv": "id,y,x\n1,43.7384,7.4246\n",
    "stores.csv": "id,lat,lon\n1,43.7314,7.4197\n2,43.7402,7.4273\n",
    "trips.csv": "from_lat,from_lon,to_lat,to_lon\n43.7384,7.4246,43.7314,7.4197\n",
    "cafes.ql": "node[amenity=cafe](43.73,7.41,43.75,7.43);out;\n",
    "cafes.pql": 'search(node, amenity: "cafe").limit(10);\n',
    "cafes.rq": CAFES,
    "query.rq": CAFES,
    "benches.rq": 'SELECT ?s { ?s osmkey:amenity "bench" }\n',
    "saved.xml": '<osm-script><query type="node"><has-kv k="amenity" v="cafe"/></query>'
    "<print/></osm-script>\n",
    "trees.geojson": json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"kind": "oak"},
         "geometry": {"type": "Point", "coordinates": [7.4246, 43.7384]}}]}),
    "countries.geojson": json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"name": "all"}, "geometry": SQUARE}]}),
    "trip.gpx": '<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk>'
    '<trkseg><trkpt lat="43.7384" lon="7.4246"/><trkpt lat="43.7386" lon="7.4250"/>'
    "<trkpt lat=\"43.7389\" lon=\"7.4256\"/></trkseg></trk></gpx>",
}  # fmt: skip
#: Name → columns.
TABLES = {
    "customers.parquet": {"address": ["Rue Grimaldi 5, Monaco"]},
    "homes.parquet": {"lat": [43.7384], "lon": [7.4246]},
    "points.parquet": {
        "trip_id": [1, 1, 1], "lat": [43.7384, 43.7386, 43.7389], "lon": [7.4246, 7.425, 7.4256],
        "ts": [0, 10, 20],
    },
    "trips.parquet": {
        "from_lat": [43.7384], "from_lon": [7.4246], "to_lat": [43.7314], "to_lon": [7.4197],
    },
}  # fmt: skip
#: Found before the real command: keeps what serves to loopback and stops it once it is ready.
STAND_IN = f"""#!{sys.executable}
import os, signal, subprocess, sys, time, urllib.error, urllib.request
words = [{str(Path(sys.executable).with_name("mapyard"))!r}, *sys.argv[1:]]
if not sys.argv[1:] or sys.argv[1] not in ("serve", "demo"):
    os.execv(words[0], words)
words = ["127.0.0.1" if word == "0.0.0.0" else word for word in words]
port = os.environ["MAPYARD_PORT"]
if "--port" in words:
    words[words.index("--port") + 1] = port
server = subprocess.Popen(words)
ends_s = time.monotonic() + 120
try:
    while server.poll() is None and time.monotonic() < ends_s:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{{port}}/readyz", timeout=10)
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    else:
        sys.exit(f"was never ready: {{' '.join(words)}}")
finally:
    server.send_signal(signal.SIGINT)
    server.wait(60)
sys.exit(server.returncode)
"""


class Mirror(SimpleHTTPRequestHandler):
    """Geofabrik's server: every extract is Monaco, every folder of updates that of the tests."""

    def translate_path(self, path: str) -> str:
        if path.endswith(".osm.pbf"):
            return str(MONACO)
        _, _, name = path.partition("-updates/")
        return str(TEST_DATA / "monaco-updates" / (name or "none"))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def mirror() -> Iterator[str]:
    """The address of that server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Mirror))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def lay_out(folder: Path, page: Path) -> None:
    """Put the files into a folder that the commands of a page read."""
    for name, text in {**TEXTS, **dict(PRINTED.findall(page.read_text()))}.items():
        (folder / name).write_text(text)
    for name, columns in TABLES.items():
        pq.write_table(pa.table(columns), folder / name)
    for name in ("monaco", "liechtenstein", "germany-latest", "north", "europe", "alps"):
        shutil.copy(MONACO, folder / f"{name}.osm.pbf")
    shutil.copy(TEST_DATA / "leeds-cut.osm.pbf", folder / "south.osm.pbf")
    for printed, number in (("4613", "611"), ("4614", "612")):
        diff = TEST_DATA / "monaco-updates" / "000" / "004" / f"{number}.osc.gz"
        shutil.copy(diff, folder / f"{printed}.osc.gz")
    for name in ("docs", "examples"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", folder)
    for name in ("bin", "srv/extracts", "var/backups/mapyard", "tmp", "home"):
        (folder / name).mkdir(parents=True)
    shutil.copy(MONACO, folder / "srv" / "extracts")
    (folder / "srv" / "maps").symlink_to(folder / "data")
    command = folder / "bin" / "mapyard"
    command.write_text(STAND_IN)
    command.chmod(command.stat().st_mode | stat.S_IXUSR)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", RUNS)
def test_documented_shell_runs(name: str, monaco: Path, mirror: str, tmp_path: Path) -> None:
    blocks = RUNS[name]
    data = copy_data(monaco, tmp_path / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    lay_out(tmp_path, blocks[0].page)
    if blocks[0].text.startswith("mapyard regions update split"):
        split_regions([MONACO], "2", tmp_path / "split")
    with ExitStack() as stack:
        database = open_accounts(data)
        key, address = ensure_owner(database), "http://127.0.0.1:1"
        database.close()
        if any(word in block.text for block in blocks for word in ("curl", SITE)):
            server = stack.enter_context(running(data, tmp_path / "log"))
            key, address = server.key, server.address
        environment = {
            **os.environ,
            "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path / "home"),
            "KEY": key or "",
            "MAPYARD_DATA": str(data),
            "MAPYARD_DRAIN_S": "0",
            "MAPYARD_PORT": str(free_port()),
            "MAPYARD_UPDATES": "off",
            "MAPYARD_UPDATE_SOURCE": f"{mirror}/europe/monaco-updates",
        }
        catalog = Catalog(data)
        served = catalog.get_current().name
        for block in blocks:
            catalog.use(served)  # the block before may have built another
            if "ogrinfo" in block.text and shutil.which("ogrinfo") is None:
                pytest.skip("needs GDAL's programs")
            run(block, tmp_path, environment, address, mirror)


def run(block: Block, folder: Path, environment: dict[str, str], address: str, mirror: str) -> None:
    """Run a block as printed, but for addresses and folders of the machine."""
    text = re.sub(r"(?<=[ \"'=])/(srv|var|tmp)/", rf"{folder}/\1/", block.text)
    for printed, here in (
        ("https://download.geofabrik.de", mirror),
        (f"{SITE}/key/pk_live_…", f"{address}/key/{environment['KEY']}"),
        ("http://localhost:4000", address),
        ("http://127.0.0.1:4000", address),
        ("curl ", "curl -fsS "),
        (" use ID", f" use {Catalog(folder / 'data').find_current()}"),
    ):
        text = text.replace(printed, here)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text], cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{block}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
