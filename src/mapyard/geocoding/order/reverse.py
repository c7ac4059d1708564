"""Reverse geocoding: what is at a position.

Distances are to the real outlines and lines, not to centers. The best answer is the address of the
building that the position is in; else the nearest house, one of the nearest street before those of
other streets; else a number on an interpolation line; else the street; else the smallest area.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.geocoding.answer.answers import Result
from mapyard.geocoding.build.places import COUNTRY, COUNTY, REACH_M, SETTLEMENT, STATE
from mapyard.geocoding.kinds import PLACE, POI, STREET
from mapyard.geocoding.search.gazetteer import Gazetteer, House, Ints
from mapyard.geocoding.search.matching import Keep
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7

Layer = Literal["", "address", "poi", "street", "admin", "natural"]

#: The first look around, meters; widened until something is found.
FIRST_M: Final = 40.0
#: A house of another street than the nearest counts as this much farther away.
OTHER_STREET_M: Final = 15.0
#: Beyond this a house is no answer to "what is here" when a street is nearer.
HOUSE_M: Final = 100.0
_AT: Final = 1.0
#: Zooms that show areas, and the largest rank of an area up to each; from this zoom on, houses.
ZOOM_RANKS: Final = ((4, COUNTRY), (7, STATE), (9, COUNTY), (12, SETTLEMENT), (15, 23))
LAST_AREA_ZOOM: Final = 15
HOUSE_ZOOM: Final = 18
NATURAL_KEYS: Final = frozenset(("natural", "waterway", "water", "geological", "mountain_pass"))
_MOST_ELEMENTS: Final = 50


class _Around(NamedTuple):
    """What lies within a radius: rows, their distance and nearest point."""

    entries: Ints
    entry_m: NDArray[np.float64]
    documents: Ints
    document_m: NDArray[np.float64]
    document_rows: Ints
    rows: NDArray[Any]
    reach_m: float


def find(
    gazetteer: Gazetteer,
    lon: float,
    lat: float,
    radius_m: float,
    limit: int,
    layer: Layer = "",
    keep: Keep | None = None,
    zoom: int | None = None,
) -> list[Result]:
    """Return up to `limit` results at a position: the best one, then the others by distance.

    `keep` gets sorted element rows and returns which may be answers, however they are called.
    """
    if zoom is not None and not layer and keep is None:
        if zoom <= LAST_AREA_ZOOM:
            return _find_at_zoom(gazetteer, lon, lat, zoom)[:limit]
        if zoom < HOUSE_ZOOM:
            layer = "street"
    if layer == "admin":
        return _find_areas(gazetteer, lon, lat)[:limit]
    reach_m = min(radius_m, FIRST_M if limit == 1 else 4 * FIRST_M)
    results: list[Result] = []
    while True:
        around = _look_around(gazetteer, lon, lat, reach_m, layer, keep)
        results = _choose(gazetteer, around, lon, lat, layer)
        if keep is not None and layer == "poi":
            results = _with_elements(gazetteer, results, around, lon, lat)
        if len(results) >= limit or reach_m >= radius_m:
            break
        reach_m = min(radius_m, reach_m * 3)
    if layer == "" and keep is None and len(results) < limit:
        results += _find_areas(gazetteer, lon, lat)
    return results[:limit]


def find_in_layers(
    gazetteer: Gazetteer,
    lon: float,
    lat: float,
    radius_m: float,
    limit: int,
    layers: tuple[Layer, ...],
    keep: Keep | None = None,
    zoom: int | None = None,
) -> list[Result]:
    """Return results of several layers together by distance, the areas around last."""
    if len(layers) < 2:
        layer = layers[0] if layers else ""
        return find(gazetteer, lon, lat, radius_m, limit, layer, keep, zoom)
    near: list[Result] = []
    for layer in layers:
        if layer != "admin":
            near += find(gazetteer, lon, lat, radius_m, limit, layer, keep)
    near.sort(key=lambda result: _count_distance(result.distance_m or 0.0))
    areas = _find_areas(gazetteer, lon, lat) if "admin" in layers else []
    # The smallest area has its place even where there is much around.
    kept = max(0, limit - 1) if areas else limit
    return [*near[:kept], *areas][:limit]


def _find_at_zoom(g: Gazetteer, lon: float, lat: float, zoom: int) -> list[Result]:
    """Return the areas that a map of a zoom shows, the smallest of them first."""
    areas = _find_areas(g, lon, lat)
    most = next(rank for last, rank in ZOOM_RANKS if zoom <= last)
    # Where no area is as large (a clipped extract has no country), the largest.
    return [r for r in areas if g.place_rank[r.document] <= most] or areas[-1:]


def _with_elements(
    g: Gazetteer, results: list[Result], around: _Around, lon: float, lat: float
) -> list[Result]:
    """Add the elements that are no documents of their own: trees, benches, a power line."""
    found, _ = g.documents_of(around.rows)
    bare = np.delete(around.rows, found).astype(np.int64)
    if not len(bare):
        return results
    distances = _distances_m(g, bare, lon, lat)
    order = np.argsort(distances, kind="stable")
    order = order[distances[order] <= around.reach_m][:_MOST_ELEMENTS]
    areas = _find_areas(g, lon, lat)
    inside = areas[0].document if areas else 0
    points = shapely.point_on_surface(g.store.geometries(bare[order]))
    elements = [
        Result(
            inside, score=1.0, distance_m=float(distances[i]), row=int(bare[i]), is_element=True,
            position=(float(point.x), float(point.y)),
        )
        for i, point in zip(order.tolist(), points, strict=True)
        if point is not None
    ]  # fmt: skip
    return sorted([*results, *elements], key=lambda result: result.distance_m or 0.0)


def _look_around(
    g: Gazetteer, lon: float, lat: float, reach_m: float, layer: Layer, keep: Keep | None
) -> _Around:
    dy = reach_m / DEGREE_M
    dx = dy / max(0.01, np.cos(np.radians(lat)))
    west, east = lon - dx, lon + dx
    box = Bbox(
        west + 360 if west < -180 else west, max(-90.0, lat - dy),
        east - 360 if east > 180 else east, min(90.0, lat + dy),
    )  # fmt: skip
    rows = g.store.search_box(box)
    if layer in ("poi", "natural"):
        # Bus lines and hiking routes pass everywhere and are no places.
        rows = np.setdiff1d(rows, g.store.rows_with_key("route"), assume_unique=True)
    if keep is not None:
        rows = rows[keep(rows.astype(np.int64))]
    at_entry, entries = g.entries_of(rows if layer not in ("poi", "natural") else rows[:0])
    at_document, documents = g.documents_of(rows)
    wanted = g.kind[documents] == (POI if layer in ("poi", "natural") else STREET)
    at_document, documents = at_document[wanted], documents[wanted]
    needed = distinct(at_entry, at_document)
    distance = np.full(len(rows), np.inf)
    if len(needed):
        distance[needed] = _distances_m(g, rows[needed].astype(np.int64), lon, lat)
    near_entry, near_document = distance[at_entry] <= reach_m, distance[at_document] <= reach_m
    return _Around(
        entries[near_entry], distance[at_entry][near_entry],
        documents[near_document], distance[at_document][near_document],
        rows[at_document][near_document].astype(np.int64), rows, reach_m,
    )  # fmt: skip


def _distances_m(g: Gazetteer, rows: Ints, lon: float, lat: float) -> NDArray[np.float64]:
    """Return distances from a position to geometries, in a plane true around it."""
    shapes = g.store.geometries(rows)
    scale = np.array([max(0.01, np.cos(np.radians(lat))), 1.0])
    coordinates = shapely.get_coordinates(shapes)
    # The short way around at the antimeridian.
    x = (coordinates[:, 0] - lon + 180.0) % 360.0 - 180.0
    flat = shapely.set_coordinates(shapes, np.column_stack([x * scale[0], coordinates[:, 1] - lat]))
    distances = shapely.distance(flat, shapely.Point(0.0, 0.0)) * DEGREE_M
    return np.where(np.isnan(distances), np.inf, distances)


def _choose(g: Gazetteer, around: _Around, lon: float, lat: float, layer: Layer) -> list[Result]:
    kinds = g.kind[around.documents]
    streets, pois = np.flatnonzero(kinds == STREET), np.flatnonzero(kinds == POI)
    if layer == "natural":
        documents = around.documents[pois].tolist()
        pois = pois[[not NATURAL_KEYS.isdisjoint(g.tags(document)) for document in documents]]
    if layer in ("poi", "natural"):
        return _list_pois(g, around, pois)
    nearest_street = -1
    if len(streets):
        nearest_street = int(streets[around.document_m[streets].argmin()])
    if layer == "street":
        return _list_streets(g, around, streets, lon, lat)
    houses = _list_houses(g, around, nearest_street)
    line = g.project(around.rows, lon, lat)
    if line is not None and (not houses or line.distance_m + _AT < (houses[0].distance_m or 0)):
        house = House(-1, line.lon, line.lat, 0.8)
        houses.insert(
            0, Result(line.document, -1, house, str(line.number), 1.0, distance_m=line.distance_m)
        )
    if layer == "address":
        return houses
    lines = _list_streets(g, around, streets, lon, lat)
    if houses and lines and (houses[0].distance_m or 0) > HOUSE_M:
        first = lines[0] if (lines[0].distance_m or 0) < (houses[0].distance_m or 0) else houses[0]
    elif houses or lines:
        first = (houses or lines)[0]
    else:
        return []
    rest = sorted(
        (result for result in houses + lines if result is not first),
        key=lambda result: result.distance_m or 0.0,
    )
    return [first, *rest]


def _list_houses(g: Gazetteer, around: _Around, nearest_street: int) -> list[Result]:
    """Return the houses: the best first, then by distance."""
    if not len(around.entries):
        return []
    street = int(around.documents[nearest_street]) if nearest_street >= 0 else -1
    parents = g.address_parent[around.entries]
    other = (parents != street) & (around.entry_m > _AT) if street >= 0 else np.False_
    # What is here is here: of outlines in one another the smallest is the most exact, and a point
    # even more, such as the door of a house in a large area.
    entry_m = np.where(around.entry_m <= _AT, 0.0, around.entry_m)
    cost = entry_m + np.where(other, OTHER_STREET_M, 0.0)
    order = np.lexsort((_sizes(g, g.address_row[around.entries]), cost))
    best, rest = order[0], order[1:]
    rest = rest[np.argsort(around.entry_m[rest], kind="stable")]
    results: list[Result] = []
    for i in (int(best), *rest.tolist()):
        entry = int(around.entries[i])
        document = int(parents[i])
        if document >= 0:
            results.append(Result(document, entry, score=1.0, distance_m=float(around.entry_m[i])))
    return results


def _list_streets(
    g: Gazetteer, around: _Around, streets: Ints, lon: float, lat: float
) -> list[Result]:
    """Return each street once, by distance, at its nearest point."""
    order = streets[np.argsort(around.document_m[streets], kind="stable")]
    results: dict[int, Result] = {}
    for i in order.tolist():
        document = int(around.documents[i])
        if document in results:
            continue
        row = int(around.document_rows[i])
        shape = g.store.geometries(np.array([row]))[0]
        line = shapely.shortest_line(shape, shapely.Point(lon, lat))
        x, y = shapely.get_coordinates(line)[0] if line is not None else g.position(document)
        results[document] = Result(
            document, score=1.0, distance_m=float(around.document_m[i]),
            position=(float(x), float(y)), row=row,
        )  # fmt: skip
    return list(results.values())


def _list_pois(g: Gazetteer, around: _Around, pois: Ints) -> list[Result]:
    """Return points of interest by distance; of those at the position the smallest first."""
    away_m = np.array([_count_distance(m) for m in around.document_m[pois].tolist()], np.float64)
    order = pois[np.lexsort((_sizes(g, around.document_rows[pois]), away_m))]
    results: dict[int, Result] = {}
    for i in order.tolist():
        document = int(around.documents[i])
        if document not in results:
            distance_m = float(around.document_m[i])
            results[document] = Result(document, score=1.0, distance_m=distance_m)
    return list(results.values())


def _count_distance(distance_m: float) -> float:
    """Return a distance, 0 for what is as good as here."""
    return 0.0 if distance_m <= _AT else distance_m


def _sizes(g: Gazetteer, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the size of the boxes of rows; 0 for points."""
    boxes = g.store.boxes(rows).astype(np.float64)
    return np.asarray((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]))


def _find_areas(g: Gazetteer, lon: float, lat: float) -> list[Result]:
    """Return the areas that hold a position, small to large, after a place node in reach."""
    rows = g.store.search_box(Bbox(lon, lat, lon, lat))
    _, documents = g.documents_of(rows)
    documents = distinct(documents[(g.kind[documents] == PLACE)])
    documents = documents[g.place_is_area[documents]]
    inside = [int(d) for d in documents if g.area_contains(int(d), lon, lat)]
    inside.sort(key=lambda d: -d)  # places are numbered from the large to the small
    results = [Result(d, score=1.0, distance_m=0.0) for d in inside]
    return [*_find_nodes(g, lon, lat, inside), *results]


def _find_nodes(g: Gazetteer, lon: float, lat: float, inside: list[int]) -> list[Result]:
    """Return the nearest place node in reach when no settlement's area holds the position."""
    if any(g.place_rank[d] >= 16 for d in inside):
        return []
    nodes, reach_m = g.place_nodes(REACH_M)
    if not len(nodes):
        return []
    distance_m = haversine_m(lon, lat, g.lon[nodes] / E7, g.lat[nodes] / E7)
    share = distance_m / reach_m
    best = int(share.argmin())
    if share[best] > 1:
        return []
    return [Result(int(nodes[best]), score=1.0, distance_m=float(distance_m[best]))]
