"""SPARQL queries about elements one by one, and those that are not."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import orjson
import pytest

from fleet_maps import make_map, open_extract
from mapyard.deadline import no_deadline
from mapyard.fleet.sparql import (
    FEATURES,
    ROWS,
    Reader,
    answer_part,
    choose_form_of_rows,
    read_star,
    write_answer,
)
from mapyard.fleet.split import split_regions
from mapyard.fleet.stars import NoStar
from mapyard.library.call import Call
from mapyard.library.questions import sparql as library
from mapyard.sparql.engine import Engine
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.write.solutions import JSON_TYPE
from mapyard.store.reader import Store


def read_rows(body: bytes) -> Any:
    answer = orjson.loads(body)
    if "boolean" in answer:
        return answer["boolean"]
    return answer["head"], [orjson.dumps(b, option=orjson.OPT_SORT_KEYS)
                            for b in answer["results"]["bindings"]]  # fmt: skip


def make_call(store: Store) -> Call:
    engine = Engine(OsmSource(store, lambda: None))
    call = SimpleNamespace(store=store, deadline=no_deadline(), part=lambda name: engine)
    return cast(Call, call)


class Queries:
    """Random queries about elements one by one."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def make(self) -> str:
        rng = self.rng
        pattern = rng.choice([
            "?s osmkey:c ?c", "?s osmkey:c 'red' ; osmkey:n ?c", "?s osmt:n ?c",
            "?s rdf:type osm:way ; osmkey:c ?c", "?s osmmeta:version ?v ; osmkey:n ?c",
            "?s osmkey:type 'site' ; osmrel:member ?m . ?m osmrel:member_role ?c",
            "?s osmway:nodeCount ?k ; osmkey:c ?c FILTER(?k > 2)",
            "{ ?s osmkey:c 'red' } UNION { ?s osmkey:c 'blue' } ?s osmkey:n ?c",
            "?s osmkey:type 'site' ; osmrel:member/osmrel:member_id ?c",
        ])  # fmt: skip
        more = rng.choice([
            "", "", "OPTIONAL { ?s osmkey:name ?o }", "FILTER NOT EXISTS { ?s osmkey:n '3' }",
            "FILTER(?c != 'red')", "MINUS { ?s osmkey:n '2' }", "BIND(STRLEN(STR(?c)) AS ?o)",
            "VALUES ?c { 'red' 'blue' '1' }", "FILTER EXISTS { ?s osmkey:c 'green' }",
        ])  # fmt: skip
        return rng.choice([
            "SELECT ?s ?c {{ {0} }} ORDER BY ?s ?c",
            "SELECT ?s ?c {{ {0} }} ORDER BY DESC(?s) ?c LIMIT 7 OFFSET 2",
            "SELECT DISTINCT ?c {{ {0} }} ORDER BY ?c",
            "SELECT (COUNT(*) AS ?all) {{ {0} }}",
            "SELECT (COUNT(DISTINCT ?c) AS ?all) (MAX(?c) AS ?most) {{ {0} }}",
            "SELECT ?c (COUNT(?s) AS ?all) {{ {0} }} GROUP BY ?c ORDER BY ?c",
            "SELECT ?c (COUNT(?s) AS ?all) {{ {0} }} GROUP BY ?c HAVING(?all > 4) ORDER BY ?c",
            "ASK {{ {0} }}",
        ]).format(f"{pattern} {more}")  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_an_answer_of_regions_is_that_of_the_whole(tmp_path: Path, seed: int) -> None:
    source = make_map(tmp_path / "map.osm", seed)
    split = split_regions([source], "5", tmp_path / "split", margin_m=0.0)
    whole = make_call(open_extract(tmp_path / "whole", source))
    regions, guests = [], []
    for region in split.regions:
        folder = tmp_path / "split" / region.name
        store = open_extract(tmp_path / "stores" / region.name, folder / "source.osm.pbf")
        regions.append(make_call(store))
        guests.append(np.load(folder / "guests.npy"))
    queries = Queries(seed)
    lacking = 0
    for _ in range(60):
        query = queries.make()
        star = read_star(query)
        reader = Reader(SimpleNamespace(query=query), "/sparql", JSON_TYPE, [], "g", False)
        assert choose_form_of_rows(reader, star) == ROWS

        def answer(
            calls: list[Call], own: list[Any], query: str = query, reader: Reader = reader,
            star: Any = star,
        ) -> Any:  # fmt: skip
            bodies = [answer_part(c, query, ROWS, o) for c, o in zip(calls, own, strict=True)]
            return read_rows(
                cast(bytes, write_answer(reader, star, ROWS, bodies, no_deadline()).body)
            )

        engine = whole.part("sparql")
        expected = read_rows(b"".join(library.write(whole, engine.query(query), JSON_TYPE)))
        assert answer(regions, guests) == expected, query
        lacking += answer(regions[:1], guests[:1]) != expected
    assert lacking > 30


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * { ?a osmkey:c 'red' . ?b osmkey:c 'blue' }", "joins several elements"),
        ("SELECT * { ?a osmrel:member/osmrel:member_id ?b . ?b osmkey:c ?c }", "joins several"),
        ("SELECT * { ?a ogc:sfContains ?b }", "relates elements to others"),
        ("SELECT * { ?a geo:sfWithin ?b }", "relates elements to others"),
        ("SELECT * { ?n ql:contains-word 'x' ; ql:contains-entity ?s }", "relates elements"),
        ("SELECT * { ?s ?p ?o }", "variable or a repeated path"),
        ("SELECT * { ?s osmkey:c+ ?o }", "variable or a repeated path"),
        ("SELECT * { osmway:1 osmkey:c ?o }", "no variable that stands for the elements"),
        ("SELECT * { ?s osmkey:c ?c FILTER(RAND() > 0.5) }", "RAND gives something else"),
        ("SELECT * { ?s osmkey:c ?c FILTER EXISTS { ?t osmkey:c ?c } }", "joins several"),
        ("SELECT * { ?s osmkey:c ?c MINUS { ?t osmkey:n ?c } }", "joins several"),
        ("SELECT * { ?s osmkey:c ?c OPTIONAL { ?t osmkey:n ?c } }", "joins several"),
        ("SELECT * { ?s osmkey:c ?c FILTER(geof:distance(?s, osmway:1) < 1) }", "another element"),
        ("SELECT * { { SELECT ?s { ?s osmkey:c 'a' } LIMIT 3 } ?s osmkey:n ?n }", "within it"),
        ("SELECT * { ?s osmkey:c ?c SERVICE <http://x.example/> { ?s ?p ?o } }", "services"),
        ("SELECT * { { ?s osmkey:c ?c } UNION { VALUES ?c { 'x' } } }", "not all of its solutions"),
        ("DESCRIBE ?s { ?s osmkey:c 'red' }", "DESCRIBE"),
    ],
)
def test_what_is_no_star_says_why(query: str, told: str) -> None:
    with pytest.raises(NoStar, match=told.replace("?", ".")):
        read_star(query)


def test_features_are_written_where_their_elements_are() -> None:
    def form(query: str) -> str:
        reader = Reader(SimpleNamespace(query=query), "/api/v1/sparql", "", [], "g", False)
        return choose_form_of_rows(reader, read_star(query))

    assert form("SELECT ?s { ?s osmkey:c 'red' } LIMIT 3") == FEATURES
    assert form("SELECT ?s { ?s osmkey:c ?c } ORDER BY ?c") == FEATURES
    assert form("SELECT DISTINCT ?c { ?s osmkey:c ?c }") == ROWS
    assert form("SELECT (COUNT(?s) AS ?n) { ?s osmkey:c ?c }") == ROWS
