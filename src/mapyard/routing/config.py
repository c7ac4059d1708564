"""The engine's configuration: one place for paths, limits and algorithm choices."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Final

from valhalla import get_config

#: Costing models in use; the engine's name per public mode.
COSTINGS: Final = {
    "auto": "auto", "truck": "truck", "motor_scooter": "motor_scooter", "motorcycle": "motorcycle",
    "taxi": "taxi", "bus": "bus", "bicycle": "bicycle", "foot": "pedestrian",
    "wheelchair": "pedestrian", "hike": "pedestrian",
}  # fmt: skip

#: Longest way per costing, as the crow flies over all its points: longer searches would hold a
#: thread for many seconds, and no one walks so far.
MAX_DISTANCE_M: Final = {
    "auto": 5_000_000.0, "truck": 5_000_000.0, "motor_scooter": 5_000_000.0,
    "motorcycle": 5_000_000.0, "taxi": 5_000_000.0, "bus": 5_000_000.0, "pedestrian": 2_000_000.0,
    "bicycle": 2_000_000.0,
}  # fmt: skip
#: The engine's own limits lie beyond ours, so that ours answer with our messages.
MAX_LOCATIONS: Final = 1_000
MAX_MATRIX_PAIRS: Final = 1_000_000
MAX_ISOCHRONE_MINUTES: Final = 240
MAX_ISOCHRONE_KM: Final = 1_000
MAX_ALTERNATES: Final = 3
MAX_CONTOURS: Final = 10
MAX_TRACE_POINTS: Final = 20_000
MAX_TRACE_KM: Final = 5_000
#: No limit of steps to larger roads, in the engine's words.
_UNLIMITED: Final = 2**32 - 1
#: Perimeter of all `avoid_polygons` of one request.
MAX_AVOID_PERIMETER_M: Final = 500_000
MAX_AVOID_VERTICES: Final = 10_000


def make_build_config(
    directory: Path,
    *,
    admins: Path | None,
    timezones: Path | None,
    threads: int,
    memory_bytes: int,
) -> dict[str, Any]:
    """Return the configuration for building tiles in `directory`/tiles.

    `memory_bytes` are what all threads may keep of tiles that they have read, its only limit.
    """
    tiles = directory / "tiles"
    tiles.mkdir(parents=True, exist_ok=True)
    config = _get_defaults(tile_extract="", tile_dir=tiles)
    mjolnir = config["mjolnir"]
    mjolnir["tile_extract"] = str(directory / "tiles.tar")
    mjolnir["admin"] = str(admins or "")
    mjolnir["timezone"] = str(timezones or "")
    mjolnir["concurrency"] = threads
    mjolnir["max_cache_size"] = memory_bytes // threads
    # The table of ids grows with what it meets; the default reserves half a gigabyte at once.
    mjolnir["id_table_size"] = 1
    for unused in ("traffic_extract", "landmarks", "transit_dir", "transit_feeds_dir"):
        mjolnir[unused] = ""
    config["additional_data"]["elevation"] = ""
    config["logging"] = {"type": "std_out", "color": False}
    return config


def _get_defaults(tile_extract: Path | str, tile_dir: Path | str) -> dict[str, Any]:
    # get_config() hands out the parts of one and the same mapping each time.
    return copy.deepcopy(get_config(tile_extract=tile_extract, tile_dir=tile_dir))


def make_serve_config(
    tiles_tar: Path, *, one_search_per_origin: bool = True, all_roads: bool = False
) -> dict[str, Any]:
    """Return the configuration of the actors that answer from a tar of tiles.

    `one_search_per_origin` chooses the matrix algorithm; the engine takes it from here only, so
    that an actor of each kind is kept (see routing/matrix.py for which one is asked when).
    With `all_roads` a search by car does not leave small roads out far from both ends: the way is
    the cheapest one then, as a prepared matrix has it (docs/decisions/038).
    """
    config = _get_defaults(tile_extract=tiles_tar, tile_dir="")
    mjolnir = config["mjolnir"]
    for unused in ("admin", "timezone", "traffic_extract", "landmarks", "transit_dir"):
        mjolnir[unused] = ""
    config["additional_data"]["elevation"] = ""
    config["logging"] = {"type": ""}

    # Slow roads at the ends take longer than receivers' clocks say; the default of 5 breaks traces.
    config["meili"]["default"]["max_route_time_factor"] = 20
    # The noise of points after routing/matching/match.py has averaged them, metres.
    config["meili"]["default"]["sigma_z"] = 3.5
    # A matrix over several islands has empty cells; the check would refuse it as a whole.
    config["loki"]["use_connectivity"] = False
    # At the nearest place of the nearest road, not at a crossing some metres away.
    config["loki"]["service_defaults"]["node_snap_tolerance"] = 1

    config["thor"]["source_to_target_algorithm"] = (
        "timedistancematrix" if one_search_per_origin else "costmatrix"
    )
    # As routes do: try again with private roads where no way was found; and stop soon after the
    # first connection, which is faster and agrees with routes better (docs/decisions/032).
    config["thor"]["costmatrix"].update(allow_second_pass=True, max_iterations=300)
    if all_roads:
        for algorithm in ("bidirectional_astar", "unidirectional_astar", "costmatrix"):
            limits = config["thor"][algorithm]["hierarchy_limits"]["max_up_transitions"]
            limits.update(dict.fromkeys(limits, _UNLIMITED))
    # Give label memory of a big request back instead of keeping it for ever.
    config["thor"]["clear_reserved_memory"] = True

    limits = config["service_limits"]
    for costing, distance_m in MAX_DISTANCE_M.items():
        limits[costing].update(
            max_distance=distance_m,
            max_locations=MAX_LOCATIONS,
            max_matrix_distance=distance_m,
            max_matrix_location_pairs=MAX_MATRIX_PAIRS,
        )
    limits["isochrone"].update(
        max_contours=MAX_CONTOURS,
        max_time_contour=MAX_ISOCHRONE_MINUTES,
        max_distance_contour=MAX_ISOCHRONE_KM,
    )
    limits["trace"].update(max_shape=MAX_TRACE_POINTS, max_distance=MAX_TRACE_KM * 1000.0)
    limits["max_exclude_polygons_length"] = MAX_AVOID_PERIMETER_M
    limits["max_exclude_polygons_vertices"] = MAX_AVOID_VERTICES
    limits["max_alternates"] = MAX_ALTERNATES
    limits["allow_hard_exclusions"] = True
    return config
