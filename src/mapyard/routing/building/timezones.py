"""The engine's database of time zones, for restrictions that hold at certain hours.

The engine's own tool for it is not in the wheel. The polygons (zones.py) are clipped to the
extract; the file is the admin database's SpatiaLite frame with another table in it: only plain SQL
is needed for that.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
from contextlib import closing
from importlib import resources
from pathlib import Path

import shapely

from mapyard.geo.bbox import Bbox
from mapyard.routing.zones import open_zones

_MARGIN_DEG = 0.3
_WGS84 = 4326
_MULTIPOLYGON = 6
_LITTLE_ENDIAN = 1


def build_timezones(database: Path, admins: Path, bbox: Bbox) -> int:
    """Write the time zones around a box to `database`; return their number.

    `admins` is a finished admin database, which lends its SpatiaLite frame.
    """
    zones = find_zones(bbox)
    shutil.copyfile(admins, database)
    with closing(sqlite3.connect(database)) as db:
        db.executescript(
            """
            DELETE FROM geometry_columns;
            DROP TABLE idx_admins_geom;
            DROP TABLE admins;
            DROP TABLE admin_access;
            CREATE TABLE tz_world (TZID TEXT, geom BLOB);
            CREATE VIRTUAL TABLE idx_tz_world_geom USING rtree(pkid, xmin, xmax, ymin, ymax);
            """
        )
        db.execute(
            "INSERT INTO geometry_columns VALUES ('tz_world', 'geom', ?, 2, ?, 1)",
            (_MULTIPOLYGON, _WGS84),
        )
        for rowid, (name, geometry) in enumerate(zones, start=1):
            west, south, east, north = geometry.bounds
            db.execute("INSERT INTO tz_world VALUES (?, ?)", (name, encode_spatialite(geometry)))
            db.execute(
                "INSERT INTO idx_tz_world_geom VALUES (?, ?, ?, ?, ?)",
                (rowid, west, east, south, north),
            )
        db.commit()
    return len(zones)


def find_zones(bbox: Bbox) -> list[tuple[str, shapely.MultiPolygon]]:
    """Return (IANA name, area) of the zones that touch a box, cut to its surroundings."""
    links = read_links()
    world = open_zones()
    boxes = [
        shapely.box(
            west - _MARGIN_DEG, south - _MARGIN_DEG, east + _MARGIN_DEG, north + _MARGIN_DEG
        )
        for west, south, east, north in bbox.split()
    ]
    frame = shapely.union_all(boxes)
    touched = {index for box in boxes for index in world.find_touched(*box.bounds)}
    zones = []
    for name in sorted({world.name_of(index) for index in touched}):
        cut = shapely.intersection(shapely.make_valid(world.get_area(name)), frame)
        parts = [part for part in shapely.get_parts(cut) if part.geom_type == "Polygon"]
        if parts:
            zones.append((links.get(name, name), shapely.MultiPolygon(parts)))
    return zones


def read_links() -> dict[str, str]:
    """Return the IANA database's links, alias → zone: the engine knows zones only."""
    text = resources.files("tzdata").joinpath("zoneinfo/tzdata.zi").read_text(encoding="utf-8")
    rows = (line.split() for line in text.splitlines() if line.startswith("L "))
    return {alias: zone for _, zone, alias in rows}


def encode_spatialite(geometry: shapely.MultiPolygon) -> bytes:
    """Return a multipolygon as a SpatiaLite blob: its frame around well-known binary."""
    # <start> <byte order> <srid> <box> <mark> <type> <count>, then each polygon with a mark in
    # place of its byte order, <end>
    body = bytearray()
    for polygon in geometry.geoms:
        body += b"\x69" + shapely.to_wkb(polygon, byte_order=_LITTLE_ENDIAN)[1:]
    head = struct.pack("<BBi4d", 0, _LITTLE_ENDIAN, _WGS84, *geometry.bounds)
    count = len(geometry.geoms)
    return head + b"\x7c" + struct.pack("<ii", _MULTIPOLYGON, count) + bytes(body) + b"\xfe"
