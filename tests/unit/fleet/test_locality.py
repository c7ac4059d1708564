"""Overpass queries that are unions of what regions find, and those that are not."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fleet_maps import SIDE, SOUTH, WEST, make_map, open_extract
from fleets import normalize
from mapyard.deadline import no_deadline
from mapyard.fleet.locality import find_locality
from mapyard.fleet.overpass import FEATURES, NATIVE, answer_part, list_features, unite, write_native
from mapyard.fleet.split import split_regions
from mapyard.library.call import Call
from mapyard.overpass.engine import run_text
from mapyard.overpass.parse.macros import expand_macros
from mapyard.overpass.parse.parser import parse
from mapyard.overpass.parse.syntax import Program
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.entries import list_entries
from mapyard.overpass.write.geojson import write_page
from mapyard.overpass.write.native import write_native as write_alone
from mapyard.store.reader import Store


class Queries:
    """Random queries of the forms that the page says, each with a word for what it does."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def own(self) -> str:
        """Return filters that look at nothing but the element."""
        rng = self.rng
        lat, lon = SOUTH + rng.random() * SIDE, WEST + rng.random() * SIDE
        size = rng.choice([0.01, 0.03, 0.06])
        box = f"({lat:.6f},{lon:.6f},{lat + size:.6f},{lon + size:.6f})"
        filters = [
            "[c=red]", "[c!=red]", '[c~"^(g|b)"]', "[n]", "[!n]", box, box,
            f"(id:{rng.randint(1, 59)})",
            f"(around:{rng.randint(100, 2500)},{lat:.6f},{lon:.6f})",
            "(if:t[\"n\"]>2)", "(if:count_tags()>2)", "(if:is_closed())",
            f'(poly:"{lat} {lon} {lat + size} {lon} {lat} {lon + size}")',
        ]  # fmt: skip
        return "".join(rng.sample(filters, rng.choice([1, 1, 2])))

    def start(self) -> str:
        kind = self.rng.choice(["node", "way", "rel", "nwr", "nw", "wr"])
        return self.rng.choice([
            f"{kind}{self.own()};",
            f"area[name=A{self.rng.randint(0, 3)}]->.a;{kind}(area.a);",
            f"area[name=A{self.rng.randint(0, 3)}]->.a;{kind}(area.a)[c=red];",
            f"is_in({SOUTH + 0.05},{WEST + 0.04})->.a;{kind}(area.a);",
            f"({kind}{self.own()};{kind}{self.own()};);",
            f"({kind}{self.own()};-{kind}{self.own()};);",
            f"{kind}{self.own()}->.x;{kind}.x{self.own()};",
            f"rel[name=A1];map_to_area->.a;{kind}(area.a);",
        ])  # fmt: skip

    def start_around(self, most_m: int) -> str:
        """Return what begins with elements around others."""
        first, second = self.rng.choices(["node", "way", "rel", "nwr", "nw"], k=2)
        more = self.rng.choice(["", "[c=red]", "[n]"])
        radius_m = self.rng.randint(0, most_m)
        own = self.rng.choice([self.own(), self.own(), "[c=red]", "[n]", "[c=blue]"])
        return f"{first}{own}->.s;{second}(around.s:{radius_m}){more};"

    def ups(self) -> str:
        return "".join(self.rng.sample(["", "<;", "<<;", "way(bn);", "rel(bw);", "rel(br);",
                                        "(._;<;);", "rel(bn)[c=red];"], 2))  # fmt: skip

    def downs(self) -> str:
        return "".join(self.rng.sample(["", "", ">;", ">>;", "node(w);", "way(r);", "(._;>;);",
                                        "node(w)[c=blue];"], 2))  # fmt: skip

    def make(self, around_m: int = 0) -> str:
        outs = ["out;", "out ids;", "out count;", "out geom;", "out center qt;", "out meta 7;",
                "out tags qt 5;", "out skel bb;"]  # fmt: skip
        out = self.rng.choice(outs)
        rest = self.rng.choice(["", "", f">;{self.rng.choice(outs)}"])
        start = self.start_around(around_m) if around_m else self.start()
        return f"[out:json];{start}{self.ups()}{self.downs()}{out}{rest}"


def ask_regions(stores: list[Store], query: str, form: str) -> tuple[Program, list[bytes]]:
    calls = [
        cast(Call, SimpleNamespace(store=store, deadline=no_deadline(), max_bytes=1 << 28))
        for store in stores
    ]
    return parse(expand_macros(query, cast(Any, None))), [
        answer_part(call, query, form) for call in calls
    ]


def alone(store: Store, query: str) -> tuple[bytes, list[bytes], list[Any]]:
    result, budget = run_text(store, query), Budget(no_deadline())
    entries = list_entries(store, result.outs, [], budget)
    features = write_page(store, entries, 0, len(entries))
    return write_alone(store, result, "json", "", budget), features, entries.counts


@pytest.mark.parametrize(
    ("seed", "margin_m"), [(0, 0), (1, 0), (2, 0), (3, 0), (5, 900), (7, 1_500)]
)
def test_a_united_answer_is_that_of_the_whole(tmp_path: Path, seed: int, margin_m: int) -> None:
    """With a margin, of queries that look around elements."""
    source = make_map(tmp_path / "map.osm", seed)
    split = split_regions([source], "6", tmp_path / "split", margin_m=margin_m)
    whole = open_extract(tmp_path / "whole", source)
    regions = [
        open_extract(tmp_path / "stores" / region.name,
                     tmp_path / "split" / region.name / "source.osm.pbf")
        for region in split.regions
    ]  # fmt: skip
    queries = Queries(seed)
    found = lacking = 0
    for _ in range(70):
        query = queries.make(int(0.98 * margin_m))
        locality = find_locality(parse(expand_macros(query, cast(Any, None))), margin_m)
        assert locality.not_united == "", (query, locality)
        document, features, counts = alone(whole, query)
        program, parts = ask_regions(regions, query, NATIVE)
        outs, _ = unite(program, parts)
        assert write_native(outs, program.settings, "json", "", no_deadline()) == document, query
        program, parts = ask_regions(regions, query, FEATURES)
        listed = list_features(*unite(program, parts), program.settings)
        # But for the order of lines in one geometry, as the page says.
        assert [*map(normalize, listed.features)] == [*map(normalize, features)], query
        assert [{k: str(v) for k, v in one.items()} for one in listed.counts] == counts, query
        found += bool(features)
        # A region by itself has less: else the test would show nothing.
        lacking += all(alone(region, query)[0] != document for region in regions)
    assert found > 12 and lacking > (2 if margin_m else 6)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("way[c];>;<;out;", "going up from parts"),
        ("way[c];node(w);way(bn);out;", "going up from parts"),
        ("node[c];node(around:100)[n];out;", "a radius may be at most 0 m"),
        ("way[c];>;node(around:10)[n];out;", "found with others"),
        ("node[c];node(around:0)->.x;way(around.x:0);out;", "found with others"),
        ("node(area.a)(area.b);out;", "two ways at once"),
        ("node[c]->.x;way(bn.x)(area.a);out;", "two ways at once"),
        ("(way[c];-way(bn););out;", "a difference takes away"),
        ("node[c](if:count(nodes)>2);out;", "a condition about a set"),
        ("node[c](if:u(t[c])==1);out;", "a condition about a set"),
        ("node[c];foreach(out;);", "a loop"),
        ("node[c];for(t[c])(out;);", "a loop"),
        ("node[c];if(count(nodes)>2){out;}", "an if"),
        ("make x y=1;out;", "make and convert"),
        ("node[c];convert x ::id=id();out;", "make and convert"),
        ("area[c];out;", "areas themselves"),
        ("node[c];is_in;out;", "is_in of a set"),
        ("way[c];complete{way(bn);};out;", "complete"),
        ("way[c];node(way_cnt:2-);out;", "how many elements link"),
        ("node[c]->.x;(way[c];>;)->.y;node.x;.y <;out;", "going up from parts"),
    ],
)
def test_what_is_no_union_says_why(query: str, told: str) -> None:
    assert told in find_locality(parse(expand_macros(query, cast(Any, None)))).not_united


@pytest.mark.parametrize(
    ("query", "extent"),
    [
        ("node(47,9,47.1,9.1);out;", (9, 47, 9.1, 47.1)),
        ("(node(47,9,47.1,9.1);way(47.2,9.3,47.3,9.4););out;", (9, 47, 9.4, 47.3)),
        ("[bbox:47,9,47.1,9.1];node[c];way[c](46,8,46.1,8.1);out;", (8, 46, 9.1, 47.1)),
        ("node(47,9,47.1,9.1);<;>;out;", (9, 47, 9.1, 47.1)),
        ("area[name=A]->.a;node(area.a)(47,9,47.1,9.1);out;", (9, 47, 9.1, 47.1)),
        ("node(47,9,47.1,9.1)(46,8,48,10);out;", (9, 47, 9.1, 47.1)),
        ("node(47,9,47.1,9.1);way[c];out;", None),
        ("node(47,179,47.1,-179);out;", None),
        ("area[name=A]->.a;node(area.a);out;", None),
        ("node(0,9,0.1,9.1)->.s;nwr(around.s:0);out;", (9, 0, 9.1, 0.1)),
        ("way(0,9,0.1,9.1)->.s;nwr(around.s:0);out;", None),
        ("node[c]->.s;nwr(around.s:0)(0,9,0.1,9.1);out;", None),
    ],
)
def test_where_a_query_asks(query: str, extent: tuple[float, ...] | None) -> None:
    found = find_locality(parse(expand_macros(query, cast(Any, None)))).extent
    assert (found and tuple(found)) == extent


def test_what_is_around_nodes_in_a_box_is_near_the_box() -> None:
    text = "node(0,9,0.1,9.1)->.s;nwr(around.s:1112);out;"
    query = parse(expand_macros(text, cast(Any, None)))
    found = find_locality(query, 2_000)
    assert found.not_united == "" and found.extent is not None
    west, south, east, north = found.extent
    assert [9 - west, -south, east - 9.1, north - 0.1] == pytest.approx([0.0101] * 4, rel=0.01)
    too_far = find_locality(query, 1_000)
    assert "at most 980 m" in too_far.not_united and too_far.not_local == ""
