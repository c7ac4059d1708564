"""Cut an extract into regions, with whole ways and relations and a margin of neighbors.

The whole extract stays beside them: updates begin with it (changes.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import osmium
import osmium.io

from mapyard.dataset.catalog import GUESTS_NAME
from mapyard.dataset.manifest import describe_file
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.fleet.areas import E7, EARTH, MAX_REGIONS, Area, cut_boxes, read_areas
from mapyard.fleet.generation import (
    FORMAT,
    OF_ROADS,
    SOURCE_NAME,
    SPLIT_NAME,
    WHOLE,
    RegionFile,
    Split,
    write_json,
)
from mapyard.fleet.holders import KINDS, Extra, Holders, Ints, Nodes
from mapyard.fleet.wholes import ROADS, WHOLES
from mapyard.osm.extract import list_blobs, write_extract
from mapyard.osm.pbf import Header
from mapyard.osm.source import check_input, prepare_source
from mapyard.store.writer import MAX_ROWS

DEFAULT_MARGIN_M: Final = 2_000.0
#: Of regions of roads: ways lead around, so they have more of their neighbors.
DEFAULT_ROADS_MARGIN_M: Final = 20_000.0

type Box = tuple[int, int, int, int]
type Bounds = tuple[float, float, float, float]


def split_regions(
    inputs: Sequence[Path],
    regions: str,
    out: Path,
    *,
    margin_m: float = DEFAULT_MARGIN_M,
    roads: str = "",
    roads_margin_m: float = DEFAULT_ROADS_MARGIN_M,
    say: Callable[[str], None] = lambda text: None,
) -> Split:
    """Write an extract per region, and split.json at last; return it.

    `regions` is a number, or the path of a GeoJSON file with polygons; so is `roads`, where roads
    have regions of their own.
    """
    for path in inputs:
        check_input(path)
    if (out / SPLIT_NAME).exists():
        raise MapyardError(f"{out} has a split already; name another folder, or delete it")
    scratch = out / ".scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        source = out / SOURCE_NAME
        source.unlink(missing_ok=True)
        header = prepare_source(list(inputs), source, say)
        say("reading nodes")
        nodes = Nodes(source, scratch)
        areas = _find_areas("--regions", regions, nodes)
        extras = [Extra(whole, Area(whole.name, EARTH)) for whole in WHOLES]
        for area in _find_areas("--roads", roads, nodes) if roads else []:
            own = area._replace(name=f"{ROADS.name}-{area.name}")
            extras.append(Extra(ROADS, own, own.grow(roads_margin_m)))
        _check_names([*areas, *(extra.area for extra in extras)])
        holders = Holders(source, scratch, nodes, areas, margin_m, extras, say)
        # All of them have the time of the whole, be it only that of its newest element.
        header.replication_timestamp = header.replication_timestamp or holders.newest_s
        split = Split(
            FORMAT, format_timestamp(header), margin_m,
            [{"name": path.name, "bytes": path.stat().st_size} for path in inputs], [],
            left_out=holders.left_out, roads_margin_m=roads_margin_m if roads else 0.0,
        )  # fmt: skip
        cuts = list_cuts(areas, margin_m, extras, EARTH if header.bbox else nodes.bounds)
        check_sizes(holders, cuts)
        blobs = list_blobs(source)
        for number, cut in enumerate(cuts):
            say(f"writing {cut.area.name} ({number + 1} of {len(cuts)})")
            folder = out / cut.area.name
            folder.mkdir(exist_ok=True)
            region = describe_region(holders, number, cut, folder)
            made = encode_header(replace(header, bbox=find_box(header, cut)))
            held = [holders.iter_ids(kind, number) for kind in range(len(KINDS))]
            write_extract(source, blobs, folder / SOURCE_NAME, made, held)
            region.files = {
                name: describe_file(folder / name) for name in (SOURCE_NAME, GUESTS_NAME)
            }
            split.list_of(cut.kind).append(region)
        write_json(out / SPLIT_NAME, split)
        return split
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class Cut(NamedTuple):
    """An extract that a split has: a region, or one beside the regions."""

    kind: str
    area: Area
    #: What its file holds: the area with its margin.
    grown: Area
    parts: tuple[str, ...]


def list_cuts(
    areas: Sequence[Area], margin_m: float, extras: Sequence[Extra], bounds: Box
) -> list[Cut]:
    """Return all extracts, in the order of their bits; `bounds` are those of the whole."""
    return [
        *(Cut("", area, area.grow(margin_m), ()) for area in areas),
        *(
            Cut(OF_ROADS if grown else WHOLE, area, grown or Area("", bounds), choice.parts)
            for choice, area, grown in extras
        ),
    ]


def _find_areas(option: str, regions: str, nodes: Nodes) -> list[Area]:
    if not regions.isdigit():
        areas = read_areas(Path(regions), option)
    elif not 1 <= int(regions) <= MAX_REGIONS:
        raise InvalidRequest(f"{option}: 1 to {MAX_REGIONS:,}")
    else:
        areas = cut_boxes(nodes.iter_positions(), nodes.bounds, int(regions))
    if len(areas) > MAX_REGIONS:
        raise InvalidRequest(f"{option}: at most {MAX_REGIONS:,} areas, got {len(areas):,}")
    return areas


def _check_names(areas: Sequence[Area]) -> None:
    names = [area.name for area in areas]
    for name in names:
        if names.count(name) > 1:
            raise InvalidRequest(f"no region may be called {name}: another dataset is")


def check_sizes(holders: Holders, cuts: Sequence[Cut]) -> None:
    """Raise before anything is written where an extract is too large for a dataset."""
    for cut, count in zip(cuts, holders.count_held(len(cuts)).tolist(), strict=True):
        if count <= MAX_ROWS:
            continue
        if cut.kind == WHOLE:
            todo = "it is not cut: make a fleet each of parts of the map, such as continents"
        elif cut.kind == OF_ROADS:
            todo = "ask for more regions of roads (--roads), or a smaller --roads-margin"
        else:
            todo = "ask for more regions (--regions)"
        raise MapyardError(
            f"{cut.area.name} would have {count:,} elements, a dataset has at most "
            f"{MAX_ROWS:,}; {todo}"
        )


def format_timestamp(header: Header) -> str:
    """Return the time of an extract's data, "" where it is unknown."""
    if not header.replication_timestamp:
        return ""
    return datetime.fromtimestamp(header.replication_timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def describe_region(holders: Holders, number: int, cut: Cut, folder: Path) -> RegionFile:
    """Write the guests of an extract into its folder; return what it has, but for its files."""
    counts, guests = {}, {}
    eids: list[Ints] = [np.empty(0, np.int64)]
    for kind, name in enumerate(KINDS):
        counts[name] = guests[name] = 0
        for ids, is_guest in holders.iter_held(kind, number):
            counts[name] += len(ids)
            if not cut.kind:
                guests[name] += int(is_guest.sum())
                eids.append(ids[is_guest] * 4 + kind)
    np.save(folder / GUESTS_NAME, np.sort(np.concatenate(eids)))
    return RegionFile(
        cut.area.name, cut.area.to_geojson(), (*cut.grown.bbox,), counts, guests, {}, cut.kind,
        list(cut.parts), [] if cut.area.shape is not None else list(cut.area.box),
    )  # fmt: skip


def encode_header(header: Header) -> osmium.io.Header:
    """Return the header of a sorted extract, as the writer takes it."""
    made = osmium.io.Header()
    made.set("sorting", "Type_then_ID")
    made.set("generator", "mapyard")
    if header.replication_timestamp:
        made.set("osmosis_replication_timestamp", format_timestamp(header))
    if header.replication_sequence is not None:
        made.set("osmosis_replication_sequence_number", str(header.replication_sequence))
    if header.replication_url:
        made.set("osmosis_replication_base_url", header.replication_url)
    if header.bbox is not None:
        made.add_box(osmium.osm.Box(*header.bbox))
    return made


def find_box(header: Header, cut: Cut) -> Bounds | None:
    """Return the box that an extract's header has, degrees; that of the whole says it else."""
    if header.bbox is None and cut.kind != WHOLE:
        return None
    grown = tuple(value / E7 for value in cut.grown.box)
    west, south, east, north = _meet(header.bbox or (-180.0, -90.0, 180.0, 90.0), grown)
    return (west, south, east, north) if west < east and south < north else None


def _meet(one: Sequence[float], other: Sequence[float]) -> Bounds:
    return (
        max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3]),
    )  # fmt: skip
