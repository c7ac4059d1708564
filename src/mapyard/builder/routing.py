"""The build step of the part `routing`: the road graph of the source file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.builder.memory import array_bytes, build_bytes
from mapyard.builder.pipeline import Step, StepContext
from mapyard.builder.preflight import Estimate
from mapyard.elevation import open_elevation
from mapyard.geo.bbox import Bbox
from mapyard.routing.building.graph import build_graph, prepare_roads
from mapyard.routing.building.heights import FindHeights
from mapyard.routing.meta import GraphMeta
from mapyard.routing.profiles import PROFILES
from mapyard.settings import get_settings
from mapyard.store.spill import spill_arrays

_UNITS_PER_DEG = 10_000_000
#: Positions that are looked at together.
_AT_ONCE = 1 << 20
#: Disk of a prepared profile as a multiple of the .osm.pbf, by mode; others are cars.
_PROFILE_SIZES = {"foot": 8.3, "bicycle": 4.4}


def find_bbox(lon: NDArray[np.int32], lat: NDArray[np.int32]) -> Bbox:
    """Return the box of positions (1e-7 degree); over the antimeridian where that is narrower."""
    parts = [slice(start, start + _AT_ONCE) for start in range(0, len(lon), _AT_ONCE)]
    occupied = np.zeros(360, np.bool_)
    for part in parts:
        occupied[np.clip(lon[part] // _UNITS_PER_DEG + 180, 0, 359)] = True
    degrees = np.flatnonzero(occupied)
    # The widest empty stretch of the circle lies outside the box.
    gaps = np.diff(degrees, append=degrees[0] + 360)
    widest = int(gaps.argmax())
    south, north = int(lat.min()), int(lat.max())
    west, east = least, most = int(lon.min()), int(lon.max())
    if widest != len(degrees) - 1:
        border = int((degrees[widest] - 180 + 1) * _UNITS_PER_DEG)
        west = min(int(lon[part].min(where=lon[part] >= border, initial=most)) for part in parts)
        east = max(int(lon[part].max(where=lon[part] < border, initial=least)) for part in parts)
    return Bbox(*(value / _UNITS_PER_DEG for value in (west, south, east, north)))


def _run(ctx: StepContext) -> Mapping[str, Any]:
    store = ctx.store
    if not store.node_count:
        return {"edges": 0}
    stage = ""

    def follow(share: float, what: str) -> None:
        nonlocal stage
        if what != stage:
            stage = what
            ctx.progress.stage(f"routing: {what}", total=100, unit="%")
        ctx.progress.advance(round(100 * share))

    bbox = find_bbox(store.lon, store.lat)
    # An update shares the machine with the server.
    threads = 1 if ctx.previous is not None else ctx.threads
    folder = ctx.folder / "routing"
    folder.mkdir(exist_ok=True)
    with spill_arrays(folder, array_bytes(ctx.settings)):
        meta: GraphMeta | None = build_graph(
            ctx.source,
            folder,
            bbox,
            threads=threads,
            find_heights=_open_heights(ctx.data / "elevation"),
            chosen=ctx.settings.prepared_profiles,
            memory_bytes=build_bytes(ctx.settings),
            jobs=ctx.jobs,
            on_progress=follow,
        )
    if meta is None:
        return {"edges": 0}
    return {
        "edges": meta.edge_count,
        "time_zones": meta.timezone_count,
        "engine": meta.engine,
        "slopes": meta.has_slopes,
    }


def _open_heights(folder: Path) -> FindHeights | None:
    try:
        rasters = open_elevation(folder)
    except FileNotFoundError:
        return None
    return lambda lon, lat: rasters.sample(lon, lat, fills_voids=False)[0]


def _estimate(pbf: int) -> Estimate:
    """Measured in docs/sizing.md, docs/decisions/030-valhalla-builds.md and 038."""
    memory = min(150_000_000 + 12 * pbf, build_bytes(get_settings()))
    chosen = [PROFILES[name].mode for name in set(get_settings().prepared_profiles)]
    more = sum(_PROFILE_SIZES.get(mode, 3.2) for mode in chosen)
    # Of the arrays of the largest mode, what is more than half of the memory lies in files.
    scratch = max(0, 12 * pbf - build_bytes(get_settings()) // 2)
    return Estimate(
        memory,
        round((18 + more) * pbf) + 5_000_000 + scratch,
        1.5 + 1.4e-6 * pbf + len(chosen) * (1.5 + 0.35e-6 * pbf),
    )


def _prepare(ctx: StepContext) -> None:
    folder = ctx.folder / "routing"
    folder.mkdir(exist_ok=True)
    with spill_arrays(folder, array_bytes(ctx.settings)):
        prepare_roads(ctx.source, folder)


STEP = Step("routing", _run, _estimate, _prepare)
