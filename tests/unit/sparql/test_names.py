"""Search by words, labels in languages, and pairs by distance."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import orjson
import pytest

from mapyard.errors import NotInstalled, Unsupported
from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.osm.names import is_searched
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.write.solutions import write_json
from mapyard.store.reader import Store, open_store
from mapyard.text.index import TextIndex


@pytest.fixture(scope="module")
def engine(monaco: Path) -> Engine:
    folder = monaco / "current"
    index = TextIndex(folder / "text" / "index")
    return Engine(OsmSource(open_store(folder / "elements"), lambda: index))


def ask(engine: Engine, query: str) -> list[dict[str, str]]:
    result = engine.query(query)
    assert isinstance(result, Solutions)
    rows = orjson.loads(b"".join(write_json(result)))["results"]["bindings"]
    return [
        {k: v["value"] + (f"@{v['xml:lang']}" if "xml:lang" in v else "") for k, v in row.items()}
        for row in rows
    ]


def _folded(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text.lower())
    letters = "".join(c if c.isalnum() else " " for c in plain if not unicodedata.combining(c))
    return letters.split()


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ("monte carlo", lambda have: {"monte", "carlo"} <= set(have)),
        ("PORT hercule", lambda have: {"port", "hercule"} <= set(have)),
        ("hercu*", lambda have: any(word.startswith("hercu") for word in have)),
        ("cafe paris", lambda have: {"cafe", "paris"} <= set(have)),
    ],
)
def test_words_find_names_and_who_bears_them(
    engine: Engine, monaco_store: Store, words: str, fits: object
) -> None:
    found = ask(
        engine, f'SELECT ?t ?e {{ ?t ql:contains-word "{words}" . ?t ql:contains-entity ?e }}'
    )
    expected = set()
    rows = range(monaco_store.row_count)
    for eid, text in zip(
        monaco_store.eids(rows).tolist(),
        monaco_store.tags_json(rows),
        strict=True,  # type: ignore[arg-type] # a range will do
    ):
        for key, value in orjson.loads(text).items():
            if is_searched(key) and fits(_folded(value)):  # type: ignore[operator] # a test
                kind = ("node", "way", "relation")[eid & 3]
                expected.add((value, f"https://www.openstreetmap.org/{kind}/{eid >> 2}"))
    assert expected
    assert sorted((row["t"], row["e"]) for row in found) == sorted(expected)


def test_words_narrow_what_is_bound(engine: Engine) -> None:
    cafes = '?e osmkey:amenity "cafe" . ?t ql:contains-entity ?e . ?t ql:contains-word "paris"'
    turned = '?t ql:contains-word "paris" . ?e osmkey:amenity "cafe" . ?t ql:contains-entity ?e'
    assert ask(engine, f"SELECT ?t {{ {cafes} }}") == [{"t": "Café de Paris"}]
    assert ask(engine, f"SELECT ?t {{ {turned} }}") == [{"t": "Café de Paris"}]
    several = 'VALUES ?w { "paris" "carlo" "" } ?t ql:contains-word ?w FILTER(STRLEN(?t) < 14)'
    assert {row["w"] for row in ask(engine, f"SELECT * {{ {several} }}")} == {"paris", "carlo"}


def test_what_no_index_answers_is_said(engine: Engine, monaco_store: Store) -> None:
    with pytest.raises(Unsupported, match="takes its words"):
        ask(engine, "SELECT ?t { ?t ql:contains-word ?w }")
    with pytest.raises(NotInstalled):
        ask(Engine(OsmSource(monaco_store)), 'SELECT ?t { ?t ql:contains-word "x" }')


LABELS = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "%s". %s }'


def test_labels_come_in_the_first_language_that_there_is(engine: Engine) -> None:
    place = '?x osmkey:place "city" .'
    for language, label in (
        ("ru,en", "Монако@ru"),
        ("xx", "Monaco"),
        ("[AUTO_LANGUAGE]", "Monaco"),
    ):
        service = LABELS % (language, "")
        before = ask(engine, f"SELECT DISTINCT ?xLabel {{ {place} {service} }}")
        behind = ask(engine, f"SELECT DISTINCT ?xLabel {{ {service} {place} }}")
        assert before == behind == [{"xLabel": label}]
    named = LABELS % ("ru", "?x rdfs:label ?n. ?x skos:altLabel ?a")
    assert ask(engine, f"SELECT DISTINCT ?n {{ {place} {named} }}") == [{"n": "Монако@ru"}]


def test_a_nameless_element_is_called_by_its_number(engine: Engine) -> None:
    bench = "?x osmkey:amenity 'bench' FILTER NOT EXISTS { ?x osmkey:name ?any }"
    rows = ask(engine, f"SELECT ?x ?xLabel {{ {bench} {LABELS % ('fr', '')} }} LIMIT 3")
    assert rows
    for row in rows:
        assert row["x"].endswith("/" + row["xLabel"])
        assert row["xLabel"].startswith("node/")


SHAPES = (
    '?a osmkey:amenity "cafe" ; geo:hasGeometry/geo:asWKT ?g . {pair} '
    '?b osmkey:highway "bus_stop" ; geo:hasGeometry/geo:asWKT ?h'
)


def test_pairs_by_distance_as_a_predicate(engine: Engine) -> None:
    plain = SHAPES.format(pair="") + " FILTER(geof:metricDistance(?g, ?h) <= 50)"
    magic = SHAPES.format(pair="?g <max-distance-in-meters:50> ?h .")
    expected = ask(engine, f"SELECT ?a ?b {{ {plain} }} ORDER BY ?a ?b")
    assert expected
    assert ask(engine, f"SELECT ?a ?b {{ {magic} }} ORDER BY ?a ?b") == expected


def test_the_nearest_as_a_predicate(engine: Engine) -> None:
    magic = SHAPES.format(pair="?g <nearest-neighbors:2:300> ?h .")
    found = ask(
        engine, f"SELECT ?a ?b (geof:metricDistance(?g, ?h) AS ?d) {{ {magic} }} ORDER BY ?a ?d"
    )
    every = ask(
        engine,
        f"SELECT ?a ?b (geof:metricDistance(?g, ?h) AS ?d) {{ {SHAPES.format(pair='')} }} "
        "ORDER BY ?a ?d",
    )
    expected = []
    for cafe in dict.fromkeys(row["a"] for row in every):
        near = [row for row in every if row["a"] == cafe and float(row["d"]) <= 300]
        expected += near[:2]
    assert [row["b"] for row in found] == [row["b"] for row in expected]
    joined = SHAPES.format(pair="?g <nearest-neighbors:2> ?h . ?b osmkey:name ?g .")
    with pytest.raises(Unsupported, match="two sides"):
        ask(engine, f"SELECT ?a {{ {joined} }}")
