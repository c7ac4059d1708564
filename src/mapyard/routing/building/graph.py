"""Build the road graph: the engine's tiles in one tar, from one .osm.pbf file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from mapyard.geo.bbox import Bbox
from mapyard.routing.building.admins import build_admins
from mapyard.routing.building.heights import FindHeights, write_heights
from mapyard.routing.building.timezones import build_timezones
from mapyard.routing.building.tools import RoutingBuildFailed, run_module, run_tool
from mapyard.routing.config import make_build_config
from mapyard.routing.contraction.build import build_tables
from mapyard.routing.contraction.mapping import MEMORY_BYTES
from mapyard.routing.contraction.tables import TILES_NAME
from mapyard.routing.meta import GraphMeta, name_engine
from mapyard.routing.tagging.rewriting import rewrite

#: The roads as the engine is to read them, a working file.
_ROADS: Final = "roads.osm.pbf"
#: Lines that the tile builder logs when a stage begins, and the share of the work done by then.
_STAGES = (
    ("Parsing ways", 0.05, "reading roads"),
    ("Parsing relations", 0.20, "reading restrictions"),
    ("Parsing nodes", 0.25, "reading nodes"),
    ("Creating graph edges", 0.35, "making edges"),
    ("Building edge shapes", 0.45, "making shapes"),
    ("Enhancing local graph", 0.60, "working out turns and densities"),
    ("HierarchyBuilder", 0.75, "making the hierarchy"),
    ("Creating shortcuts", 0.80, "making shortcuts"),
    ("Adding complex turn restrictions", 0.88, "adding restrictions"),
    ("Validating", 0.92, "checking"),
)


def prepare_roads(pbf: Path, directory: Path) -> None:
    """Do what needs nothing but the file, ahead of `build_graph` of the same directory."""
    directory.mkdir(parents=True, exist_ok=True)
    rewrite(pbf, directory / _ROADS)


def build_graph(
    pbf: Path,
    directory: Path,
    bbox: Bbox,
    *,
    threads: int | None = None,
    find_heights: FindHeights | None = None,
    chosen: Collection[str] = (),
    memory_bytes: int = MEMORY_BYTES,
    jobs: int = 1,
    on_progress: Callable[[float, str], None] = lambda share, what: None,
) -> GraphMeta | None:
    """Build the graph of `pbf` into `directory` (made if missing): tiles.tar and routing.json.

    `pbf` is sorted by type and id, `bbox` surrounds the data. The engine's own programs work in
    `threads`, one per core if none are given. With `find_heights` roads have
    grades; `chosen` profiles are prepared beside the modes, `jobs` modes at a time, in about
    `memory_bytes`. `on_progress` gets the share done in 0..1 and what is being done. Working files
    lie in `directory`/work and are removed at the end. Returns None, and leaves nothing, where the
    file holds no roads. Raises `RoutingBuildFailed`.
    """
    work = directory / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    admins, timezones = work / "admins.sqlite", work / "timezones.sqlite"
    config = make_build_config(
        work,
        admins=admins,
        timezones=timezones,
        threads=threads or os.cpu_count() or 1,
        memory_bytes=memory_bytes // 2,
    )
    heights = work / "heights"
    height_count = 0
    if find_heights is not None:
        on_progress(0.0, "heights")
        height_count = write_heights(find_heights, bbox, heights)
    if height_count:
        config["additional_data"]["elevation"] = str(heights)
    config_path = work / "valhalla.json"
    config_path.write_text(json.dumps(config))

    on_progress(0.0, "countries and time zones")
    build_admins(config_path, pbf, admins, bbox, lambda _: None)
    timezone_count = build_timezones(timezones, admins, bbox)

    edge_count, has_roads = 0, True

    def follow(line: str) -> None:
        nonlocal edge_count, has_roads
        if line.startswith("Finished with 0 routable ways"):
            has_roads = False
        if line.startswith("Directed Edge Count = "):
            edge_count = int(line.rsplit("=", 1)[1])
        for start, share, what in _STAGES:
            if line.startswith(start):
                on_progress(share, what)

    roads = directory / _ROADS
    if not roads.exists():
        on_progress(0.02, "reading tags")
        prepare_roads(pbf, directory)
    try:
        run_tool("valhalla_build_tiles", ["-c", config_path, roads], work, follow)
    except RoutingBuildFailed:
        if has_roads:
            raise
    roads.unlink()
    if edge_count == 0:
        shutil.rmtree(directory)
        return None
    on_progress(0.97, "packing")
    run_module("valhalla.valhalla_build_extract", ["-c", config_path], work)
    (work / TILES_NAME).replace(directory / TILES_NAME)
    on_progress(0.98, "preparing matrices")
    build_tables(directory, chosen, memory_bytes, jobs)
    meta = GraphMeta(name_engine(), edge_count, timezone_count, height_count > 0)
    meta.write(directory)
    shutil.rmtree(work)
    on_progress(1.0, "done")
    return meta
