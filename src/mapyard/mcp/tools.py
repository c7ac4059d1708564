"""The tools that an assistant gets: what each is for, what it takes, and how it is answered.

Each asks one question of the library. A position may be written as `lat,lon` or as an address or
name, which is looked up first; the answer tells what it was taken for.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol

from mapyard.errors import InvalidRequest, MapyardError, NotFound
from mapyard.library.results.places import Places
from mapyard.mcp import describe

_LATLON: Final = re.compile(r"\s*-?\d{1,2}(?:\.\d+)?\s*[,; ]\s*-?\d{1,3}(?:\.\d+)?\s*")
_MAX_POSITIONS: Final = 25


class Ask(Protocol):
    """Asks a question of the library by name."""

    def __call__(self, name: str, **values: Any) -> Awaitable[Any]:
        """Return the result of a question."""


class Tool(NamedTuple):
    """One tool; `parameters` is the JSON schema of its arguments' properties."""

    name: str
    title: str
    description: str
    parameters: dict[str, Any]
    required: tuple[str, ...]
    run: Callable[[Ask, dict[str, Any]], Awaitable[str]]

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


_POSITION: Final = _text(
    "a position as lat,lon (47.1412,9.5215), or an address or name (Städtle 1, Vaduz)"
)
_MODE: Final = _text("how to travel", enum=["auto", "foot", "bicycle"], default="auto")
_LIMIT: Final = {
    "type": "integer", "minimum": 1, "maximum": describe.MAX_ROWS, "default": 10,
    "description": "largest number of results",
}  # fmt: skip
_TAGS: Final = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": 'tags that all must hold: {"amenity": "cafe"}, {"cuisine": "pizza|kebab"} for '
    'one of several, {"website": "*"} for any value, {"name": "~^Caf"} for a regular expression, '
    '{"fixme": "!"} for none',
}
_BBOX: Final = _text("only inside this box: south,west,north,east")
_POSITIONS: Final = {
    "type": "array", "items": _POSITION, "minItems": 1, "maxItems": _MAX_POSITIONS,
    "description": "positions, each as lat,lon or an address",
}  # fmt: skip


class _Arguments:
    """The arguments of a call, with what positions were taken for."""

    def __init__(self, ask: Ask, given: dict[str, Any]) -> None:
        self.ask = ask
        self.given = given

    def get(self, name: str, default: Any = None) -> Any:
        value = self.given.get(name)
        return default if value is None else value

    @property
    def limit(self) -> int:
        limit = int(self.get("limit", 10))
        if not 1 <= limit <= describe.MAX_ROWS:
            raise InvalidRequest.of("limit", f"must be 1 to {describe.MAX_ROWS}")
        return limit

    async def position(self, name: str) -> tuple[str, str]:
        """Return a position as lat,lon, and what to call it."""
        return await self.find(str(self.given[name]), name)

    async def positions(self, name: str) -> list[tuple[str, str]]:
        """Return several."""
        texts = self.given[name]
        if not isinstance(texts, list) or not 1 <= len(texts) <= _MAX_POSITIONS:
            raise InvalidRequest.of(name, f"must be a list of 1 to {_MAX_POSITIONS} positions")
        return [await self.find(str(text), name) for text in texts]

    async def find(self, text: str, name: str) -> tuple[str, str]:
        if _LATLON.fullmatch(text):
            return re.sub(r"\s*[,; ]\s*", ",", text.strip()), text.strip()
        places: Places = await self.ask("geocode", q=text, limit=1)
        if not places:
            raise NotFound(f"{name}: no place was found for '{text[:80]}'; give it as lat,lon")
        lon, lat = places[0].lonlat
        return f"{lat},{lon}", f"{places[0].name} ({lat:.5f},{lon:.5f})"


async def _geocode(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    values: dict[str, Any] = {"q": given["query"], "limit": args.limit}
    if args.get("near"):
        values["focus"] = (await args.position("near"))[0]
    places = await ask("geocode", **values, lang=args.get("language"))
    return describe.describe_places(places)


async def _reverse(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    at, _ = await args.position("position")
    places = await ask(
        "reverse", at=at, limit=min(20, args.limit), radius=args.get("radius_m"),
        lang=args.get("language"),
    )  # fmt: skip
    return describe.describe_places(places)


async def _route(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    origin, destination = await args.position("origin"), await args.position("destination")
    via = await args.positions("via") if args.get("via") else []
    route = await ask(
        "route", origin=origin[0], destination=destination[0],
        waypoints=[position for position, _ in via] or None, mode=args.get("mode"),
        steps=args.get("steps", False), alternatives=args.get("alternatives"),
        lang=args.get("language"),
    )  # fmt: skip
    return describe.describe_route(route, [origin[1], destination[1]])


async def _isochrone(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    at, name = await args.position("position")
    minutes, meters = args.get("minutes"), args.get("distance_m")
    areas = await ask(
        "isochrone", at=at, contours_minutes=minutes, distance=meters, mode=args.get("mode")
    )
    return describe.describe_areas(areas, name)


async def _matrix(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    origins, destinations = await args.positions("origins"), await args.positions("destinations")
    matrix = await ask(
        "matrix", origins=[p for p, _ in origins], destinations=[p for p, _ in destinations],
        mode=args.get("mode"),
    )  # fmt: skip
    return describe.describe_matrix(
        matrix, [name for _, name in origins], [name for _, name in destinations]
    )


async def _nearby(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    at, name = await args.position("position")
    found = await ask(
        "nearby", at=at, tags=args.get("tags"), radius=args.get("radius_m"), limit=args.limit
    )
    return f"Nearest to {name}:\n{describe.describe_features(found, args.limit)}"


async def _features(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    if not args.get("tags") and not args.get("bbox") and not args.get("name"):
        raise InvalidRequest.of("tags", "give tags, a bbox or a name, or several of them")
    where = {"tags": args.get("tags"), "bbox": args.get("bbox"), "limit": args.limit + 1}
    if args.get("name"):
        found = await ask("search", q=given["name"], **where)
    else:
        found = await ask("features", **where)
    # One more than is told was asked for, to know whether there are more.
    return describe.describe_features(found, args.limit, is_part=True)


async def _overpass(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    found = await ask("overpass", data=given["query"])
    return describe.describe_overpass(found, args.limit)


async def _sparql(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    return describe.describe_solutions(await ask("sparql", query=given["query"]), args.limit)


async def _elevation(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    positions = await args.positions("positions")
    lonlat = [position for position, _ in positions]
    if args.get("along_line"):
        return describe.describe_profile(await ask("elevation_profile", geometry=lonlat))
    heights = await ask("elevation", coordinates=lonlat)
    return describe.describe_heights(heights, [name for _, name in positions])


async def _tags(ask: Ask, given: dict[str, Any]) -> str:
    args = _Arguments(ask, given)
    counts = await ask(
        "tags", key=args.get("key"), prefix=args.get("prefix"), limit=args.get("limit", 30)
    )
    return describe.describe_tags(counts)


TOOLS: Final[dict[str, Tool]] = {
    tool.name: tool
    for tool in (
        Tool("geocode", "Find a place by text",
             "Find addresses, places and points of interest by text, best first, with positions. "
             "Use it to turn what a person says into coordinates. For 'cafés near X' use nearby.",
             {"query": _text("address or name, in any order and language: Rue Grimaldi 5, Monaco"),
              "near": _POSITION, "language": _text("language of names, such as de"),
              "limit": _LIMIT},
             ("query",), _geocode),
        Tool("reverse", "Find what is at a position",
             "Tell the address, street or area at a position.",
             {"position": _POSITION,
              "radius_m": {"type": "number", "minimum": 1, "maximum": 5_000, "default": 200,
                           "description": "largest distance, meters"},
              "language": _text("language of names, such as de"), "limit": _LIMIT},
             ("position",), _reverse),
        Tool("route", "Find the way",
             "Length, time and, if wanted, instructions of the quickest way between positions by "
             "car, on foot or by bicycle. There is no public transport and no traffic.",
             {"origin": _POSITION, "destination": _POSITION, "via": _POSITIONS, "mode": _MODE,
              "steps": {"type": "boolean", "default": False, "description": "instructions too"},
              "alternatives": {"type": "integer", "minimum": 0, "maximum": 3,
                               "description": "other ways to look for"},
              "language": _text("language of the instructions, such as de")},
             ("origin", "destination"), _route),
        Tool("isochrone", "Find the area within reach",
             "Size and box of the area that can be reached from a position within minutes of "
             "travel, or meters on the road. Give one of minutes and distance_m.",
             {"position": _POSITION, "mode": _MODE,
              "minutes": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0,
                                                     "maximum": 120},
                          "maxItems": 10, "description": "travel times, minutes"},
              "distance_m": {"type": "array", "items": {"type": "number", "minimum": 1},
                             "maxItems": 10, "description": "distances, meters"}},
             ("position",), _isochrone),
        Tool("matrix", "Compare many ways",
             "Time and distance from each origin to each destination. Use it to find the nearest "
             "of several by travel time, in place of many routes.",
             {"origins": _POSITIONS, "destinations": _POSITIONS, "mode": _MODE},
             ("origins", "destinations"), _matrix),
        Tool("nearby", "Find what is near",
             "Elements with certain tags nearest to a position, with distances as the crow flies: "
             'cafés near the station is tags {"amenity": "cafe"}. `tags` tells what there is.',
             {"position": _POSITION, "tags": _TAGS,
              "radius_m": {"type": "number", "exclusiveMinimum": 0, "maximum": 100_000,
                           "default": 500, "description": "search radius, meters"},
              "limit": _LIMIT},
             ("position",), _nearby),
        Tool("features", "List elements",
             "Elements of OpenStreetMap by tags, box or name. The answer says whether there are "
             "more; `overpass` with `out count;` counts them.",
             {"tags": _TAGS, "bbox": _BBOX,
              "name": _text("words of the name, ref, operator or brand"), "limit": _LIMIT},
             (), _features),
        Tool("overpass", "Run an Overpass QL query",
             "For questions about how elements lie to each other that nearby and features cannot "
             'ask. Example: area["name"="Vaduz"];node(area)[amenity=bench];out count; '
             "End in `out;` or `out count;`. Positions are (lat,lon), boxes (s,w,n,e).",
             {"query": _text("the query; the whole dataset is searched"), "limit": _LIMIT},
             ("query",), _overpass),
        Tool("sparql", "Run a SPARQL query",
             "For counts, groups and joins. Example: SELECT ?kind (COUNT(*) AS ?n) WHERE "
             "{ ?s osmkey:amenity ?kind } GROUP BY ?kind ORDER BY DESC(?n) LIMIT 10. The prefixes "
             "osmkey:, osmnode:, osmway:, osmrel:, geo:, geof: and ogc: are declared.",
             {"query": _text("the query"), "limit": _LIMIT},
             ("query",), _sparql),
        Tool("elevation", "Tell heights",
             "Heights of positions above the sea, or ascent and descent along a line of them.",
             {"positions": _POSITIONS,
              "along_line": {"type": "boolean", "default": False,
                             "description": "take the positions as a line"}},
             ("positions",), _elevation),
        Tool("tags", "Tell which tags there are",
             "Keys of the dataset with counts, or the values of one key. Ask it before nearby and "
             "features when it is not certain how something is tagged.",
             {"key": _text("count the values of this key; without, all keys"),
              "prefix": _text("only keys, or values, that begin so"),
              "limit": {**_LIMIT, "maximum": 200, "default": 30}},
             (), _tags),
    )
}  # fmt: skip


async def run_tool(ask: Ask, name: str, arguments: dict[str, Any]) -> str:
    """Return the text of an answer; raise MapyardError with what is wrong and what to do."""
    tool = TOOLS.get(name)
    if tool is None:
        raise NotFound(f"there is no tool {name[:60]}; there are {', '.join(TOOLS)}")
    missing = [key for key in tool.required if arguments.get(key) in (None, "", [])]
    if missing:
        raise InvalidRequest.of(missing[0], f"is required; {tool.parameters[missing[0]]}")
    unknown = [key for key in arguments if key not in tool.parameters]
    if unknown:
        raise InvalidRequest.of(
            unknown[0][:60], f"is not known; {name} takes {', '.join(tool.parameters)}"
        )
    return await tool.run(ask, arguments)


def tell_error(error: MapyardError) -> str:
    """Return an error as an assistant reads it."""
    return f"{error.code}: {error.message}"
