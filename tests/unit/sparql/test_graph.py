"""Operators, functions and limits over a small plain graph."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mapyard.deadline import Deadline
from mapyard.errors import Timeout, TooLarge, Unsupported
from mapyard.sparql.engine import Engine, Solutions, Triples, Truth
from mapyard.sparql.run.runtime import Limits
from mapyard.sparql.sources.graph import TripleGraph
from mapyard.sparql.terms.terms import XSD_INTEGER, BlankNode, Iri, Literal, Term, format_term


def e(name: str) -> Iri:
    return Iri(f"http://e.org/{name}")


def n(value: int) -> Literal:
    return Literal(str(value), XSD_INTEGER)


GRAPH = TripleGraph(
    [
        (e("a"), e("knows"), e("b")),
        (e("b"), e("knows"), e("c")),
        (e("c"), e("knows"), e("a")),
        (e("d"), e("knows"), e("d")),
        (e("a"), e("age"), n(30)),
        (e("b"), e("age"), n(5)),
        (e("c"), e("age"), Literal("unknown")),
        (e("a"), e("name"), Literal("Ann")),
        (e("b"), e("name"), Literal("Bob")),
        (e("x"), e("part"), BlankNode("p1")),
    ],
    {e("g"): [(e("a"), e("age"), n(31))]},
)
HEAD = "PREFIX : <http://e.org/>\n"


def ask(text: str, engine: Engine | None = None, deadline: Deadline | None = None) -> list[Any]:
    """Return rows as short texts, unbound as None; order kept."""
    result = (engine or Engine(GRAPH)).query(HEAD + text, deadline)
    if isinstance(result, Truth):
        return [result.value]
    if isinstance(result, Triples):
        return sorted(" ".join(map(short, triple)) for triple in result.triples)
    assert isinstance(result, Solutions)
    rows = []
    for table in result.tables:
        columns = [
            result.runtime.decode(table.ids(name, result.runtime.pool)) for name in result.variables
        ]
        rows += [
            tuple(None if t is None else short(t) for t in r) for r in zip(*columns, strict=True)
        ]
    return [row[0] for row in rows] if len(result.variables) == 1 else rows


def short(term: Term) -> str:
    if isinstance(term, Iri):
        return term.value.removeprefix("http://e.org/")
    return term.lexical if isinstance(term, Literal) else "_"


def test_optional_keeps_what_has_no_match() -> None:
    rows = ask("SELECT ?s ?n { ?s :age ?a OPTIONAL { ?s :name ?n } } ORDER BY ?s")
    assert rows == [("a", "Ann"), ("b", "Bob"), ("c", None)]


def test_optional_with_a_filter_on_the_outer_side() -> None:
    rows = ask("SELECT ?s ?n { ?s :age ?a OPTIONAL { ?s :name ?n FILTER(?a > 10) } } ORDER BY ?s")
    assert rows == [("a", "Ann"), ("b", None), ("c", None)]


def test_unbound_variables_join_with_anything() -> None:
    rows = ask(
        "SELECT ?s ?n { { ?s :age ?a OPTIONAL { ?s :name ?n } } { VALUES ?n { 'Ann' 'Zoe' } } }"
        " ORDER BY ?s ?n"
    )
    assert rows == [("a", "Ann"), ("c", "Ann"), ("c", "Zoe")]


def test_minus_and_not_exists_differ_where_nothing_is_shared() -> None:
    assert ask("SELECT ?s { ?s :name ?n MINUS { ?x :age 30 } } ORDER BY ?s") == ["a", "b"]
    assert ask("SELECT ?s { ?s :name ?n FILTER NOT EXISTS { ?x :age 30 } }") == []
    assert ask("SELECT ?s { ?s :name ?n MINUS { ?s :age 30 } }") == ["b"]
    assert ask("SELECT ?s { ?s :name ?n FILTER EXISTS { ?s :age ?a FILTER(?a > 10) } }") == ["a"]


def test_exists_sees_the_row_around_it() -> None:
    text = (
        "SELECT ?s { ?s :knows ?o FILTER NOT EXISTS { ?x :knows ?y FILTER(?x = ?s && ?y != ?o) } }"
    )
    assert sorted(ask(text)) == ["a", "b", "c", "d"]
    assert ask("SELECT ?s { ?s :knows ?o FILTER EXISTS { ?o :knows ?o } }") == ["d"]


def test_paths() -> None:
    assert sorted(ask("SELECT ?o { :a :knows+ ?o }")) == ["a", "b", "c"]
    assert sorted(ask("SELECT ?o { :a :knows* ?o }")) == ["a", "b", "c"]
    assert sorted(ask("SELECT ?o { :a :knows? ?o }")) == ["a", "b"]
    assert sorted(ask("SELECT ?s { ?s :knows+ :a }")) == ["a", "b", "c"]
    assert ask("SELECT ?o { :a :knows/:knows ?o }") == ["c"]
    assert sorted(ask("SELECT ?o { :a !(:knows|:age) ?o }")) == ["Ann"]
    assert ask("SELECT ?o { :b !^:age ?o }") == ["a"]
    assert ask("ASK { :a :knows+ :d }") == [False]
    assert ask("SELECT ?o { :nobody :knows* ?o }") == ["nobody"]
    assert ask("SELECT (COUNT(*) AS ?n) { ?s :knows+ ?o }") == ["10"]


def test_grouping_and_aggregates() -> None:
    assert ask("SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n) ?p") == [
        ("knows", "4"), ("age", "3"), ("name", "2"), ("part", "1"),
    ]  # fmt: skip
    assert ask("SELECT (SUM(?a) AS ?n) { ?s :age ?a }") == [None]  # "unknown" is not a number
    assert ask("SELECT (SUM(?a) AS ?n) { ?s :age ?a FILTER(isNumeric(?a)) }") == ["35"]
    assert ask("SELECT (AVG(?a) AS ?n) { ?s :age ?a FILTER(isNumeric(?a)) }") == ["17.5"]
    assert ask("SELECT (MIN(?a) AS ?n) (MAX(?a) AS ?x) { ?s :age ?a }") == [("5", "unknown")]
    assert ask("SELECT (COUNT(?n) AS ?c) { ?s :age ?a OPTIONAL { ?s :name ?n } }") == ["2"]
    assert ask("SELECT (COUNT(*) AS ?c) { ?s :none ?a }") == ["0"]
    assert ask("SELECT ?s (COUNT(*) AS ?c) { ?s :none ?a } GROUP BY ?s") == []
    names = ask("SELECT (GROUP_CONCAT(?n; separator='|') AS ?c) { ?s :name ?n }")
    assert names[0].split("|") in (["Ann", "Bob"], ["Bob", "Ann"])


def test_order_of_kinds_and_distinct() -> None:
    assert ask("SELECT ?a { ?s :age ?a } ORDER BY ?a") == ["5", "30", "unknown"]
    assert ask("SELECT DISTINCT ?p { ?s ?p ?o } ORDER BY ?p") == ["age", "knows", "name", "part"]
    assert ask("SELECT ?s { ?s :age ?a } ORDER BY DESC(?a) LIMIT 1 OFFSET 1") == ["a"]


def test_named_graphs() -> None:
    assert ask("SELECT ?g ?a { GRAPH ?g { :a :age ?a } }") == [("g", "31")]
    assert ask("SELECT ?a FROM :g { ?s :age ?a }") == ["31"]
    assert ask("SELECT ?a FROM NAMED :g { ?s :age ?a }") == []


def test_construct_and_describe() -> None:
    made = ask("CONSTRUCT { ?s :is [ :aged ?a ] } WHERE { ?s :age ?a FILTER(isNumeric(?a)) }")
    assert made == ["_ aged 30", "_ aged 5", "a is _", "b is _"]
    assert ask("DESCRIBE :b") == ["b age 5", "b knows c", "b name Bob"]


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 / 4", "0.25"),
        ("7 / 0", None),
        ("1e0 / 0", "INF"),
        ("2 + 0.5", "2.5"),
        ("ROUND(-2.5)", "-2"),
        ("STRLEN('né')", "2"),
        ("SUBSTR('abcde', 2, 3)", "bcd"),
        ("SUBSTR('abcde', 0, 3)", "ab"),
        ("STRBEFORE('abc', 'b')", "a"),
        ("STRAFTER('abc', 'z')", ""),
        ("REPLACE('abcd', '(b)(c)', '$2-$1')", "ac-bd"),
        ("CONCAT('a', STR(1))", "a1"),
        ("ENCODE_FOR_URI('a b/é')", "a%20b%2F%C3%A9"),
        ("IF('' , 'y', 'n')", "n"),
        ("COALESCE(?nothing, 1/0, 'x')", "x"),
        ("'a' IN ('b', 1/0, 'a')", "true"),
        ("'a' IN ('b', 1/0)", None),
        ("1 = 1.0", "true"),
        ("'1' = 1", "false"),
        ("LANG('x'@en)", "en"),
        ("LANGMATCHES('de-CH', 'de')", "true"),
        ("YEAR('2024-02-29T12:00:00Z'^^xsd:dateTime)", "2024"),
        (
            "'2024-01-01T00:00:00Z'^^xsd:dateTime < '2024-01-01T02:00:00+01:00'^^xsd:dateTime",
            "true",
        ),
        ("TIMEZONE('2011-01-10T14:45:13.815-05:00'^^xsd:dateTime)", "-PT5H"),
        ("xsd:integer('12')", "12"),
        ("xsd:integer('12.5')", None),
        ("xsd:double('1e3')", "1000.0"),
        ("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
        ("!BOUND(?nothing)", "true"),
        ("!?nothing", None),
        ("?nothing || true", "true"),
    ],
)
def test_functions(expression: str, result: str | None) -> None:
    assert ask(f"SELECT ({expression} AS ?x) {{}}") == [result]


@pytest.mark.parametrize(
    ("pattern", "flags", "matches"),
    [
        ("^a", "i", {"Ann"}),
        ("^A", "", {"Ann"}),
        ("n$", "", {"Ann"}),
        ("^[AB]..$", "", {"Ann", "Bob"}),
        ("n{2}", "", {"Ann"}),
        ("(n|b)+$", "", {"Ann", "Bob"}),
        ("o|Z", "", {"Bob"}),
        ("a.*n|^b", "i", {"Ann", "Bob"}),
        (".", "q", set()),
    ],
)
def test_regular_expressions(pattern: str, flags: str, matches: set[str]) -> None:
    text = f"SELECT ?n {{ ?s :name ?n FILTER(REGEX(?n, '{pattern}', '{flags}')) }}"
    assert set(ask(text)) == matches


def test_what_re2_cannot_run_is_refused_with_the_reason() -> None:
    with pytest.raises(Unsupported, match=r"invalid perl operator.*look-around"):
        ask("SELECT ?n { ?s :name ?n FILTER(REGEX(?n, '(?=x)')) }")


def test_functions_of_others_are_refused_by_name() -> None:
    with pytest.raises(Unsupported, match=r"http://e\.org/secret"):
        ask("SELECT ?n { ?s :name ?n FILTER(:secret(?n)) }")


# Limits -----------------------------------------------------------------------------------------

LARGE = TripleGraph([(e(f"s{i}"), e("p"), n(i)) for i in range(20_000)])


def test_a_cartesian_product_is_refused_before_it_runs() -> None:
    start = time.process_time()
    with pytest.raises(TooLarge, match=r"\?b \?y shares no variable"):
        ask("SELECT * { ?a :p ?x . ?b :p ?y }", Engine(LARGE))
    assert time.process_time() - start < 2
    assert len(ask("SELECT * { ?a :p ?x . ?b :p ?y } LIMIT 10", Engine(LARGE))) == 10


def test_rows_held_at_once_are_limited() -> None:
    engine = Engine(LARGE, Limits(max_rows=10_000))
    for text in (
        "SELECT ?a { ?a :p ?x } ORDER BY ?x",
        "SELECT ?x (COUNT(*) AS ?n) { ?a :p ?x } GROUP BY ?x",
    ):
        with pytest.raises(TooLarge, match="more than 10000 rows"):
            ask(text, engine)
    with pytest.raises(TooLarge, match=r"more than 0\.1 MB"):
        ask("SELECT ?a { ?a :p ?x } ORDER BY ?x", Engine(LARGE, Limits(max_bytes=100_000)))


def test_the_deadline_stops_a_query() -> None:
    text = "SELECT (COUNT(*) AS ?n) { ?a :p ?x . ?b :p ?y FILTER(?x * ?y = 7) }"
    with pytest.raises((Timeout, TooLarge)):
        ask(text, Engine(LARGE), Deadline(0.2))
    with pytest.raises(Timeout):
        ask("SELECT ?s { ?s ?p ?o }", deadline=Deadline(-1))


def test_plans_are_kept_and_answer_again() -> None:
    engine = Engine(GRAPH)
    text = "SELECT ?s { ?s :age ?a ; :name 'Ann' }"
    assert ask(text, engine) == ask(text, engine) == ["a"]
    assert engine.prepare(HEAD + text) is engine.prepare(HEAD + text)


def test_terms_are_written_with_their_escapes() -> None:
    assert format_term(Literal('a"b\\\n', "http://e.org/t")) == '"a\\"b\\\\\\n"^^<http://e.org/t>'
    assert format_term(Iri("http://e.org/a b")) == "<http://e.org/a\\u0020b>"


def test_many_values_are_sorted_in_steps() -> None:
    values = ask("SELECT ?x { ?a :p ?x } ORDER BY DESC(?x)", Engine(LARGE))
    assert values == [str(i) for i in reversed(range(20_000))]
    texts = TripleGraph(
        [(e(f"s{i}"), e("p"), Literal(f"{i * 7919 % 70_001:05}")) for i in range(70_001)]
    )
    found = ask("SELECT ?x { ?a :p ?x } ORDER BY ?x", Engine(texts))
    assert found == [f"{i:05}" for i in range(70_001)]
