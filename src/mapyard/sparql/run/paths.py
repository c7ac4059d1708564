"""Property paths with repetition and negated property sets, breadth first on arrays of ids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import Unsupported
from mapyard.sparql.plan.algebra import Alternative, Inverse, Negated, Path, Repeat, Sequence
from mapyard.sparql.run.runtime import Runtime
from mapyard.sparql.run.table import unique_pairs
from mapyard.sparql.sources.source import Matches, Position
from mapyard.sparql.terms.ids import Ids
from mapyard.sparql.terms.terms import Iri
from mapyard.store.distinct import distinct

#: What a pair takes while pairs are put together: indexes, ends, and the orders they are sorted by.
_PAIR_BYTES = 48

Pairs = tuple[NDArray[np.int64], Ids]  # (index into the starts, end)


def match_path(
    runtime: Runtime, s: Position, path: Path, o: Position, graph: int | None
) -> Iterator[Matches]:
    """Yield the pairs that a path connects, as `Source.match` does."""
    if isinstance(path, Negated):
        yield from _match_negated(runtime, s, path, o, graph)
        return
    if s is None and o is None:
        starts = _starts(runtime, path, graph)
        index, ends = _follow(runtime, path, starts, graph)
        yield Matches(len(ends), None, subject=starts[index], object=ends)
        return
    if s is None:
        for match in match_path(runtime, o, Inverse(path), None, graph):
            yield match._replace(subject=match.object, object=None)
        return
    if isinstance(path, Repeat) and path.zero and isinstance(s, np.ndarray):
        nodes = runtime.source.nodes(graph, runtime)
        if nodes is not None and not (inside := np.isin(s, nodes)).all():
            # A path of no steps begins at nodes of the graph, not at any term of the query.
            rows = np.flatnonzero(inside)
            rest = o[rows] if isinstance(o, np.ndarray) else o
            for match in match_path(runtime, s[rows], path, rest, graph):
                assert match.rows is not None
                yield match._replace(rows=rows[match.rows])
            return
    starts = s if isinstance(s, np.ndarray) else np.array([s], np.int64)
    unique, inverse = np.unique(starts, return_inverse=True)
    index, ends = _follow(runtime, path, unique, graph)
    if o is not None:
        wanted = o if isinstance(o, np.ndarray) else np.full(len(starts), o, np.int64)
        if len(starts) == 1 and len(wanted) > 1:
            inverse = np.zeros(len(wanted), np.int64)
        codes, reached = _pair_codes(inverse, wanted, index, ends)
        rows = np.flatnonzero(np.isin(codes, reached))
        has_arrays = isinstance(s, np.ndarray) or isinstance(o, np.ndarray)
        yield Matches(len(rows), rows if has_arrays else None)
        return
    if isinstance(s, np.ndarray):
        counts = np.bincount(index, minlength=len(unique))
        order = np.argsort(index, kind="stable")
        first = np.cumsum(counts) - counts
        per_row = counts[inverse]
        rows = np.repeat(np.arange(len(starts)), per_row)
        shift = np.repeat(first[inverse] - (np.cumsum(per_row) - per_row), per_row)
        place = order[np.arange(len(rows)) + shift]
        yield Matches(len(rows), rows, object=ends[place])
    else:
        yield Matches(len(ends), None, object=ends)


def _pair_codes(
    inverse: NDArray[np.int64], wanted: Ids, index: NDArray[np.int64], ends: Ids
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return comparable numbers for the wanted (start, end) pairs and for the reached ones."""
    values, codes = np.unique(np.concatenate([wanted, ends]), return_inverse=True)
    size = max(1, len(values))
    return inverse * size + codes[: len(wanted)], index * size + codes[len(wanted) :]


def _match_negated(
    runtime: Runtime, s: Position, path: Negated, o: Position, graph: int | None
) -> Iterator[Matches]:
    def forbidden(predicates: Ids, iris: tuple[Iri, ...]) -> NDArray[np.bool_]:
        return np.isin(predicates, [runtime.encode(iri) for iri in iris])

    if path.forward or not path.backward:
        for match in runtime.source.match(s, None, o, graph, runtime):
            assert match.predicate is not None
            keep = np.flatnonzero(~forbidden(match.predicate, path.forward))
            yield Matches(
                len(keep),
                None if match.rows is None else match.rows[keep],
                None if match.subject is None else match.subject[keep],
                None,
                None if match.object is None else match.object[keep],
            )
    if path.backward:
        backward = Negated(path.backward, ())
        for match in _match_negated(runtime, o, backward, s, graph):
            yield match._replace(subject=match.object, object=match.subject)


def _follow(runtime: Runtime, path: Path, starts: Ids, graph: int | None) -> Pairs:
    """Return (index of start, end) of all ends; for repetitions each pair once."""
    runtime.deadline.check()
    match path:
        case Iri():
            return _edges(runtime, starts, path, graph)
        case Inverse(inner):
            return _follow_back(runtime, inner, starts, graph)
        case Sequence(left, right):
            index, middle = _follow(runtime, left, starts, graph)
            unique, inverse = np.unique(middle, return_inverse=True)
            onward, ends = _follow(runtime, right, unique, graph)
            return _compose(runtime, index, inverse, onward, ends, len(unique))
        case Alternative(left, right):
            a, b = _follow(runtime, left, starts, graph), _follow(runtime, right, starts, graph)
            return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])
        case Negated():
            return _collect(_match_negated(runtime, starts, path, None, graph))
        case Repeat():
            return _closure(runtime, path, starts, graph)


def _follow_back(runtime: Runtime, path: Path, starts: Ids, graph: int | None) -> Pairs:
    match path:
        case Iri():
            found = runtime.source.match(None, runtime.encode(path), starts, graph, runtime)
            return _collect(m._replace(object=m.subject) for m in found)
        case Inverse(inner):
            return _follow(runtime, inner, starts, graph)
        case Sequence(left, right):
            return _follow(runtime, Sequence(Inverse(right), Inverse(left)), starts, graph)
        case Alternative(left, right):
            return _follow(runtime, Alternative(Inverse(left), Inverse(right)), starts, graph)
        case Negated(forward, backward):
            return _collect(
                _match_negated(runtime, starts, Negated(backward, forward), None, graph)
                if backward or forward
                else iter(())
            )
        case Repeat(inner, zero, many):
            return _follow(runtime, Repeat(Inverse(inner), zero, many), starts, graph)


def _edges(runtime: Runtime, starts: Ids, predicate: Iri, graph: int | None) -> Pairs:
    return _collect(runtime.source.match(starts, runtime.encode(predicate), None, graph, runtime))


def _collect(matches: Iterator[Matches]) -> Pairs:
    indexes, ends = [], []
    for match in matches:
        assert match.rows is not None
        assert match.object is not None
        indexes.append(match.rows)
        ends.append(match.object)
    if not indexes:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate(indexes), np.concatenate(ends)


def _compose(
    runtime: Runtime, index: NDArray[np.int64], inverse: NDArray[np.int64],
    onward: NDArray[np.int64], ends: Ids, count: int,
) -> Pairs:  # fmt: skip
    """Return pairs start → end from start → middle (by number) and middle → end."""
    counts = np.bincount(onward, minlength=count)
    order = np.argsort(onward, kind="stable")
    first = np.cumsum(counts) - counts
    per_row = counts[inverse]
    total = int(per_row.sum())
    runtime.room(total * _PAIR_BYTES, "the property path")
    runtime.hold(0, total, "the property path")
    rows = np.repeat(index, per_row)
    shift = np.repeat(first[inverse] - (np.cumsum(per_row) - per_row), per_row)
    return rows, ends[order[np.arange(len(rows)) + shift]]


def _closure(runtime: Runtime, path: Repeat, starts: Ids, graph: int | None) -> Pairs:
    if path.zero:
        seen: Pairs = (np.arange(len(starts)), starts)
    else:
        seen = (np.empty(0, np.int64), np.empty(0, np.int64))
    frontier: Pairs = (np.arange(len(starts)), starts)
    while len(frontier[0]):
        runtime.deadline.check()
        unique, inverse = np.unique(frontier[1], return_inverse=True)
        onward, ends = _follow(runtime, path.path, unique, graph)
        found = unique_pairs(*_compose(runtime, frontier[0], inverse, onward, ends, len(unique)))
        # New pairs are those that a stable sort does not find behind an equal seen one.
        index = np.concatenate([seen[0], found[0]])
        nodes = np.concatenate([seen[1], found[1]])
        runtime.hold(0, len(index), "the property path")
        order = np.lexsort((nodes, index))
        first = np.ones(len(order), np.bool_)
        a, b = index[order], nodes[order]
        first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
        kept = order[first]
        fresh = kept[kept >= len(seen[0])]
        frontier = (index[fresh], nodes[fresh])
        seen = (index[kept], nodes[kept])
        if not path.many:
            break
    return seen


def _starts(runtime: Runtime, path: Path, graph: int | None) -> Ids:
    """Return where a path with two free ends may begin."""
    match path:
        case Iri():
            found = runtime.source.match(None, runtime.encode(path), None, graph, runtime)
            return _unique_ends(runtime, (m.subject for m in found))
        case Inverse(Iri() as iri):
            found = runtime.source.match(None, runtime.encode(iri), None, graph, runtime)
            return _unique_ends(runtime, (m.object for m in found))
        case Sequence(left, _):
            return _starts(runtime, left, graph)
        case Inverse(Sequence(_, right)):
            return _starts(runtime, Inverse(right), graph)
        case Alternative(left, right):
            return distinct(_starts(runtime, left, graph), _starts(runtime, right, graph))
        case Repeat(inner, False, _):
            return _starts(runtime, inner, graph)
        case Inverse(Repeat(inner, False, _)):
            return _starts(runtime, Inverse(inner), graph)
    nodes = runtime.source.nodes(graph, runtime)
    if nodes is None:
        raise Unsupported(
            "a path with * or ? needs one end that is bound: name an element, or put a pattern "
            "that binds the variable beside it"
        )
    return nodes


def _unique_ends(runtime: Runtime, parts: Iterator[Ids | None]) -> Ids:
    chunks = [part for part in parts if part is not None]
    if not chunks:
        return np.empty(0, np.int64)
    runtime.hold(0, sum(map(len, chunks)), "the property path")
    return distinct(*chunks)
