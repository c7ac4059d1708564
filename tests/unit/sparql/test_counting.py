"""Counts from postings, and casts of whole columns, against the common way."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.run import evaluate
from mapyard.sparql.run.text_kernels import _DOUBLE_FORM, _read_plain
from mapyard.sparql.write.solutions import write_json
from mapyard.store.reader import Store


@pytest.fixture(scope="module")
def engine(monaco_store: Store) -> Engine:
    return Engine(OsmSource(monaco_store))


def write(engine: Engine, text: str) -> bytes:
    result = engine.query(text)
    assert isinstance(result, Solutions)
    return b"".join(write_json(result))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Say for each group whether it was answered from counts; these are left out when empty."""
    said: list[bool] = []
    count_group = evaluate.count_group

    def watch(*args: object) -> object:
        table = count_group(*args)  # type: ignore[arg-type] # handed on
        said.append(table is not None)
        return table

    monkeypatch.setattr(evaluate, "count_group", watch)
    return said


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?h (COUNT(?s) AS ?n) { ?s osmkey:highway ?h } GROUP BY ?h",
        "SELECT ?h (COUNT(*) AS ?n) (COUNT(?h) AS ?m) { ?s osmkey:highway ?h } GROUP BY ?h",
        "SELECT ?h (COUNT(?s) AS ?n) { ?s osm:name ?h } GROUP BY ?h HAVING(?n > 3) ORDER BY ?n ?h",
        "SELECT (COUNT(?s) AS ?n) { ?s osmkey:building ?b }",
        "SELECT (COUNT(*) AS ?n) { ?s osmt:highway ?b }",
        "SELECT ?k { { SELECT ?k (COUNT(?s) AS ?n) { ?s osmkey:amenity ?k } GROUP BY ?k } "
        "FILTER(?n = 1) }",
        "SELECT ?b ?n { ?b osmkey:tourism 'hotel' ; osmkey:building ?k "
        "{ SELECT ?k (COUNT(?s) AS ?n) { ?s osmkey:building ?k } GROUP BY ?k } }",
    ],
)
def test_counts_of_values_have_the_bytes_of_the_common_way(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, counted: list[bool], text: str
) -> None:
    from_counts = write(engine, text)
    assert counted == [True]
    monkeypatch.setattr(evaluate, "count_group", lambda *_: None)
    assert write(engine, text) == from_counts
    assert len(from_counts) > 80


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?h (COUNT(DISTINCT ?s) AS ?n) { ?s osmkey:highway ?h } GROUP BY ?h",
        "SELECT ?s (COUNT(?h) AS ?n) { ?s osmkey:highway ?h } GROUP BY ?s",
        "SELECT ?h (COUNT(?x) AS ?n) { ?s osmkey:highway ?h } GROUP BY ?h",
        "SELECT ?h (SAMPLE(?s) AS ?n) { ?s osmkey:highway ?h } GROUP BY ?h",
        "SELECT ?l (COUNT(?s) AS ?n) { ?s osmkey:admin_level ?l } GROUP BY ?l",
        "SELECT ?x (COUNT(?x) AS ?n) { ?x osmkey:highway ?x } GROUP BY ?x",
        "SELECT ?h (COUNT(?s) AS ?n) { ?s osmkey:highway ?h FILTER(?h > 's') } GROUP BY ?h",
        "SELECT ?h (COUNT(?s) AS ?n) { ?s osmkey:highway ?h ; osmkey:name ?m } GROUP BY ?h",
        "SELECT ?g (COUNT(?s) AS ?n) { ?s osmkey:highway ?h } GROUP BY (STR(?h) AS ?g)",
        "SELECT ?h (COUNT(?s) AS ?n) { ?s geo:hasGeometry ?h } GROUP BY ?h LIMIT 3",
    ],
)
def test_other_groups_go_the_common_way(engine: Engine, counted: list[bool], text: str) -> None:
    assert write(engine, text)
    assert counted == [False]


@given(
    st.lists(
        st.one_of(
            st.from_regex(r"\A[+-]?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?\Z"),
            st.text("0123456789.,-+eE []{}\"':truefalsn\n", max_size=8),
            st.floats(allow_nan=False, allow_infinity=False).map(str),
            st.integers().map(str),
        ),
        min_size=1,
    )
)
@example(["1,2", ""])
@example(["1,2", "3", '"'])
@example(["[1", "2]"])
@example(["true", "1"])
@example(["-0", "-0.0"])
@example(["1e400"])
@example(["12345678901234567890123", "18446744073709551616"])
def test_numbers_of_a_column_are_those_of_its_texts(texts: list[str]) -> None:
    numbers = _read_plain(texts)
    if numbers is not None:
        assert all(_DOUBLE_FORM.fullmatch(text) for text in texts)
        assert [str(n) for n in numbers.tolist()] == [str(float(text)) for text in texts]
