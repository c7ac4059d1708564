"""Queries of the kinds that people send, each with its meaning computed by the oracle.

`$box`, `$lat`, `$lon`, `$area`, `$level` and `$poly` stand for places of the extract.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from string import Template

from oracle import Found, Key, Segment, Tags, World, matches, polygon

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Places:
    """Where the queries look in an extract."""

    box: Box
    lat: float
    lon: float
    area: str
    level: str
    poly: tuple[tuple[float, float], ...]
    since: str

    def fill(self, query: str) -> str:
        """Return a query with its places filled in."""
        return Template(query).substitute(
            box=",".join(map(str, self.box)), lat=self.lat, lon=self.lon, area=self.area,
            level=self.level, poly=" ".join(f"{lat} {lon}" for lat, lon in self.poly),
            since=self.since,
        )  # fmt: skip


MONACO = Places(
    (43.732, 7.415, 43.74, 7.425), 43.7384, 7.4246, "Monte-Carlo", "10",
    ((43.735, 7.415), (43.735, 7.43), (43.742, 7.428), (43.739, 7.42)), "2025-06-01T00:00:00Z",
)  # fmt: skip
LIECHTENSTEIN = Places(
    (47.135, 9.515, 47.145, 9.53), 47.1392, 9.5228, "Vaduz", "8",
    ((47.13, 9.51), (47.13, 9.53), (47.145, 9.525), (47.14, 9.518)), "2025-06-01T00:00:00Z",
)  # fmt: skip


class Extract:
    """An extract's elements, and what many cases ask of its places."""

    def __init__(self, world: World, places: Places) -> None:
        self.world, self.places = world, places

    def tagged(self, kinds: str, **tags: str | None) -> Found:
        """Return elements with these tags; None is any value. `__` in a key is a colon."""
        wanted = {key.replace("__", ":"): value for key, value in tags.items()}

        def keep(own: Tags) -> bool:
            return all(key in own and value in (None, own[key]) for key, value in wanted.items())

        return self.world.select(kinds, keep)

    @cached_property
    def boxed(self) -> Found:
        return {key for key in self.world.elements if self.world.in_box(key, self.places.box)}

    def near(self, found: Found, radius_m: float) -> Found:
        lat, lon = self.places.lat, self.places.lon
        reach = radius_m * 200  # 1e-7 degrees, generously: to skip what is far away
        result = set()
        for key in found:
            box = self.world.box_of(key)
            if box is None or box[0] - reach > lon * 1e7 or box[2] + reach < lon * 1e7:
                continue
            if box[1] - reach > lat * 1e7 or box[3] + reach < lat * 1e7:
                continue
            if self.world.within(key, radius_m, lat, lon):
                result.add(key)
        return result

    def inside(self, found: Found, ring: list[Segment]) -> Found:
        xs = [x for a, b in ring for x in (a[0], b[0])]
        ys = [y for a, b in ring for y in (a[1], b[1])]
        west, east, south, north = min(xs), max(xs), min(ys), max(ys)
        result = set()
        for key in found:
            box = self.world.box_of(key)
            if box is None or box[0] > east or box[2] < west or box[1] > north or box[3] < south:
                continue
            if self.world.inside(key, ring):
                result.add(key)
        return result

    @cached_property
    def area_key(self) -> Key:
        (key,) = (
            key
            for key in self.tagged("r", boundary="administrative", name=self.places.area)
            if self.is_whole(key)
        )
        return key

    @cached_property
    def area_ring(self) -> list[Segment]:
        return self.world.border(self.area_key)

    @cached_property
    def poly_ring(self) -> list[Segment]:
        return polygon(list(self.places.poly))

    def is_whole(self, key: Key) -> bool:
        """Return whether all border ways are there and close."""
        ends: Counter[int] = Counter()
        for kind, ref, _ in self.world.elements[key].members:
            if kind != "way":
                continue
            way = self.world.elements.get(("way", ref))
            if way is None or any(("node", node) not in self.world.elements for node in way.refs):
                return False
            ends[way.refs[0]] += 1
            ends[way.refs[-1]] += 1
        return bool(ends) and all(count % 2 == 0 for count in ends.values())

    def areas_at_level(self) -> Found:
        return {
            key
            for key in self.tagged(
                "r", boundary="administrative", admin_level=self.places.level, type="boundary"
            )
            if self.is_whole(key)
        }


type Case = tuple[str, Callable[[Extract], Found]]

CASES: dict[str, Case] = {
    # ---- tags
    "wizard: key and value": (
        "[out:json][timeout:25];nwr[\"amenity\"=\"restaurant\"]($box);out geom;",
        lambda x: x.tagged("nwr", amenity="restaurant") & x.boxed,
    ),
    "wizard of old: union, body, recursion": (
        '[out:json][timeout:25];(node["shop"]($box);way["shop"]($box);relation["shop"]($box););'
        "out body;>;out skel qt;",
        lambda x: (f := x.tagged("nwr", shop=None) & x.boxed) | x.world.down(f),
    ),
    "key exists": ("nwr[name];out;", lambda x: x.tagged("nwr", name=None)),
    "two tags": (
        "way[highway=residential][name];out;",
        lambda x: x.tagged("w", highway="residential", name=None),
    ),
    "unquoted key with colon": (
        "nwr[addr:street][addr:housenumber];out;",
        lambda x: x.tagged("nwr", addr__street=None, addr__housenumber=None),
    ),
    "not equal includes missing": (
        "way[highway][surface!=asphalt];out;",
        lambda x: x.world.select(
            "w", lambda t: "highway" in t and t.get("surface") != "asphalt"
        ),
    ),
    "key missing": (
        "way[building][!name];out;",
        lambda x: x.world.select("w", lambda t: "building" in t and "name" not in t),
    ),
    "key missing the turbo way": (
        'way["building"]["name"!~".*"];out;',
        lambda x: x.world.select("w", lambda t: "building" in t and "name" not in t),
    ),
    "regular expression": (
        'way[highway~"^(primary|secondary|tertiary)$$"];out;',
        lambda x: x.world.select(
            "w", lambda t: matches("^(primary|secondary|tertiary)$", t.get("highway"))
        ),
    ),
    "regular expression ignoring case": (
        'nwr[name~"^(rue|la|im|in) ",i];out;',
        lambda x: x.world.select(
            "nwr", lambda t: matches("^(rue|la|im|in) ", t.get("name"), ignore_case=True)
        ),
    ),
    "regular expression not matching": (
        'nwr[amenity][amenity!~"parking|bench"];out;',
        lambda x: x.world.select(
            "nwr",
            lambda t: "amenity" in t and not matches("parking|bench", t["amenity"]),
        ),
    ),
    "not matching includes missing": (
        'node[natural][name!~"e"];out;',
        lambda x: x.world.select(
            "n", lambda t: "natural" in t and not matches("e", t.get("name"))
        ),
    ),
    "umlauts in a class": (
        'nwr["name"~"[äöüéè]"];out;',
        lambda x: x.world.select("nwr", lambda t: matches("[äöüéè]", t.get("name"))),
    ),
    r"digits as \d": (
        r'nwr["addr:housenumber"~"^\d+[a-z]$$"];out;',
        lambda x: x.world.select(
            "nwr", lambda t: matches("^[0-9]+[a-z]$", t.get("addr:housenumber"))
        ),
    ),
    "key pattern": (
        'nwr[~"^name:(de|en|it)$$"~"."];out;',
        lambda x: x.world.select(
            "nwr", lambda t: any(matches("^name:(de|en|it)$", k) for k in t)
        ),
    ),
    "key pattern ignoring case": (
        'nwr[~"^NAME"~"monaco|vaduz",i];out;',
        lambda x: x.world.select(
            "nwr",
            lambda t: any(
                matches("^NAME", k, ignore_case=True)
                and matches("monaco|vaduz", v, ignore_case=True)
                for k, v in t.items()
            ),
        ),
    ),
    "empty value is dropped": (
        'node[amenity=bench][name=""];out;',
        lambda x: x.tagged("n", amenity="bench"),
    ),
    "types nw, wr, nr": (
        "(nw[tourism];wr[leisure];nr[public_transport];);out;",
        lambda x: x.tagged("nw", tourism=None)
        | x.tagged("wr", leisure=None)
        | x.tagged("nr", public_transport=None),
    ),
    "comments, spaces, single quotes": (
        "[out: json] [timeout: 25] ;\n// all cafes\nnode [ 'amenity' = 'cafe' ] ( $box ) ; /* x */"
        " out ;",
        lambda x: x.tagged("n", amenity="cafe") & x.boxed,
    ),
    # ---- boxes
    "nodes in a box": ("node($box);out skel;", lambda x: {k for k in x.boxed if k[0] == "node"}),
    "ways in a box": ("way($box);out;", lambda x: {k for k in x.boxed if k[0] == "way"}),
    "relations in a box": (
        "rel($box);out;", lambda x: {k for k in x.boxed if k[0] == "relation"}
    ),
    "everything with a tag in a box": (
        'nwr[~"."~"."]($box);out;', lambda x: {k for k in x.boxed if x.world.tags(k)}
    ),
    "global box": (
        "[bbox:$box];(node[highway];way[highway];);out;",
        lambda x: x.tagged("nw", highway=None) & x.boxed,
    ),
    "global box alone": ("[bbox:$box];rel;out;", lambda x: {k for k in x.boxed if k[0][0] == "r"}),
    "map call": (
        "(node($box);<;);out meta;",
        lambda x: (n := {k for k in x.boxed if k[0] == "node"}) | x.world.up(n),
    ),
    # ---- around
    "around a point": (
        "node(around:300,$lat,$lon)[amenity];out;",
        lambda x: x.near(x.tagged("n", amenity=None), 300),
    ),
    "ways around a point": (
        "way(around:150,$lat,$lon)[highway];out;",
        lambda x: x.near(x.tagged("w", highway=None), 150),
    ),
    "everything around a point": (
        "nwr(around:80.5,$lat,$lon);out;",
        lambda x: x.near(set(x.world.elements), 80.5),
    ),
    "relations around a point": (
        "rel(around:100,$lat,$lon)[type=route];out;",
        lambda x: x.near(x.tagged("r", type="route"), 100),
    ),
    # ---- polygons
    "ways in a polygon": (
        'way[building](poly:"$poly");out;',
        lambda x: x.inside(x.tagged("w", building=None), x.poly_ring),
    ),
    "nodes in a polygon": (
        'node[highway](poly:"$poly");out;',
        lambda x: x.inside(x.tagged("n", highway=None), x.poly_ring),
    ),
    "osmnx: street network": (
        "[out:json][timeout:180];(way[\"highway\"][\"area\"!~\"yes\"][\"highway\"!~\""
        "abandoned|construction|no|planned|platform|proposed|raceway|razed\"][\"service\"!~"
        "\"alley|driveway\"](poly:'$poly');>;);out;",
        lambda x: (
            w := x.inside(
                x.world.select(
                    "w",
                    lambda t: "highway" in t
                    and t.get("area") != "yes"
                    and not matches(
                        "abandoned|construction|no|planned|platform|proposed|raceway|razed",
                        t["highway"],
                    )
                    and not matches("alley|driveway", t.get("service")),
                ),
                x.poly_ring,
            )
        )
        | x.world.way_nodes(w),
    ),
    "osmnx: features": (
        "[out:json][timeout:180];((node['amenity'](poly:'$poly');(._;>;););(way['amenity']"
        "(poly:'$poly');(._;>;););(relation['amenity'](poly:'$poly');(._;>;);););out;",
        lambda x: (f := x.inside(x.tagged("nwr", amenity=None), x.poly_ring)) | x.world.down(f),
    ),
    # ---- areas
    "area by name": (
        'area["name"="$area"]["boundary"];node(area)[amenity];out;',
        lambda x: x.inside(x.tagged("n", amenity=None), x.area_ring),
    ),
    "area by name, ways": (
        'area[boundary=administrative][name="$area"]->.a;way[highway](area.a);out;',
        lambda x: x.inside(x.tagged("w", highway=None), x.area_ring),
    ),
    "turbo: geocodeArea": (
        "{{geocodeArea:$area}}->.searchArea;nwr[\"tourism\"](area.searchArea);out geom;",
        lambda x: x.inside(x.tagged("nwr", tourism=None), x.area_ring),
    ),
    "map_to_area": (
        'rel[boundary=administrative][name="$area"];map_to_area->.a;node[shop](area.a);out;',
        lambda x: x.inside(x.tagged("n", shop=None), x.area_ring),
    ),
    "pivot": (
        'area[name="$area"][boundary=administrative]->.a;rel(pivot.a);out;',
        lambda x: {x.area_key},
    ),
    "areas of a level": (
        "area[boundary=administrative][admin_level=$level][type=boundary]->.a;rel(pivot.a);out;",
        Extract.areas_at_level,
    ),
    # ---- sets, union, difference
    "difference": (
        "(way[highway];-way[highway=footway];);out;",
        lambda x: x.tagged("w", highway=None) - x.tagged("w", highway="footway"),
    ),
    "difference of a union": (
        "(nwr[amenity];-(node[amenity];way[amenity=parking];););out;",
        lambda x: x.tagged("wr", amenity=None) - x.tagged("w", amenity="parking"),
    ),
    "intersection": (
        "way[highway]->.a;way[name]->.b;way.a.b;out;",
        lambda x: x.tagged("w", highway=None, name=None),
    ),
    "set with filters": (
        "nwr[amenity]->.a;node.a[name]($box);out;",
        lambda x: x.tagged("n", amenity=None, name=None) & x.boxed,
    ),
    "named set in a union": (
        "(rel[route=bus]->.b;node[highway=bus_stop];);.b out;",
        lambda x: x.tagged("r", route="bus"),
    ),
    "nested unions": (
        "((node[tourism];way[tourism];);(rel[tourism];););out;",
        lambda x: x.tagged("nwr", tourism=None),
    ),
    # ---- recursion
    "relation with members": (
        "rel[route=bus];(._;>;);out body;",
        lambda x: (r := x.tagged("r", route="bus")) | x.world.down(r),
    ),
    "down through relations": (
        "rel[type=public_transport];>>;out;",
        lambda x: x.world.down_all(x.tagged("r", type="public_transport")),
    ),
    "up from nodes": (
        "node[highway=crossing]($box);<;out;",
        lambda x: x.world.up(x.tagged("n", highway="crossing") & x.boxed),
    ),
    "up through relations": (
        "way[highway=primary];<<;out;",
        lambda x: x.world.up_all(x.tagged("w", highway="primary")),
    ),
    "nodes of ways": (
        "way[building]($box);node(w);out skel;",
        lambda x: x.world.way_nodes(x.tagged("w", building=None) & x.boxed),
    ),
    "ways of nodes": (
        "node[barrier];way(bn)[highway];out;",
        lambda x: x.world.parent_ways(x.tagged("n", barrier=None))
        & x.tagged("w", highway=None),
    ),
    "members with a role": (
        'rel[type=multipolygon];way(r:"inner");out;',
        lambda x: {
            k
            for k in x.world.members(x.tagged("r", type="multipolygon"), "inner")
            if k[0] == "way"
        },
    ),
    "relations of ways": (
        "way[highway=residential];rel(bw)[route];out;",
        lambda x: x.world.parent_relations(x.tagged("w", highway="residential"))
        & x.tagged("r", route=None),
    ),
    "relations of relations": (
        "rel[route=bus];rel(br);out;",
        lambda x: x.world.parent_relations(x.tagged("r", route="bus")),
    ),
    "relations of nodes": (
        "node[public_transport];rel(bn);out;",
        lambda x: x.world.parent_relations(x.tagged("n", public_transport=None)),
    ),
    "first and last nodes": (
        "way[highway=steps];node(w:1,-1);out;",
        lambda x: {
            ("node", x.world.elements[w].refs[i])
            for w in x.tagged("w", highway="steps")
            for i in (0, -1)
            if ("node", x.world.elements[w].refs[i]) in x.world.elements
        },
    ),
    "nodes of several ways": (
        "way[highway]->.h;node(way_cnt.h:3-);out;",
        lambda x: {
            ("node", n)
            for n, ways in x.world.ways_of_node.items()
            if len([w for w in ways if "highway" in x.world.tags(("way", w))]) >= 3
        },
    ),
    "dead ends": (
        "way[highway]->.h;node(way_link.h:1);out;",
        lambda x: _linked(x, 1),
    ),
    # ---- conditions
    "if: tag comparison": (
        'way[highway](if: t["lanes"] >= 2);out;',
        lambda x: x.world.select(
            "w",
            lambda t: "highway" in t and t.get("lanes", "").isdecimal() and int(t["lanes"]) >= 2,
        ),
    ),
    "if: number of tags": (
        "node[amenity](if: count_tags() > 4);out;",
        lambda x: x.world.select("n", lambda t: "amenity" in t and len(t) > 4),
    ),
    "if: closed and long": (
        "way[building](if: is_closed() && length() > 150);out;",
        lambda x: {
            k
            for k in x.tagged("w", building=None)
            if x.world.is_closed(k) and x.world.length_m(k) > 150
        },
    ),
    "if: open ways": (
        "way[highway](if: !is_closed());out;",
        lambda x: {k for k in x.tagged("w", highway=None) if not x.world.is_closed(k)},
    ),
    "if: members": (
        "rel(if: count_members() > 30)[type];out;",
        lambda x: x.world.where("r", lambda k, e: "type" in e.tags and len(e.members) > 30),
    ),
    "if: version": (
        "nwr[name](if: version() > 5);out;",
        lambda x: x.world.where("nwr", lambda k, e: "name" in e.tags and e.version > 5),
    ),
    "if: is_tag or not": (
        'way[building](if: is_tag("name") || t["building"] == "school");out;',
        lambda x: x.world.select(
            "w", lambda t: "building" in t and ("name" in t or t["building"] == "school")
        ),
    ),
    "if: number of a text": (
        'way[building](if: number(t["building:levels"]) > 8);out;',
        lambda x: x.world.select(
            "w",
            lambda t: "building" in t
            and t.get("building:levels", "").isdecimal()
            and int(t["building:levels"]) > 8,
        ),
    ),
    "newer": (
        'nwr(newer:"$since")[name];out;',
        lambda x: x.world.where(
            "nwr", lambda k, e: "name" in e.tags and e.timestamp >= 1_748_736_000
        ),
    ),
    "if: timestamp as text": (
        'way[highway](if: timestamp() <= "$since");out;',
        lambda x: x.world.where(
            "w", lambda k, e: "highway" in e.tags and e.timestamp <= 1_748_736_000
        ),
    ),
    # ---- blocks
    "foreach": (
        "rel[route=bus];foreach->.r(node(r.r);out;);",
        lambda x: {k for k in x.world.members(x.tagged("r", route="bus")) if k[0] == "node"},
    ),
    "complete: connected streets": (
        "way[highway=steps]($box);complete{node(w);way(bn)[highway=steps];};out;",
        lambda x: _connected(x, x.tagged("w", highway="steps") & x.boxed, "steps"),
    ),
    "if statement": (
        "node[amenity=nothing];if (count(nodes) == 0){node[amenity=bench];}else{node[shop];}out;",
        lambda x: x.tagged("n", amenity="bench"),
    ),
    "for": (
        'way[highway];for (t["highway"]){if (count(ways) < 20){out;}}',
        lambda x: _rare(x, 20),
    ),
}  # fmt: skip


def _rare(x: Extract, limit: int) -> Found:
    ways = x.tagged("w", highway=None)
    counts = Counter(x.world.tags(key)["highway"] for key in ways)
    return {key for key in ways if counts[x.world.tags(key)["highway"]] < limit}


def _linked(x: Extract, wanted: int) -> Found:
    links: Counter[int] = Counter()
    for key in x.tagged("w", highway=None):
        refs = x.world.elements[key].refs
        for a, b in pairwise(refs):
            links[a] += 1
            links[b] += 1
    return {
        ("node", ref)
        for ref, count in links.items()
        if count == wanted and ("node", ref) in x.world.elements
    }


def _connected(x: Extract, found: Found, highway: str) -> Found:
    allowed = x.tagged("w", highway=highway)
    while True:
        grown = found | (x.world.parent_ways(x.world.way_nodes(found)) & allowed)
        if grown == found:
            return found
        found = grown
