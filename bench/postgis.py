"""A private PostgreSQL cluster with PostGIS for benchmarks: started and stopped by the benchmark.

It listens on a Unix socket in its own folder only. Run by root, the server runs as the user
`postgres`, as it refuses to run as root.

Polygons are loaded as GeoJSON winds them, so that the peer need not turn them in each answer. Texts
come as bytes: the connection says SQL_ASCII, which spares the client decoding and encoding them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import shapely

from mapyard.osm.elements import TYPE_NAMES
from mapyard.store.reader import Store

SETTINGS = {
    "listen_addresses": "''",
    "shared_buffers": "1GB",
    "work_mem": "64MB",
    "maintenance_work_mem": "512MB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "8GB",
}
SCHEMA = """
CREATE EXTENSION postgis;
CREATE TABLE elements (
    eid bigint NOT NULL, tags jsonb NOT NULL, geom geometry(Geometry, 4326)
);
"""
INDEXES = """
ALTER TABLE elements ADD PRIMARY KEY (eid);
CREATE INDEX ON elements USING gist (geom);
CREATE INDEX ON elements USING gist ((geom::geography));
CREATE INDEX ON elements USING gin (tags);
ANALYZE elements;
"""
_CHUNK = 20_000
_FEATURES = [
    f'{{"type":"Feature","id":"{name}/%d","osm_id":%d,"geometry":%b,'
    f'"properties":{{"@type":"{name}","@id":%d%b}}}}'.encode()
    for name in TYPE_NAMES
]


def find_binaries() -> Path | None:
    """Return the folder of a PostgreSQL server that has PostGIS, newest first, or None."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        version = folder.parent.name
        control = Path(f"/usr/share/postgresql/{version}/extension/postgis.control")
        if (folder / "initdb").exists() and control.exists():
            return folder
    return None


@contextmanager
def private_cluster(binaries: Path) -> Iterator[psycopg.Connection]:
    """Yield a connection to a new cluster; all of it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="mapyard-bench-pg-"))
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user, user)

    def run(*command: str | Path) -> None:
        subprocess.run(command, check=True, user=user, cwd="/", stdout=subprocess.DEVNULL)

    run(binaries / "initdb", "-D", folder / "data", "-U", "bench", "-A", "trust", "-E", "UTF8")
    options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
    options += f" -c unix_socket_directories={folder}"
    log = folder / "log"
    run(binaries / "pg_ctl", "-D", folder / "data", "-l", log, "-o", options, "-w", "start")
    try:
        address = f"host={folder} user=bench dbname=postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            yield connection
    finally:
        run(binaries / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(folder)


def load(connection: psycopg.Connection, store: Store) -> None:
    """Load all listed elements: the same ids, tags and geometries as the store has."""
    connection.execute(SCHEMA)
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY elements (eid, tags, geom) FROM STDIN") as copy,
    ):
        for start in range(0, len(store.listed), _CHUNK):
            rows = store.listed[start : start + _CHUNK].astype(np.int64)
            shapes = store.geometries(rows)
            shapes = shapely.orient_polygons(shapes, exterior_cw=False)
            known = ~shapely.is_missing(shapes)
            shapes[known] = shapely.set_srid(shapes[known], 4326)
            wkbs = shapely.to_wkb(shapes, hex=True, include_srid=True)
            for eid, tags, wkb in zip(
                store.eids(rows).tolist(), store.tags_json(rows), wkbs.tolist(), strict=True
            ):
                copy.write_row((eid, tags.decode(), wkb))
    connection.execute(INDEXES)
    connection.execute("SET client_encoding TO SQL_ASCII")


BY_ID = "SELECT eid, tags::text, ST_AsGeoJSON(geom, 7) FROM elements WHERE eid = %s"


def select(condition: str, limit: int, distance: str = "") -> str:
    """Return the statement for a page of whole features in the order of their eids.

    The page is cut inside, so that texts are made for its elements only.
    """
    more = f", {distance}" if distance else ""
    return (
        f"SELECT eid, tags::text, ST_AsGeoJSON(geom, 7){more} FROM "
        f"(SELECT eid, tags, geom FROM elements WHERE {condition} ORDER BY eid LIMIT {limit}) page"
    )


def write_features(rows: list[tuple[Any, ...]]) -> list[bytes]:
    """Return the GeoJSON of rows of `select`: what the answer of mapyard.results has."""
    written = []
    for eid, tags, geometry, *distance in rows:
        osm_id = eid >> 2
        properties = b"," + tags[1:-1] if len(tags) > 2 else b""
        if distance:
            properties += b',"distance_m":%.2f' % distance[0]
        written.append(_FEATURES[eid & 3] % (osm_id, osm_id, geometry, osm_id, properties))
    return written


class Backend:
    """CPU time of a connection's server process, from /proc, in nanoseconds resolution."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._stat = Path(f"/proc/{connection.info.backend_pid}/schedstat")

    def cpu_s(self) -> float:
        """Return the time on a CPU so far, seconds."""
        return int(self._stat.read_text().split()[0]) / 1e9
