"""Joins with other services: what is bound here goes along in VALUES, some rows at a time.

So the other service only finds what can join, nobody waits for all of it, and a query that stops
early asks no further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import TooLarge
from mapyard.sparql.plan.algebra import Remote
from mapyard.sparql.remote.endpoint import Binding, Endpoint, ServiceFailed
from mapyard.sparql.run.compatible import compatible_pairs, merge_rows
from mapyard.sparql.run.runtime import Runtime
from mapyard.sparql.run.table import Column, Table
from mapyard.sparql.terms.ids import Ids
from mapyard.sparql.terms.terms import BlankNode, Term, TripleTerm, format_term

#: Distinct rows of bindings that go in one request, and requests of one query.
BATCH_ROWS: Final = 200
MAX_REQUESTS: Final = 200
#: About what a solution takes while it is read.
_ROW_BYTES: Final = 400


@dataclass(frozen=True)
class Federation:
    """The services that may be asked, by their addresses."""

    endpoints: Mapping[str, Endpoint]

    @classmethod
    def of(cls, addresses: list[str]) -> Federation:
        """Return the services of an operator's list."""
        return cls({address: Endpoint(address) for address in addresses})


def join_remote(
    pattern: Remote, seed: Table, runtime: Runtime, endpoint: Endpoint
) -> Iterator[Table]:
    """Yield the seed's rows joined with what the service gives for them."""
    names = [var.name for var in pattern.variables if var.name in seed.columns]
    columns = [seed.ids(name, runtime.pool) for name in names]
    if not names:
        yield from _join_batch(pattern, seed, "", runtime, endpoint)
        return
    keys, inverse = _distinct_rows(columns)
    for start in range(0, len(keys), BATCH_ROWS):
        part = keys[start : start + BATCH_ROWS]
        rows = [runtime.decode(column) for column in part.T]
        chosen = np.flatnonzero((inverse >= start) & (inverse < start + len(part)))
        values = _write_values(names, list(zip(*rows, strict=True)))
        if values:
            yield from _join_batch(pattern, seed.take(chosen), values, runtime, endpoint)


def _distinct_rows(columns: list[Ids]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    keys, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return keys, inverse.reshape(-1)


def _write_values(names: list[str], rows: list[tuple[Term | None, ...]]) -> str:
    """Return the VALUES block; "" where no row can be sent: no blank node is known elsewhere."""
    lines = [
        " ".join("UNDEF" if term is None else format_term(term) for term in row)
        for row in rows
        if not any(isinstance(term, BlankNode | TripleTerm) for term in row)
    ]
    if not lines:
        return ""
    head = " ".join(f"?{name}" for name in names)
    return f"VALUES ({head}) {{ {' '.join(f'({line})' for line in lines)} }}"


def _join_batch(
    pattern: Remote, seed: Table, values: str, runtime: Runtime, endpoint: Endpoint
) -> Iterator[Table]:
    made = runtime.made
    made["requests"] = made.get("requests", 0) + 1
    if made["requests"] > MAX_REQUESTS:
        raise TooLarge(
            f"the query would ask {endpoint.address} and others more than {MAX_REQUESTS} times; "
            "bind fewer rows before the SERVICE",
            details={"limit": MAX_REQUESTS, "unit": "requests"},
        )
    head = " ".join(f"?{var.name}" for var in pattern.variables) or "*"
    query = f"{pattern.prologue}SELECT {head} WHERE {{ {values} {pattern.text} }}"
    try:
        found = endpoint.ask(query, runtime.deadline)
    except ServiceFailed:
        if not pattern.silent:
            raise
        yield seed  # section 4.3 of SPARQL Federated Query: as if it gave one empty solution
        return
    held = _ROW_BYTES * len(found)
    runtime.hold(held, len(found), f"the answer of {endpoint.address}")
    try:
        right = _read_table(pattern, found, runtime, made["requests"])
        for a, b in compatible_pairs(seed, right, runtime.pool):
            runtime.deadline.check()
            yield merge_rows(seed, right, a, b, runtime.pool)
    finally:
        runtime.release(held)


def _read_table(pattern: Remote, found: list[Binding], runtime: Runtime, number: int) -> Table:
    columns: dict[str, Column] = {}
    for var in pattern.variables:
        terms = [_rename(row.get(var.name), number) for row in found]
        columns[var.name] = runtime.pool.encode_many(terms)
    return Table(columns, len(found))


def _rename(term: Term | None, number: int) -> Term | None:
    """Return the term; blank nodes of two answers are never the same."""
    return BlankNode(f"s{number}x{term.label}") if isinstance(term, BlankNode) else term
