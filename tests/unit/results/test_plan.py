"""Plans of queries: the steps with the rows that they had, and time that adds up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mapyard.overpass.engine import explain_text, run_text
from mapyard.results.plan import PlanStep, QueryPlan, Recorder
from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.osm.source import OsmSource
from mapyard.store.reader import Store

BOX = "43.73,7.41,43.74,7.425"
OVERPASS = {
    "tag": "node[amenity=cafe];out;",
    "box": f"node[amenity]({BOX});out count;",
    "union": f"(node[amenity=cafe]({BOX});way[highway](around:50,43.735,7.42););out;",
    "loop": f"node[shop]({BOX});foreach{{way(around:20)[highway](if:length()>30);out ids;}}",
    "area": 'area[name="Monaco"]->.a;node(area.a)[amenity];out;',
    "recursion": "rel[route=bus];>;out skel;",
    "blocks": "node(1);complete(2){node(w);};if(count(nodes)==0){node[shop];}else{node(1);}out;",
    "difference": f"(node[amenity]({BOX});-node[amenity=cafe]({BOX}););out;",
}
SPARQL = {
    "join": 'SELECT ?n { ?s osmkey:amenity "cafe" ; osmkey:name ?n }',
    "spatial": 'SELECT ?s { ?s osmkey:amenity ?a ; geo:hasGeometry/geo:asWKT ?g '
               'FILTER(geof:distance(?g, "POINT(7.42 43.73)"^^geo:wktLiteral) < 0.5) }',
    "group": "SELECT ?a (COUNT(*) AS ?n) { ?s osmkey:amenity ?a ; osmkey:name ?x } GROUP BY ?a",
    "order": "SELECT ?n { ?s osmkey:name ?n } ORDER BY DESC(?n) LIMIT 5",
    "optional": 'SELECT * { ?s osmkey:amenity "cafe" OPTIONAL { ?s osmkey:cuisine ?c } '
                'FILTER NOT EXISTS { ?s osmkey:name "x" } }',
    "union": 'SELECT ?s { { ?s osmkey:shop ?x } UNION { ?s osmkey:amenity "cafe" } MINUS '
             '{ ?s osmkey:name ?n } }',
    "contained": 'SELECT ?b { ?p osmkey:leisure "park" ; ogc:sfContains ?b . '
                 '?b osmkey:amenity "bench" }',
    "path": "SELECT ?r { ?r (osmrel:member/osmrel:member_id)+ ?m } LIMIT 10",
    "values": 'SELECT DISTINCT ?s { VALUES ?a { "cafe" "bar" } ?s osmkey:amenity ?a }',
}  # fmt: skip


def explain(make: Callable[[], QueryPlan]) -> QueryPlan:
    """Return a plan whose times add up: in one of ten, as a process may be interrupted anywhere."""
    for _ in range(10):
        plan = make()
        if sum(step.time_ms for _, step in plan.lines()) >= 0.8 * plan.time_ms - 0.5:
            return plan
    raise AssertionError(f"time is spent outside of all steps\n{plan}")


def check(plan: QueryPlan) -> dict[str, list[PlanStep]]:
    """Check the times, none of which is counted twice; return the steps by name."""
    steps = [step for _, step in plan.lines()]
    assert all(step.time_ms >= -0.001 for step in steps)
    assert sum(step.time_ms for step in steps) <= plan.time_ms + 0.1
    assert len(str(plan).splitlines()) == len(steps) + 2
    found: dict[str, list[PlanStep]] = {}
    for step in steps:
        found.setdefault(step.step, []).append(step)
    return found


@pytest.mark.parametrize("name", OVERPASS)
def test_overpass(monaco_store: Store, name: str) -> None:
    query = OVERPASS[name]
    plan = explain(lambda: explain_text(monaco_store, query))
    steps = check(plan)
    shown = run_text(monaco_store, query).outs
    expected = sum(elements.size for out, elements in shown if out.mode != "count")
    assert plan.rows == expected
    if "out" in steps:
        assert sum(s.rows for s in steps["out"]) == sum(e.size for _, e in shown)


def test_an_overpass_query_shows_its_index_and_every_filter(monaco_store: Store) -> None:
    steps = check(explain(lambda: explain_text(monaco_store, OVERPASS["tag"])))
    (start,) = steps["start by tag"]
    assert start.rows == start.estimated_rows == steps["query"][0].rows
    plan = explain(lambda: explain_text(monaco_store, OVERPASS["loop"]))
    steps = check(plan)
    outer, inner = steps["query"]
    assert inner.runs == outer.rows
    assert {s.detail for s in steps["filter"]} >= {'["highway"]', '(if:length()>"30")'}


def rows_of(result: Any) -> int:
    assert isinstance(result, Solutions)
    return sum(table.length for table in result.tables)


@pytest.mark.parametrize("name", SPARQL)
def test_sparql(monaco_store: Store, name: str) -> None:
    engine = Engine(OsmSource(monaco_store))
    plan = explain(lambda: engine.explain(SPARQL[name]))
    check(plan)
    assert plan.rows == rows_of(engine.query(SPARQL[name])) > 0
    again = engine.explain(SPARQL[name])
    assert [s.step for _, s in again.lines()] == [s.step for _, s in plan.lines()]


def test_a_sparql_query_shows_its_order_and_what_was_expected(monaco_store: Store) -> None:
    engine = Engine(OsmSource(monaco_store))
    plan = explain(lambda: engine.explain(SPARQL["join"]))
    first, second = check(plan)["triple"]
    assert first.detail == '?s osmkey:amenity "cafe"'
    assert (
        first.rows
        == first.estimated_rows
        == rows_of(engine.query('SELECT ?s { ?s osmkey:amenity "cafe" }'))
    )
    assert second.detail == "?s osmkey:name ?n"
    assert second.rows == plan.rows
    spatial = check(explain(lambda: engine.explain(SPARQL["spatial"])))
    assert spatial["index"][0].estimated_rows
    assert "FILTER(geof:distance(?g" in spatial["triple"][-1].detail


def test_warnings_come_along(monaco_store: Store) -> None:
    engine = Engine(OsmSource(monaco_store))
    assert "did you mean" in engine.explain("SELECT ?s { ?s osmkey:amenty ?o }").warnings[0]
    assert explain_text(monaco_store, "node(5,6,7,8);out;").warnings


def test_a_step_in_a_loop_is_one_step() -> None:
    recorder = Recorder()
    key = object()
    for _ in range(3):
        with recorder.step(key, "outer", estimated_rows=2) as step:
            step.rows += 1
            recorder.note("x", "inner", "detail", 5)
    plan = recorder.finish("test", 3, [])
    (outer,) = plan.steps
    assert (outer.runs, outer.rows, outer.estimated_rows) == (3, 3, 6)
    (inner,) = outer.steps
    assert (inner.runs, inner.rows, inner.detail) == (3, 15, "detail")
