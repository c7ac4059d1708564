"""From turns to a plain directed graph, in which every way is one that the engine would take.

Its vertices stand for edges of the road graph, at their begin; its arcs for turns. In two of the
engine's rules it matters where on the way an edge is: roads for their destinations only are taken
on the first and the last stretch only, and dead ends are left at the first stretch and entered at
the last. Edges with such a rule get two vertices, one for the stretch before and one for the
stretch after; all others one. `make_relaxed` is without these rules: the engine asks again without
them where it finds no way, and where both ends are next to each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.contraction.times import find_ends_only
from mapyard.routing.contraction.turns import Turns

type Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class VertexGraph:
    """A directed graph over edges.

    A way begins at the vertex `begin[edge]` and ends at any vertex `v` with `edge[v]` and
    `is_end[v]`.
    """

    edge: Ints  #: per vertex
    is_end: Bools  #: per vertex
    begin: Ints  #: per edge of the road graph, -1 where it is not used
    tail: Ints  #: per arc
    head: Ints
    turn: Ints  #: per arc, its place in `Turns`

    def move(self, move: Callable[[Any], Any]) -> VertexGraph:
        """Return the graph with what is to be held instead of each column."""
        return VertexGraph(*(move(getattr(self, field.name)) for field in fields(self)))


def make_relaxed(
    graph: RoadGraph, turns: Turns, usable: Bools, access: int, limited: Bools | None = None
) -> VertexGraph:
    """Return the graph without rules for dead ends and destinations.

    On `limited` edges ways begin and end, and go on over none.
    """
    onward = turns.select(~turns.is_reverse)
    has_onward = np.zeros(len(usable), np.bool_)
    has_onward[onward.origin] = True
    kept = np.flatnonzero(~turns.is_reverse | ~has_onward[turns.origin]).astype(np.int32)
    edge = np.flatnonzero(usable).astype(np.int32)
    begin = np.full(len(usable), -1, np.int32)
    begin[edge] = np.arange(len(edge))
    # A limited edge has two vertices: one that nothing leads to, one that leads nowhere.
    twice = edge[:0] if limited is None else edge[limited[edge]]
    end = begin.copy()
    end[twice] = len(edge) + np.arange(len(twice))
    vertices = np.concatenate([edge, twice])
    plain = VertexGraph(
        edge=vertices,
        is_end=end[vertices] == np.arange(len(vertices)),
        begin=begin,
        tail=begin[turns.origin[kept]],
        head=end[turns.destination[kept]],
        turn=kept,
    )
    return _forbid_paths(plain, _find_restrictions(graph, access))


def make_strict(
    graph: RoadGraph,
    turns: Turns,
    usable: Bools,
    access: int,
    *,
    limited: Bools,
    private: tuple[Bools, Bools] | None,
    avoided: list[list[int]],
) -> VertexGraph:
    """Return the graph with rules for dead ends and for private roads, as `ModeCosts` has them.

    On `limited` edges ways begin and end, and go on over none. `avoided` are further sequences of
    edges that no way may hold.
    """
    into, out_of = graph.edges.not_thru == 1, np.zeros(len(usable), np.bool_)
    inside = graph.end >= 0
    out_of[inside] = into[graph.opposing[inside]]
    alone = around = find_ends_only(graph.limits, len(usable), access)
    if private is not None:
        alone, around = (roads | alone for roads in private)
    a, b = turns.origin, turns.destination
    # Forward from the origin: no way out of a public road into a private one. Backward from the
    # destination the same, so that in all a way leaves private roads once and enters them once.
    first = ~(limited[b] | alone[b] & ~around[a])
    last = ~(limited[a] | alone[a] & ~around[b])
    # Back on the same road only where a search from its side has no other way.
    first &= ~turns.is_reverse | ~_any_of(a, first & ~turns.is_reverse & ~(into[b] & ~into[a]))
    last &= ~turns.is_reverse | ~_any_of(b, last & ~turns.is_reverse & ~(out_of[a] & ~out_of[b]))

    # Numbers of vertices and turns have 32 bits: there are several columns of many of them.
    edge = np.flatnonzero(usable).astype(np.int32)
    twice = edge[(into | out_of | alone | limited)[edge]]
    before = np.full(len(usable), -1, np.int32)
    before[edge] = np.arange(len(edge))
    after = before.copy()
    after[twice] = len(edge) + np.arange(len(twice))
    # The engine's two searches may meet on any road: on one that is a dead end from both sides, as
    # on islands without a ring, too. It has a third vertex, for where the stretches meet on it.
    met = edge[(into & out_of & ~limited)[edge]]
    middle = np.full(len(usable), -1, np.int32)
    middle[met] = len(edge) + len(twice) + np.arange(len(met))
    vertices = np.concatenate([edge, twice, met])
    # Most edges have one vertex, and most turns would come three times.
    one_a, one_b = before[a] == after[a], before[b] == after[b]
    outward = first & (into[a] | ~into[b])
    inward = last & (out_of[b] | ~out_of[a])
    across = (first | last) & ~(outward & one_b) & ~(inward & one_a)
    arcs = [
        _take_arcs(tail, head, turns, allowed)
        for tail, head, allowed in (
            (before, middle, first & (middle[b] >= 0)),
            (middle, after, last & (middle[a] >= 0)),
            (before, before, outward),
            (after, after, inward & ~(outward & one_a & one_b)),
            (before, after, across),
        )
    ]
    del first, last, one_a, one_b, outward, inward, across
    tail, head, turn = (np.concatenate(column) for column in zip(*arcs, strict=True))
    del arcs
    unique = _find_unique(tail, head, len(vertices))
    is_end = np.zeros(len(vertices), np.bool_)
    is_end[after[edge]] = True
    strict = VertexGraph(
        edge=vertices,
        is_end=is_end,
        begin=before,
        tail=tail[unique],
        head=head[unique],
        turn=turn[unique],
    )
    del tail, head, turn, unique
    return _forbid_paths(strict, _find_restrictions(graph, access) + avoided)


def _take_arcs(tail: Ints, head: Ints, turns: Turns, allowed: Bools) -> tuple[Ints, Ints, Ints]:
    """Return the arcs of allowed turns: vertices, by edge, and the turns."""
    turn = np.flatnonzero(allowed).astype(np.int32)
    return tail[turns.origin[turn]], head[turns.destination[turn]], turn


def _find_unique(tail: Ints, head: Ints, count: int) -> Ints:
    """Return the first of each arc between so many vertices, in order of tail and head."""
    key = tail.astype(np.int64)
    key *= count
    key += head
    order = np.argsort(key, kind="stable")
    key = key[order]
    is_first = np.ones(len(key), np.bool_)
    np.not_equal(key[1:], key[:-1], out=is_first[1:])
    return order[is_first]


def _find_restrictions(graph: RoadGraph, access: int) -> list[list[int]]:
    return [path for modes, path in graph.restrictions if modes & access]


def _any_of(edges: Ints, mask: Bools) -> Bools:
    """Return per turn whether its edge has any turn in the mask."""
    has = np.zeros(int(edges.max(initial=-1)) + 1, np.bool_)
    has[edges[mask]] = True
    return has[edges]


def _forbid_paths(vertices: VertexGraph, paths: list[list[int]]) -> VertexGraph:
    """Return the graph without ways that take the edges of a path one after the other.

    Who takes the first turn of a path goes on to a copy of the next vertex, which knows where one
    came from, and so on; the last copy is without the forbidden arc.
    """
    if not paths:
        return vertices
    touched = np.zeros(int(vertices.begin.size), np.bool_)
    touched[[edge for path in paths for edge in path[:-1]]] = True
    near = touched[vertices.edge[vertices.tail]]
    arcs: dict[int, dict[int, int]] = {}  # tail → head → turn, of the vertices around
    for tail, head, turn in zip(
        vertices.tail[near].tolist(), vertices.head[near].tolist(), vertices.turn[near].tolist(),
        strict=True,
    ):  # fmt: skip
        arcs.setdefault(tail, {})[head] = turn
    count = len(vertices.edge)
    added: list[int] = []  # vertices that each further one is a copy of
    edge: dict[int, int] = {}  # of the vertices that were looked at

    def edge_of(vertex: int) -> int:
        if vertex not in edge:
            edge[vertex] = int(vertices.edge[vertex])
        return edge[vertex]

    of_edge: dict[int, list[int]] = {}
    for vertex in np.flatnonzero(touched[vertices.edge]).tolist():
        of_edge.setdefault(edge_of(vertex), []).append(vertex)

    def copy(vertex: int) -> int:
        twin = count + len(added)
        added.append(added[vertex - count] if vertex >= count else vertex)
        edge[twin] = edge_of(vertex)
        of_edge[edge[twin]].append(twin)
        arcs[twin] = dict(arcs.get(vertex, {}))
        return twin

    for path in paths:
        tails = list(of_edge.get(path[0], ()))
        for step in path[1:-1]:
            twins = []
            for tail in tails:
                for head in [head for head in arcs.get(tail, ()) if edge_of(head) == step]:
                    twin = copy(head)
                    arcs[tail][twin] = arcs[tail].pop(head)
                    twins.append(twin)
            tails = twins
        for tail in tails:
            for head in [head for head in arcs.get(tail, ()) if edge_of(head) == path[-1]]:
                del arcs[tail][head]

    changed = [(tail, head, turn) for tail, heads in arcs.items() for head, turn in heads.items()]
    tail, head, turn = np.array(changed, np.int32).reshape(-1, 3).T
    return VertexGraph(
        edge=np.concatenate([vertices.edge, vertices.edge[np.array(added, np.int64)]]),
        is_end=np.concatenate([vertices.is_end, vertices.is_end[np.array(added, np.int64)]]),
        begin=vertices.begin,
        tail=np.concatenate([vertices.tail[~near], tail]),
        head=np.concatenate([vertices.head[~near], head]),
        turn=np.concatenate([vertices.turn[~near], turn]),
    )
