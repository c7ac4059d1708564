"""Single ways between places on roads, against plain searches from place to place."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.routing.kernels.test_hierarchy import build, dijkstra

from mapyard.routing.contraction.hierarchy import NO_WAY
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.way import Contracted, Edges, Network

#: Edges take at most that, so that several ways have the same cost.
MOST = 9


@st.composite
def networks(draw):
    """Edges, each of which is a vertex; turns between them, more of them without the rules."""
    count = draw(st.integers(1, 12))
    edge = st.integers(0, count - 1)
    figures = st.lists(st.integers(0, MOST), min_size=count, max_size=count)
    crossings = st.lists(st.integers(0, 30), min_size=count, max_size=count)
    turn = st.tuples(edge, edge, st.integers(0, 3))
    turns = draw(st.lists(turn, max_size=30, unique_by=lambda one: one[:2]))
    strict = [one for one in turns if draw(st.booleans())]
    return SimpleNamespace(
        count=count, cost=draw(figures), time=draw(figures), length=draw(figures),
        start=draw(crossings), end=draw(crossings), strict=strict, relaxed=turns,
        asks_again=draw(st.booleans()), used=draw(st.sets(edge)),
        scale=draw(st.sampled_from([1000, 3000])),
    )  # fmt: skip


def list_arcs(net, turns):
    """A turn takes the edge before it and something of its own."""
    return [
        (one, other, net.cost[one] + more, net.time[one], net.length[one])
        for one, other, more in turns
    ]


def make_network(net):
    graphs = []
    for turns in (net.strict, net.relaxed):
        edges = np.arange(net.count, dtype=np.int32)
        begin = np.where(np.isin(edges, list(net.used)), edges, -1).astype(np.int32)
        first_end = np.append(0, np.cumsum(begin >= 0)).astype(np.uint32)
        hierarchy = build(net.count, list_arcs(net, turns))
        graphs.append(Contracted(hierarchy, begin, first_end, edges[begin >= 0], edges))
    columns = (net.cost, net.time, net.length, net.start, net.end)
    edges = Edges(*(np.array(column, np.int32) for column in columns))
    return Network(*graphs, edges, asks_again=net.asks_again, cost_scale=net.scale)


@st.composite
def sides(draw, count):
    """Places of a position: edges, shares in quarters, all as far away."""
    rows = draw(st.lists(st.tuples(st.integers(-1, count - 1), st.integers(0, 4)), max_size=4))
    away_m = draw(st.integers(0, 3)) / 1000
    return [(edge, quarters / 4, away_m) for edge, quarters in rows]


def make_places(rows):
    edge, share, away_m = np.array(rows, np.float64).reshape(-1, 3).T
    return Places(
        1, np.zeros(len(rows), np.int64), edge.astype(np.int32), share.copy(), away_m.copy(),
        np.column_stack([share, away_m]),
    )  # fmt: skip


def find_least(net, turns, origin, destination):
    """Return the least cost over all pairs of places."""
    arcs = list_arcs(net, turns)
    best = NO_WAY
    for edge, share, away_m in origin:
        if edge not in net.used:
            continue
        costs = dijkstra(net.count, arcs, [(edge, 0)])
        around = min(
            (
                cost + dijkstra(net.count, arcs, [(head, 0)])[edge]
                for tail, head, cost, *_ in arcs
                if tail == edge
            ),
            default=NO_WAY,
        )
        first = round(-share * net.cost[edge] + net.scale * away_m + (share == 1))
        for other, upto, far_m in destination:
            if other not in net.used:
                continue
            last = round(upto * net.cost[other] + net.scale * far_m + (upto == 0))
            middle = around if edge == other else costs[other]
            if edge == other and upto >= share:
                middle = 0
            if middle < NO_WAY:
                best = min(best, first + middle + last)
    return best


def touches(net, origin, destination):
    one, other = (
        {
            crossing
            for edge, *_ in rows
            if edge >= 0
            for crossing in (net.start[edge], net.end[edge])
        }
        for rows in (origin, destination)
    )
    return bool(one & other)


@given(networks(), st.data())
def test_ways_are_the_cheapest_over_all_pairs_of_places(net, data):
    origin, destination = data.draw(sides(net.count)), data.draw(sides(net.count))
    way = make_network(net).find_way(make_places(origin), make_places(destination))
    strict = find_least(net, net.strict, origin, destination)
    relaxed = find_least(net, net.relaxed, origin, destination)
    are_near = touches(net, origin, destination)
    if way is None:
        assert strict == NO_WAY
        assert relaxed == NO_WAY or not (net.asks_again or are_near)
        return
    expected = relaxed if way.is_relaxed else strict
    assert round(net.scale * way.cost_s) == expected
    if way.is_relaxed:
        assert are_near or (strict == NO_WAY and net.asks_again)
    else:
        assert not are_near or way.length_m == 0
    turns = {
        (one, other): more for one, other, more in (net.relaxed if way.is_relaxed else net.strict)
    }
    path = way.edges.tolist()
    (share, at, _), (upto, to, _) = way.ends
    places = [(edge, at) for edge, at, _ in origin], [(edge, at) for edge, at, _ in destination]
    assert (path[0], share) in places[0]
    assert (path[-1], upto) in places[1]
    assert (at, to) == (share, upto)
    assert all(step in turns for step in pairwise(path))
    for figures, found in ((net.time, 1000 * way.time_s), (net.length, 100 * way.length_m)):
        whole = sum(figures[edge] for edge in path[:-1])
        ends = round(-share * figures[path[0]]) + round(upto * figures[path[-1]])
        assert round(found) == max(0, whole + ends)


def test_a_long_way_has_room():
    count = 3_000
    net = SimpleNamespace(
        count=count, cost=[1] * count, time=[2] * count, length=[3] * count,
        start=list(range(count)), end=list(range(1, count + 1)), strict=[],
        relaxed=[(edge, edge + 1, 0) for edge in range(count - 1)], asks_again=True, scale=1000,
        used=set(range(count)),
    )  # fmt: skip
    network = make_network(net)
    way = network.find_way(make_places([(0, 0.0, 0.0)]), make_places([(count - 1, 1.0, 0.0)]))
    assert way.edges.tolist() == list(range(count))
    assert way.is_relaxed
    assert way.length_m == pytest.approx(0.03 * count)
    assert network.find_way(make_places([(5, 0.0, 0.0)]), make_places([(2, 0.0, 0.0)])) is None
