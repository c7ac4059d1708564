"""Execution of statements: every one reads sets and writes one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mapyard.overpass.convert.ql import write_head
from mapyard.overpass.osm.rowsets import (
    EMPTY_SET,
    ElementSet,
    subtract_sets,
    unite_sets,
)
from mapyard.overpass.parse.syntax import (
    Call,
    Complete,
    Difference,
    For,
    Foreach,
    If,
    IsIn,
    Item,
    Local,
    Make,
    MapToArea,
    Out,
    Query,
    Recurse,
    Refused,
    Statement,
    Union,
)
from mapyard.overpass.run.areas import areas_around, map_to_area
from mapyard.overpass.run.columns import to_mask, to_texts
from mapyard.overpass.run.evaluate import evaluate, evaluate_all
from mapyard.overpass.run.items import Items, key_lists
from mapyard.overpass.run.localizing import localize
from mapyard.overpass.run.making import convert, make
from mapyard.overpass.run.recursion import down, down_relations, up, up_relations
from mapyard.overpass.run.select import run_query
from mapyard.overpass.run.state import Run
from mapyard.overpass.space.lines import Ints
from mapyard.results.plan import Recorder

_DIRECTIONS = {">": down, ">>": down_relations, "<": up, "<<": up_relations}


def execute(run: Run, statements: tuple[Statement, ...]) -> None:
    """Run statements in order."""
    for statement in statements:
        run.account()
        _execute_one(run, statement)


def _watch(run: Run, statement: Statement, recorder: Recorder) -> None:
    """Run a statement and note it as a step."""
    name = type(statement).__name__.lower()
    detail = write_head(statement).removeprefix(name).strip()
    with recorder.step(statement, name, detail) as step:
        _execute_one(run, statement, noted=True)
        shown = getattr(statement, "into", None) or getattr(statement, "source", None)
        if shown is not None:
            step.rows += run.get(shown).size


def _execute_one(run: Run, statement: Statement, *, noted: bool = False) -> None:
    if run.recorder is not None and not noted:
        _watch(run, statement, run.recorder)
        return
    match statement:
        case Query():
            run.put(statement.into, run_query(run, statement))
        case Item():
            run.put(statement.into, run.get(statement.source))
        case Union():
            run.put(statement.into, unite_sets([_result(run, one) for one in statement.members]))
        case Difference():
            first = _result(run, statement.first)
            run.put(statement.into, subtract_sets(first, _result(run, statement.second)))
        case Recurse():
            found = _DIRECTIONS[statement.direction](
                run.store, run.get(statement.source).rows, run.budget
            )
            run.put(statement.into, ElementSet(rows=found))
        case IsIn():
            run.put(statement.into, areas_around(run, statement))
        case MapToArea():
            run.put(statement.into, map_to_area(run.store, run.get(statement.source)))
        case Make():
            made = convert(run, statement) if statement.per_element else make(run, statement)
            run.put(statement.into, ElementSet(derived=made))
        case Local():
            run.put(statement.into, ElementSet(derived=localize(run, statement)))
        case Out():
            run.show(statement)
        case If():
            holds = bool(to_mask(evaluate(statement.condition, run.scope()))[0])
            execute(run, statement.then if holds else statement.otherwise)
        case Foreach():
            _foreach(run, statement)
        case For():
            _for(run, statement)
        case Complete():
            _complete(run, statement)
        case Refused():
            raise run.source.unsupported(statement.at, statement.what, statement.instead)


def _result(run: Run, statement: Statement) -> ElementSet:
    """Run a member of a union and return what it wrote."""
    run.account()
    _execute_one(run, statement)
    into = getattr(statement, "into", None)
    if into is None or isinstance(statement, For | Foreach):
        return EMPTY_SET
    return run.get(into)


def _foreach(run: Run, statement: Foreach) -> None:
    elements = run.get(statement.source)
    before = run.get(statement.into)
    for one in _iter_singles(elements):
        run.put(statement.into, one)
        execute(run, statement.body)
    run.put(statement.into, elements if statement.into == statement.source else before)


def _iter_singles(elements: ElementSet) -> Iterator[ElementSet]:
    for index in range(len(elements.rows)):
        yield ElementSet(rows=elements.rows[index : index + 1])
    for index in range(len(elements.areas)):
        yield ElementSet(areas=elements.areas[index : index + 1])
    for derived in elements.derived:
        yield ElementSet(derived=(derived,))


def _for(run: Run, statement: For) -> None:
    elements = run.get(statement.source)
    before = run.get(statement.into)
    for text, group in _group(run, statement, elements):
        run.put(statement.into, group)
        run.loop_values[statement.into] = text
        execute(run, statement.body)
    run.loop_values.pop(statement.into, None)
    run.put(statement.into, elements if statement.into == statement.source else before)


def _group(run: Run, statement: For, elements: ElementSet) -> Iterator[tuple[str, ElementSet]]:
    """Yield the elements by value, in the order of the values; by each key for `keys()`."""
    if isinstance(statement.value, Call) and statement.value.name == "keys":
        run.budget.check(elements.size * 1000)
        items = Items(run.store, elements.rows, elements.areas, elements.derived)
        by_key: dict[str, list[int]] = {}
        for index, keys in enumerate(key_lists(items)):
            for key in keys:
                by_key.setdefault(key, []).append(index)
        for key in sorted(by_key):
            yield key, _pick(elements, np.array(by_key[key], np.int64))
        return
    texts = to_texts(evaluate_all(statement.value, run.scope().over(elements)))
    run.budget.check(elements.size * 16)
    order = np.argsort(texts.codes, kind="stable")
    ends = np.cumsum(np.bincount(texts.codes, minlength=len(texts.values)))
    for code in sorted(range(len(texts.values)), key=lambda code: texts.values[code]):
        start = ends[code - 1] if code else 0
        if start < ends[code]:
            yield texts.values[code], _pick(elements, order[start : ends[code]])


def _pick(elements: ElementSet, indexes: Ints) -> ElementSet:
    """Return the members at ascending indexes, counted over rows, areas and deriveds."""
    first, second = len(elements.rows), len(elements.rows) + len(elements.areas)
    low, high = np.searchsorted(indexes, (first, second))
    return ElementSet(
        rows=elements.rows[indexes[:low]],
        areas=elements.areas[indexes[low:high] - first],
        derived=tuple(elements.derived[index - second] for index in indexes[high:].tolist()),
    )


def _complete(run: Run, statement: Complete) -> None:
    gathered = run.get(statement.source)
    for _ in range(statement.limit + 1):  # the original counts the rounds after the first
        run.put(statement.into, gathered)
        execute(run, statement.body)
        wider = unite_sets([gathered, run.get(statement.source)])
        grown = wider.size > gathered.size
        gathered = wider
        if not grown:
            break
    run.put(statement.into, gathered)
