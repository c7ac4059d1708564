"""openrouteservice's extra_info: what the roads of a route are, by stretches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from mapyard.elevation.profile import find_heights
from mapyard.errors import Unsupported
from mapyard.forms.roads import find_edges_of, find_stretches, measure
from mapyard.http.context import Context
from mapyard.library.way_details import find_slopes
from mapyard.library.ways import find_way_tags, get_rasters
from mapyard.routing.costing import CostingOptions
from mapyard.routing.edges import EdgeInfo
from mapyard.routing.modes import Mode
from mapyard.routing.trip import Route

type Tags = dict[str, str]

_SURFACES: Final = {
    "paved": 1, "unpaved": 2, "woodchips": 2, "rock": 2, "rocks": 2, "stone": 2, "shells": 2,
    "salt": 2, "asphalt": 3, "chipseal": 3, "bitmac": 3, "tarmac": 3, "concrete": 4, "cement": 4,
    "metal": 6, "wood": 7, "compacted": 8, "pebblestone": 8, "gravel": 10, "fine_gravel": 10,
    "dirt": 11, "earth": 11, "soil": 11, "ground": 12, "mud": 12, "ice": 13, "snow": 13,
    "paving_stones": 14, "paved_stones": 14, "sett": 14, "cobblestone": 14,
    "unhewn_cobblestone": 14, "bricks": 14, "brick": 14, "sand": 15, "grass": 17,
    "grass_paver": 18,
}  # fmt: skip
_WAY_TYPES: Final = {
    "primary": 1, "motorway": 1, "trunk": 1, "secondary": 2, "tertiary": 2, "road": 2,
    "unclassified": 2, "residential": 3, "service": 3, "living_street": 3, "path": 4, "track": 5,
    "cycleway": 6, "footway": 7, "pedestrian": 7, "crossing": 7, "steps": 8, "construction": 10,
}  # fmt: skip
_FERRIES: Final = ("ferry", "shuttle_train")
_SAC_SCALES: Final = {
    "hiking": 1, "mountain_hiking": 2, "demanding_mountain_hiking": 3, "alpine_hiking": 4,
    "demanding_alpine_hiking": 5, "difficult_alpine_hiking": 6,
}  # fmt: skip
_STEEPNESS: Final = "steepness"
_DIFFICULTY: Final = "traildifficulty"


def _find_surface(tags: Tags, _edge: EdgeInfo) -> int:
    first = tags.get("surface", "").partition(";")[0].partition(":")[0].strip()
    return _SURFACES.get(first, 0)


def _find_way_type(tags: Tags, edge: EdgeInfo) -> int:
    if tags.get("route") in _FERRIES or edge.use == "ferry":
        return 9
    return _WAY_TYPES.get(tags.get("highway", "").removesuffix("_link"), 0)


def _find_category(tags: Tags, edge: EdgeInfo) -> int:
    highway = tags.get("highway", "").removesuffix("_link")
    return (
        1 * (highway == "motorway")
        | 2 * edge.toll
        | 4 * (highway == "steps")
        | 8 * (tags.get("route") in _FERRIES)
        | 16 * (tags.get("ford", "no") != "no")
    )


def _find_difficulty(tags: Tags, mode: Mode) -> int:
    """Return 0 where nothing is known; on foot 1 to 6, by bicycle 1 to 7."""
    if mode != "bicycle":
        return _SAC_SCALES.get(tags.get("sac_scale", ""), 0)
    scale = tags.get("mtb:scale", "").rstrip("+-")
    return int(scale) + 1 if scale in tuple("0123456") else 0


#: Name in a request → name in the answer, and the value of a way.
_SERVED: Final[dict[str, tuple[str, Callable[[Tags, EdgeInfo], int]]]] = {
    "surface": ("surface", _find_surface),
    "waytype": ("waytypes", _find_way_type),
    "waycategory": ("waycategory", _find_category),
    "tollways": ("tollways", lambda _tags, edge: int(edge.toll)),
    "osmid": ("osmId", lambda _tags, edge: edge.way_id),
}


def make_extras(
    ctx: Context, route: Route, names: Sequence[str], mode: Mode, options: CostingOptions | None
) -> dict[str, Any]:
    """Return what is asked for: stretches by index of the line, and sums."""
    known = (*_SERVED, _STEEPNESS, _DIFFICULTY)
    for name in names:
        if name not in known:
            raise Unsupported(
                f"extra_info: {name} is not served; there are {', '.join(known)}",
                details={"extra_info": [f"{name} is not served"]},
            )
    path, ends = find_edges_of(ctx, route, mode, options)
    along_m = measure(route.positions).tolist()
    tags = {edge.way_id: find_way_tags(ctx, edge.way_id) for edge in path.edges}
    found = {}
    for name in dict.fromkeys(names):
        if name == _STEEPNESS:
            heights = find_heights(get_rasters(ctx), route.positions[:, :2])
            slopes = find_slopes(route.positions, heights.heights_m)
            found[name] = _write_stretches(
                [piece.value for piece in slopes], [piece.end for piece in slopes], along_m
            )
            continue
        if name == _DIFFICULTY:
            values = [_find_difficulty(tags[edge.way_id], mode) for edge in path.edges]
            found[name] = _write_stretches(values, ends, along_m)
            continue
        written, read = _SERVED[name]
        values = [read(tags[edge.way_id], edge) for edge in path.edges]
        found[written] = _write_stretches(values, ends, along_m)
    return found


def _write_stretches(
    values: Sequence[int], ends: Sequence[int], along_m: Sequence[float]
) -> dict[str, Any]:
    stretches = find_stretches(values, ends)
    lengths_m: dict[int, float] = {}
    for first, last, value in stretches:
        lengths_m[value] = lengths_m.get(value, 0.0) + along_m[last] - along_m[first]
    whole_m = max(sum(lengths_m.values()), 1e-9)
    summary = [
        {
            "value": value,
            "distance": round(meters, 1),
            "amount": round(100 * meters / whole_m, 2),
        }
        for value, meters in sorted(lengths_m.items(), key=lambda item: -item[1])
    ]
    return {"values": stretches, "summary": summary}
