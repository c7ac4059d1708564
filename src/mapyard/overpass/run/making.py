"""`make` and `convert`: derived elements with tags and geometries of one's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely

from mapyard.overpass.osm.rowsets import EMPTY_SET, Derived
from mapyard.overpass.parse.syntax import Assignment, GenericValue, Make
from mapyard.overpass.run.columns import Shapes, read_number, to_list
from mapyard.overpass.run.evaluate import Scope, evaluate_all
from mapyard.overpass.run.items import tag_dicts
from mapyard.overpass.run.state import Run


def make(run: Run, statement: Make) -> tuple[Derived, ...]:
    """Return the one element of a `make`."""
    return _derive(run, statement, run.scope(), 1)


def convert(run: Run, statement: Make) -> tuple[Derived, ...]:
    """Return one element per member of the source."""
    elements = run.get(statement.source)
    run.budget.check(elements.size * 1000)
    return _derive(run, statement, run.scope().over(elements), elements.size)


def _derive(run: Run, statement: Make, scope: Scope, count: int) -> tuple[Derived, ...]:
    explicit = {one.key for one in statement.assignments if one.kind in ("tag", "drop")}
    tags: list[dict[str, str]] = [{} for _ in range(count)]
    shapes = np.full(count, None, np.object_)
    ids: list[str] | None = None
    for one in statement.assignments:
        if one.kind == "generic":
            _set_generic(run, one, scope, tags, explicit)
    for one in statement.assignments:
        if one.value is None or one.kind == "generic":
            continue
        column = evaluate_all(one.value, scope)
        if one.kind == "geom":
            shapes = column.values if isinstance(column, Shapes) else shapes
        elif one.kind == "id":
            ids = to_list(column)
        else:
            texts = to_list(column)
            run.budget.check(sum(map(len, texts)))
            for own, text in zip(tags, texts, strict=True):
                own[one.key] = text
    made = []
    for index, (own, shape) in enumerate(zip(tags, shapes.tolist(), strict=True)):
        made.append(
            Derived(
                statement.type_name,
                _choose_id(run, None if ids is None else ids[index]),
                {key: own[key] for key in sorted(own) if own[key] or key in explicit},
                shape if isinstance(shape, shapely.Geometry) else None,
            )
        )
    return tuple(made)


def _choose_id(run: Run, text: str | None) -> int:
    """Return the id that was asked for, if it is a whole number, else the next free one."""
    number = read_number(text) if text else float("nan")
    if number == number and number == int(number) and abs(number) < 2**53:
        return int(number)
    run.last_derived_id += 1
    return run.last_derived_id


def _set_generic(
    run: Run, one: Assignment, scope: Scope, tags: list[dict[str, str]], explicit: set[str]
) -> None:
    """Set all keys that occur, but those that are set or dropped by name."""
    assert one.value is not None
    if scope.items is not None:
        if isinstance(one.value, GenericValue):
            for own, found in zip(tags, tag_dicts(scope.items), strict=True):
                own.update({key: text for key, text in found.items() if key not in explicit})
            return
        keys = _keys_of(scope)
    else:
        elements = run.sets.get(one.source or "_", EMPTY_SET)
        keys = _keys_of(scope.over(elements))
    present = _present(scope, keys)
    for key in keys:
        run.budget.check()
        if key in explicit:
            continue
        texts = to_list(evaluate_all(one.value, replace(scope, generic_key=key)))
        for own, text, has in zip(tags, texts, present[key], strict=True):
            if has:
                own[key] = text


def _keys_of(scope: Scope) -> list[str]:
    assert scope.items is not None
    return sorted({key for found in tag_dicts(scope.items) for key in found})


def _present(scope: Scope, keys: list[str]) -> dict[str, list[bool]]:
    if scope.items is None:
        return {key: [True] for key in keys}
    found = tag_dicts(scope.items)
    return {key: [key in own for own in found] for key in keys}
