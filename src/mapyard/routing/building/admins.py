"""The engine's database of countries: driving side, default access, languages of names.

An extract rarely holds a whole country boundary, and without one the engine takes left-hand
traffic for granted. So country polygons from `mapyard.osm.countries` are added to what the extract
itself holds; where it does hold a country, its finer boundary wins.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import osmium
import shapely
from osmium.osm import mutable

from mapyard.geo.bbox import Bbox
from mapyard.osm.countries import Region, get_regions, iter_regions
from mapyard.routing.building.tools import run_tool

#: Above every id of OpenStreetMap (13 · 10⁹ nodes in 2026), so that files do not mix.
_FIRST_ID = 1 << 44
#: Margin around the extract: roads of complete ways may leave its box.
_MARGIN_DEG = 1.0
#: Marks of the added rows until the database is finished; "zxx" is ISO 639 for no language.
_LEFT, _RIGHT = "zxx-left", "zxx-right"


def build_admins(
    config: Path, pbf: Path, database: Path, bbox: Bbox, on_line: Callable[[str], None]
) -> None:
    """Write the SQLite database that `valhalla_build_tiles` reads."""
    borders = database.with_suffix(".osm.pbf")
    write_borders(borders, iter_regions(_widen(bbox)))
    run_tool("valhalla_build_admins", ["-c", config, pbf, borders], database.parent, on_line)
    borders.unlink()
    _finish(database)


def _widen(bbox: Bbox) -> Bbox:
    west, south, east, north = bbox
    return Bbox(
        west - _MARGIN_DEG if west - _MARGIN_DEG >= -180 else west,
        max(south - _MARGIN_DEG, -90.0),
        east + _MARGIN_DEG if east + _MARGIN_DEG <= 180 else east,
        min(north + _MARGIN_DEG, 90.0),
    )


def write_borders(path: Path, regions: Iterable[Region]) -> None:
    """Write regions as OSM boundary relations of level 2."""
    nodes: list[mutable.Node] = []
    ways: list[mutable.Way] = []
    relations: list[mutable.Relation] = []
    for region in regions:
        members: list[tuple[str, int, str]] = []
        for polygon in region.geometry.geoms:
            for role, ring in [
                ("outer", polygon.exterior),
                *(("inner", hole) for hole in polygon.interiors),
            ]:
                first = _FIRST_ID + len(nodes)
                positions = shapely.get_coordinates(ring)[:-1]
                nodes.extend(
                    mutable.Node(id=first + index, location=(lon, lat), version=1)
                    for index, (lon, lat) in enumerate(positions.tolist())
                )
                refs = [*range(first, first + len(positions)), first]
                way_id = _FIRST_ID + len(ways)
                ways.append(mutable.Way(id=way_id, nodes=refs, version=1))
                members.append(("w", way_id, role))
        tags = {
            "type": "boundary",
            "boundary": "administrative",
            "admin_level": "2",
            "name": region.country_name,
            "name:en": region.country_name,
            "ISO3166-1:alpha2": region.code,
            "default_language": _LEFT if region.drives_on_left else _RIGHT,
        }
        if region.code == "FR":
            # The engine leaves France out, for its islands have other rules, and takes this one.
            tags |= {"admin_level": "3", "name:en": "Metropolitan France"}
        relations.append(
            mutable.Relation(id=_FIRST_ID + len(relations), members=members, tags=tags, version=1)
        )
    path.unlink(missing_ok=True)
    with osmium.SimpleWriter(str(path)) as writer:
        for node in nodes:
            writer.add_node(node)
        for way in ways:
            writer.add_way(way)
        for relation in relations:
            writer.add_relation(relation)


def _finish(database: Path) -> None:
    """Drop added countries that the extract holds itself, and set the driving sides."""
    regions = get_regions()
    left_codes = {region.code for region in regions if region.drives_on_left}
    right_codes = {region.code for region in regions if not region.drives_on_left}
    with closing(sqlite3.connect(database)) as db, db:
        added = db.execute(
            "SELECT rowid, iso_code, default_language FROM admins WHERE default_language IN (?, ?)",
            (_LEFT, _RIGHT),
        ).fetchall()
        db.executemany(
            "UPDATE admins SET drive_on_right = ?, default_language = NULL WHERE rowid = ?",
            [(int(mark == _RIGHT), rowid) for rowid, _, mark in added],
        )
        added_rows = {rowid for rowid, _, _ in added}
        own = {
            code: rowid
            for rowid, code in db.execute(
                "SELECT rowid, iso_code FROM admins WHERE admin_level = 2 AND iso_code IS NOT NULL"
            )
            if rowid not in added_rows
        }
        replaced = [(own[code], rowid) for rowid, code, _ in added if code in own]
        db.executemany("UPDATE admins SET parent_admin = ? WHERE parent_admin = ?", replaced)
        db.executemany("DELETE FROM admins WHERE rowid = ?", [(rowid,) for _, rowid in replaced])
        # By code: the engine goes by a list of names and knows some countries by one spelling.
        for codes, on_right in ((left_codes - right_codes, 0), (right_codes - left_codes, 1)):
            db.executemany(
                "UPDATE admins SET drive_on_right = ? WHERE rowid = ?",
                [(on_right, own[code]) for code in codes & own.keys()],
            )
        db.execute(
            "UPDATE admins SET drive_on_right = (SELECT country.drive_on_right FROM admins country "
            "WHERE country.rowid = admins.parent_admin) WHERE parent_admin IN "
            "(SELECT rowid FROM admins WHERE admin_level = 2)"
        )
