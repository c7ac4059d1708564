"""Groups that only count one triple pattern, answered from counts that the source has already."""

from __future__ import annotations

from typing import Final

import numpy as np

from mapyard.sparql.plan.algebra import Bgp, Group, TriplePattern, Var
from mapyard.sparql.run.runtime import Runtime
from mapyard.sparql.run.table import Table
from mapyard.sparql.terms.ids import Ids, integer_ids
from mapyard.sparql.terms.terms import Iri

_EVERY: Final = 3


def count_group(pattern: Group, runtime: Runtime) -> Table | None:
    """Answer COUNT over `?s ?p ?o`, whole or by ?p, and over `?s <p> ?o`, whole or by ?o.

    None for anything else, and where the source would have to count by looking at all.
    """
    inner = pattern.pattern
    if not isinstance(inner, Bgp) or len(inner.triples) != 1 or inner.filters:
        return None
    triple = inner.triples[0]
    nodes = (triple.subject, triple.predicate, triple.object)
    if any(
        call.name != "COUNT" or call.distinct or not (call.arg is None or call.arg in nodes)
        for _, call in pattern.aggregates
    ):
        return None
    counted = _find_counts(triple, [*pattern.keys], runtime)
    if counted is None:
        return None
    terms, counts = counted
    columns: dict[str, Ids] = {}
    if pattern.keys:
        columns[pattern.keys[0][0].name] = terms
    else:
        counts = np.array([counts.sum()])
    for var, _ in pattern.aggregates:
        columns[var.name] = integer_ids(counts)
    return Table(dict(columns), len(counts))


def _find_counts(
    triple: TriplePattern, keys: list[tuple[Var, object]], runtime: Runtime
) -> tuple[Ids, Ids] | None:
    """Return the terms of the one key and how many triples have each."""
    nodes = (triple.subject, triple.predicate, triple.object)
    names = {node.name for node in nodes if isinstance(node, Var)}
    if len(names) == _EVERY and keys in ([], [(triple.predicate, None)]):
        return runtime.source.count_by_predicate(runtime)
    if (
        len(names) == _EVERY - 1
        and isinstance(triple.predicate, Iri)
        and keys in ([], [(triple.object, None)])
    ):
        predicate = runtime.encode(triple.predicate)
        return runtime.source.count_by_object(predicate, runtime)
    return None
