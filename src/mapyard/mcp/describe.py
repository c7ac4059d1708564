"""Answers as short texts: what a model can quote, with names, distances and positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from mapyard.library.results.feature import Feature, Features
from mapyard.library.results.heights import Heights, Profile
from mapyard.library.results.matrix import Matrix
from mapyard.library.results.overpass import OverpassFeatures
from mapyard.library.results.places import Place, Places
from mapyard.library.results.solutions import SparqlResult
from mapyard.library.results.tags import TagCounts
from mapyard.library.results.ways import Areas, Route
from mapyard.results.units import format_area, format_distance, format_duration

#: Longest answer, characters; the rest is counted.
MAX_TEXT: Final = 8_000
#: Rows that are told, whatever was found.
MAX_ROWS: Final = 50
_MAX_TAGS: Final = 8
#: Tags that say little to a person.
_DULL: Final = ("source", "created_by", "ref:", "addr:", "name", "old_name", "alt_name", "wikidata",
                "wikipedia", "building:", "roof:", "gtfs", "check_date", "survey")  # fmt: skip


def at(feature: Feature) -> str:
    """Return the position of a feature as `lat,lon`, "" without one."""
    try:
        lon, lat = feature.lonlat
    except ValueError:
        return ""
    return f"{lat:.5f},{lon:.5f}"


def cut(lines: Iterable[str], rest: int = 0, hint: str = "narrow the question") -> str:
    """Return lines as one text, as many as fit; the others are counted."""
    kept: list[str] = []
    size = 0
    left = rest
    for line in lines:
        if left > rest or size + len(line) > MAX_TEXT:
            left += 1
            continue
        kept.append(line)
        size += len(line) + 1
    if left:
        kept.append(f"… and {left:,} more; {hint}")
    return "\n".join(kept)


def describe_places(places: Places) -> str:
    """Return places, one a line."""
    if not places:
        return "Nothing was found. Try fewer words, another spelling, or only street and town."
    return cut(f"{n}. {_place(place)}" for n, place in enumerate(places, 1))


def _place(feature: Feature) -> str:
    place = Place(feature.written)
    kind = place.get("subcategory") or place.get("category") or place.get("source") or ""
    parts = [str(kind), at(place)]
    if place.distance_m is not None:
        parts.append(f"{format_distance(place.distance_m)} away")
    elif place.confidence is not None and place.confidence < 0.9:
        parts.append(f"matches {place.confidence:.0%} of the question")
    element = f"{place['osm_type']}/{place['osm_id']}" if place.get("osm_type") else ""
    return f"{place.name} ({', '.join(p for p in (*parts, element) if p)})"


def describe_features(
    found: Features, limit: int, hint: str = "narrow the question", *, is_part: bool = False
) -> str:
    """Return elements, one a line, with their most telling tags.

    `is_part` says that no more than one beyond `limit` was asked for.
    """
    shown = list(found[:limit])
    if not shown:
        return "No element fits. `tags` tells which keys and values there are."
    rest = len(found) - len(shown)
    if is_part and rest:
        lines = [f"{n}. {_element(f)}" for n, f in enumerate(shown, 1)]
        return cut([*lines, "… and more; narrow it by tags or bbox, or count by overpass"])
    return cut((f"{n}. {_element(f)}" for n, f in enumerate(shown, 1)), rest, hint)


def _element(feature: Feature) -> str:
    tags = {k: v for k, v in feature.properties.items() if not k.startswith("@")}
    distance_m = tags.pop("distance_m", None)
    address = " ".join(str(tags[k]) for k in ("addr:street", "addr:housenumber") if k in tags)
    telling = [f"{k}={v}" for k, v in tags.items() if not k.startswith(_DULL)][:_MAX_TAGS]
    name = str(tags.get("name") or tags.get("ref") or "(no name)")
    parts = [address, at(feature), feature.id or ""]
    if distance_m is not None:
        parts.insert(0, format_distance(distance_m))
    return f"{name} ({', '.join(p for p in parts if p)}): {', '.join(telling)}"


def describe_overpass(found: OverpassFeatures, limit: int) -> str:
    """Return counts, warnings and elements."""
    lines = [f"Warning: {warning}" for warning in found.warnings]
    lines += ["Count: " + ", ".join(f"{v:,} {k}" for k, v in counts.items())
              for counts in found.counts]  # fmt: skip
    if found or not lines:
        lines.append(describe_features(found, limit, "narrow the query, or ask for `out count;`"))
    return "\n".join(lines)


def describe_solutions(result: SparqlResult, limit: int) -> str:
    """Return solutions as a table of lines."""
    if result.kind == "boolean":
        return "true" if result.boolean else "false"
    if result.kind == "triples":
        triples = result.triples
        return cut(triples[:limit], max(0, len(triples) - limit), "add LIMIT")
    rows = [
        " | ".join("" if value is None else _short(str(value)) for value in row.values())
        for row in result[:limit]
    ]
    if not rows:
        return "No solution. Check the predicates: `tags` tells which keys and values there are."
    rest = max(0, len(result) - limit)
    return cut([" | ".join(result.variables), *rows], rest, "add LIMIT or a filter")


def _short(text: str) -> str:
    text = text.removeprefix("https://www.openstreetmap.org/")
    return text if len(text) < 200 else f"{text[:200]}…"


def describe_route(route: Route, names: Sequence[str]) -> str:
    """Return length, time and steps of a route and its alternatives."""
    lines = [f"From {names[0]} to {names[-1]}, mode {route['mode']}:"]
    for number, one in enumerate((route, *route.alternatives)):
        label = "" if not number else f"Alternative {number}: "
        notes = [word for word in ("toll", "ferry", "motorway") if one.get(word)]
        lines.append(
            f"{label}{format_distance(one.distance_m)}, {format_duration(one.duration_s)}"
            + (f" (with {', '.join(notes)})" if notes else "")
        )
        lines += [
            f"- {step['instruction']} ({format_distance(step['distance_m'])})" for step in one.steps
        ]
    return cut(lines, hint="leave out steps")


def describe_areas(areas: Areas, name: str) -> str:
    """Return the sizes and boxes of areas within reach."""
    lines = [f"From {name}:"]
    for area in areas:
        seconds, meters = area.get("time_seconds"), area.get("distance_meters")
        within = format_duration(seconds) if seconds is not None else format_distance(meters)
        shape = area.geometry
        assert shape is not None
        west, south, east, north = shape.bounds
        lines.append(
            f"- within {within}: {format_area(area['area_m2'])}, box (south,west,north,east) "
            f"{south:.5f},{west:.5f},{north:.5f},{east:.5f}"
        )
    return cut(lines)


def describe_matrix(matrix: Matrix, origins: Sequence[str], destinations: Sequence[str]) -> str:
    """Return time and distance of each pair, one a line."""
    lines = []
    for i, origin in enumerate(origins):
        for j, destination in enumerate(destinations):
            duration_s = float(matrix.durations_s[i, j])
            what = "no way" if duration_s != duration_s else (
                f"{format_duration(duration_s)}, "
                f"{format_distance(float(matrix.distances_m[i, j]))}"
            )  # fmt: skip
            lines.append(f"{origin} → {destination}: {what}")
    return cut(lines, hint="ask for fewer positions")


def describe_heights(heights: Heights, names: Sequence[str]) -> str:
    """Return the height of each position."""
    lines = (
        f"{name}: {'no data' if height_m != height_m else f'{height_m:.0f} m above the sea'}"
        for name, height_m in zip(names, heights.heights_m.tolist(), strict=True)
    )
    return cut(lines, hint="ask for fewer positions")


def describe_profile(profile: Profile) -> str:
    """Return the figures of a profile."""
    p: dict[str, Any] = profile.properties
    return (
        f"{format_distance(p['distance_m'])}; from {p['min_elevation_m']:.0f} to "
        f"{p['max_elevation_m']:.0f} m above the sea; {p['total_ascent_m']:.0f} m up, "
        f"{p['total_descent_m']:.0f} m down"
    )


def describe_tags(counts: TagCounts) -> str:
    """Return keys or values with their counts."""
    if not counts:
        return "There is no such key or value in this dataset."
    lines = (f"{c.key if c.value is None else f'{c.key}={c.value}'}: {c.count:,}" for c in counts)
    return cut(lines, counts.total - len(counts), "ask with a prefix, or a larger limit")
