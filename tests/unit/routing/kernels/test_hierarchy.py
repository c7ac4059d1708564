"""Searches in contracted graphs, against plain ones from vertex to vertex."""

import heapq
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import Timeout
from mapyard.routing.contraction.hierarchy import NO_WAY, Hierarchy, Starts, contract
from mapyard.routing.contraction.order import find_order, rank_edges
from mapyard.routing.contraction.turns import Turns
from mapyard.routing.contraction.vertices import make_strict


def build(count, arcs):
    """A searchable graph of arcs (tail, head, cost, time, length), contracted by number."""
    columns = np.array(arcs, np.int64).reshape(-1, 5).T
    tail, head, *weights = (np.ascontiguousarray(column, np.int32) for column in columns)
    return Hierarchy(contract(count, tail, head, *weights))


def start(*positions):
    """Searches from positions that are lists of places: vertex, cost, time, length."""
    first = np.append(0, np.cumsum([len(position) for position in positions]))
    places = np.array([place for position in positions for place in position], np.int32)
    columns = places.reshape(-1, 4).T
    return Starts(first.astype(np.int64), *(np.ascontiguousarray(one) for one in columns))


def at(*vertices):
    return start(*([(vertex, 0, 0, 0)] for vertex in vertices))


def dijkstra(count, arcs, sources):
    """Least costs to all vertices from some with a cost each."""
    out = [[] for _ in range(count)]
    for tail, head, cost, *_ in arcs:
        out[tail].append((head, cost))
    best = [NO_WAY] * count
    queue = [(cost, vertex) for vertex, cost in sources]
    while queue:
        cost, vertex = heapq.heappop(queue)
        if cost < best[vertex]:
            best[vertex] = cost
            for head, more in out[vertex]:
                heapq.heappush(queue, (cost + more, head))
    return best


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 24))
    vertex = st.integers(0, count - 1)
    # Small numbers, so that there are ways of the same cost, and ways that cost nothing.
    arc = st.tuples(vertex, vertex, st.integers(0, 9), st.integers(0, 99), st.integers(0, 99))
    return count, draw(st.lists(arc, max_size=80, unique_by=lambda one: one[:2]))


@given(graphs())
def test_tables_are_those_of_plain_searches(graph):
    count, arcs = graph
    everything = at(*range(count))
    table = build(count, arcs).find_table(everything, everything, no_deadline())
    expected = [dijkstra(count, arcs, [(vertex, 0)]) for vertex in range(count)]
    assert table.cost_ms.tolist() == expected


@given(graphs())
def test_ways_are_made_of_arcs_that_add_up(graph):
    count, arcs = graph
    hierarchy = build(count, arcs)
    weights = {(tail, head): weight for tail, head, *weight in arcs}
    source, target = np.divmod(np.arange(count * count, dtype=np.int32), count)
    ways = hierarchy.find_ways(source, target, no_deadline())
    costs = [dijkstra(count, arcs, [(vertex, 0)]) for vertex in range(count)]
    for i, (one, other) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        expected = costs[one][other]
        if one == other:  # a round: over any arc, and back
            expected = min(
                (cost + costs[head][one] for tail, head, cost, *_ in arcs if tail == one),
                default=NO_WAY,
            )
        if expected >= NO_WAY:
            assert ways.cost_ms[i] == NO_WAY
            assert hierarchy.unpack(one, other).tolist() == []
            continue
        path = hierarchy.unpack(one, other).tolist()
        assert (path[0], path[-1]) == (one, other)
        assert len(path) > 1
        along = np.sum([weights[step] for step in pairwise(path)], axis=0)
        assert along[0] == expected
        steps = hierarchy.measure_way(np.array(path, np.int32))
        assert list(zip(*(step.tolist() for step in steps), strict=True)) == [
            tuple(weights[step][:2]) for step in pairwise(path)
        ]
        assert along.tolist() == [ways.cost_ms[i], ways.time_ms[i], ways.length_cm[i]]


@given(graphs(), st.data())
def test_positions_with_several_places_take_the_best(graph, data):
    count, arcs = graph
    place = st.tuples(
        st.integers(0, count - 1), st.integers(-20, 20), st.integers(0, 9), st.integers(0, 9)
    )
    positions = st.lists(st.lists(place, max_size=5), min_size=1, max_size=4)
    origins, destinations = data.draw(positions), data.draw(positions)
    table = build(count, arcs).find_table(start(*origins), start(*destinations), no_deadline())
    for row, origin in enumerate(origins):
        costs = dijkstra(count, arcs, [(vertex, cost) for vertex, cost, *_ in origin])
        for column, destination in enumerate(destinations):
            expected = min(
                (costs[v] + cost for v, cost, *_ in destination if costs[v] < NO_WAY),
                default=NO_WAY,
            )
            assert table.cost_ms[row, column] == expected


@given(st.integers(2, 60), st.randoms(use_true_random=False))
def test_times_and_lengths_of_tables_are_those_of_the_ways(count, random):
    # Costs so different that no two ways cost the same.
    pairs = {(random.randrange(count), random.randrange(count)) for _ in range(3 * count)}
    arcs = [
        (one, other, random.randrange(1, 10**6), random.randrange(10**5), random.randrange(10**5))
        for one, other in pairs
        if one != other
    ]
    hierarchy = build(count, arcs)
    table = hierarchy.find_table(at(*range(count)), at(*range(count)), no_deadline())
    weights = {(tail, head): weight for tail, head, *weight in arcs}
    for one, other in np.argwhere(table.cost_ms < NO_WAY).tolist():
        if one == other:
            continue
        path = hierarchy.unpack(one, other).tolist()
        along = np.sum([weights[step] for step in pairwise(path)], axis=0)
        cell = table.cost_ms[one, other], table.time_ms[one, other], table.length_cm[one, other]
        assert along.tolist() == list(cell)


def test_more_rows_and_columns_than_one_call_takes():
    count = 1100
    arcs = [(i, i + 1, 1, 2, 3) for i in range(count - 1)]
    table = build(count, arcs).find_table(
        at(*range(0, count, 20)), at(*range(count)), no_deadline()
    )
    expected = np.arange(count)[None, :] - np.arange(0, count, 20)[:, None]
    assert (table.cost_ms == np.where(expected < 0, NO_WAY, expected)).all()
    assert (table.length_cm[expected >= 0] == 3 * expected[expected >= 0]).all()


def test_a_search_ends_at_its_deadline():
    hierarchy = build(2, [(0, 1, 1, 1, 1)])
    late = Deadline(0.0)
    with pytest.raises(Timeout):
        hierarchy.find_table(at(0), at(1), late)
    with pytest.raises(Timeout):
        hierarchy.find_ways(np.array([0], np.int32), np.array([1], np.int32), late)


@pytest.mark.parametrize("vertex", [-1, 2])
def test_vertices_that_are_none_are_refused(vertex):
    hierarchy = build(2, [(0, 1, 1, 1, 1)])
    with pytest.raises(ValueError, match="vertex"):
        hierarchy.find_table(at(vertex), at(1), no_deadline())
    with pytest.raises(ValueError, match="vertex"):
        hierarchy.unpack(0, vertex)
    with pytest.raises(ValueError, match="out of the graph"):
        build(2, [(0, vertex, 1, 1, 1)])
    with pytest.raises(ValueError, match="less than nothing"):
        build(2, [(0, 1, -1, 1, 1)])


def test_what_takes_weeks_is_no_way():
    day_ms = 24 * 3600 * 1000
    hierarchy = build(12, [(i, i + 1, day_ms, day_ms, 1) for i in range(11)])
    table = hierarchy.find_table(at(0), at(*range(12)), no_deadline())
    days = table.cost_ms[0] / day_ms
    assert days[:10].tolist() == list(range(10))
    assert (table.cost_ms[0, 10:] == NO_WAY).all()
    # An end that takes something off does not make a way of none.
    takes_off = start([(1, -day_ms, 0, 0)])
    assert hierarchy.find_table(takes_off, at(0), no_deadline()).cost_ms.tolist() == [[NO_WAY]]
    with pytest.raises(ValueError, match="too little"):
        hierarchy.find_table(start([(1, -4 * day_ms, 0, 0)]), at(0), no_deadline())


def test_an_order_holds_each_road_once_and_parts_a_grid_by_its_middle():
    size = 16
    x, y = (values.ravel().astype(np.int32) for values in np.mgrid[:size, : 2 * size])
    crossing = np.arange(len(x)).reshape(size, 2 * size)
    tail = np.concatenate([crossing[:, :-1].ravel(), crossing[:-1].ravel()]).astype(np.int32)
    head = np.concatenate([crossing[:, 1:].ravel(), crossing[1:].ravel()]).astype(np.int32)
    order = find_order(tail, head, 1000 * x, 1000 * y)
    assert sorted(order.tolist()) == list(range(len(tail)))
    last = order[-size:]  # a cut across the shorter side, somewhere in the middle
    assert (x[tail[last]] == x[head[last]]).all()
    assert len(set(y[tail[last]].tolist())) == 1
    assert size / 2 <= y[tail[last[0]]] < 1.5 * size


@given(
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60),
    st.integers(1, 50),
)
def test_roads_of_any_kind_are_ordered(count, pairs, spread):
    ends = np.array(pairs, np.int32).reshape(-1, 2) % count
    x = (np.arange(count, dtype=np.int32) * 7919) % spread  # many crossings at one place
    order = find_order(ends[:, 0].copy(), ends[:, 1].copy(), x, -x)
    assert sorted(order.tolist()) == list(range(len(ends)))


# ---- Roads with rules ----


def make_roads(random, crossings, roads):
    """Roads of two directions or one, private ones among them; turns; and forbidden sequences."""
    ends = [(random.randrange(crossings), random.randrange(crossings)) for _ in range(roads)]
    start = np.array([end for a, b in ends for end in (a, b)])
    end = np.array([end for a, b in ends for end in (b, a)])
    private = np.repeat([random.random() < 0.25 for _ in ends], 2)
    usable = np.ones(2 * roads, bool)
    usable[1::2] = [random.random() < 0.7 for _ in ends]  # the others are one-ways
    # Some are ferries, which cost much more.
    cost = np.array([random.randrange(1, 50) * random.choice((1, 1, 1, 40)) for _ in start])
    turns = [
        (a, b)
        for a in np.flatnonzero(usable).tolist()
        for b in np.flatnonzero(usable).tolist()
        if end[a] == start[b] and a != b ^ 1 and random.random() < 0.9  # a tenth is forbidden
    ]
    after = {}
    for a, b in turns:
        after.setdefault(a, []).append(b)
    sequences = []
    for a, b in random.sample(turns, min(len(turns), 6)):
        # No sign forbids to take a road around a block and the same road again.
        onward = [edge for edge in after.get(b, ()) if len({a, b, edge}) == 3]
        if onward:
            sequences.append([a, b, random.choice(onward)])
    graph = SimpleNamespace(
        edges=SimpleNamespace(not_thru=np.zeros(2 * roads), destination_only=private.astype(int)),
        start=start, end=end, opposing=np.arange(2 * roads) ^ 1, limits=np.empty((0, 4), int),
        restrictions=[(1, path) for path in sequences], junction=np.arange(crossings),
        lon=np.array([random.random() for _ in range(crossings)]),
        lat=np.array([random.random() for _ in range(crossings)]),
    )  # fmt: skip
    return graph, turns, usable, cost


def drive(graph, turns, usable, cost, origin):
    """Least costs to edges' begins by a search that remembers the last two edges.

    Private roads are driven at the beginning and at the end only: in stages 0, 1 (public) and 2.
    """
    private = graph.edges.destination_only == 1
    forbidden = {tuple(path) for _, path in graph.restrictions}
    after = {}
    for a, b, turn_cost in turns:
        after.setdefault(a, []).append((b, turn_cost))
    best, done = {}, set()
    queue = [(0, origin, -1, 0 if private[origin] else 1)]
    while queue:
        spent, edge, before, stage = heapq.heappop(queue)
        if (edge, before, stage) in done:
            continue
        done.add((edge, before, stage))
        best.setdefault(edge, spent)
        for onward, turn_cost in after.get(edge, ()):
            if (before, edge, onward) in forbidden or not usable[onward]:
                continue
            then = stage
            if private[onward] and stage == 1:
                then = 2
            elif not private[onward]:
                then = 1
            if stage == 2 and then == 1:
                continue
            heapq.heappush(queue, (spent + int(cost[edge]) + turn_cost, onward, edge, then))
    return best


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 9), st.integers(1, 18))
def test_ways_obey_the_rules_of_roads(random, crossings, roads):
    graph, pairs, usable, cost = make_roads(random, crossings, roads)
    turn_costs = [random.randrange(0, 9) for _ in pairs]
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    turns = Turns(a, b, graph.start[b], np.zeros(len(a)), np.zeros(len(a), bool))
    private = graph.edges.destination_only == 1
    vertices = make_strict(
        graph,
        turns,
        usable,
        1,
        limited=np.zeros_like(usable),
        private=(private, private),
        avoided=[],
    )
    rank = rank_edges(graph, usable)
    assert sorted(rank[usable].tolist()) == sorted(set(rank[usable].tolist()))
    order = np.argsort(rank[vertices.edge], kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    weight = cost[a[vertices.turn]] + np.array(turn_costs, np.int64)[vertices.turn]
    tail, head = number[vertices.tail], number[vertices.head]
    hierarchy = build(len(order), np.column_stack([tail, head, weight, weight, weight]).tolist())
    edges = np.flatnonzero(usable)
    of_edge = {edge: np.flatnonzero((vertices.edge == edge) & vertices.is_end) for edge in edges}
    origins = at(*number[vertices.begin[edges]].tolist())
    destinations = start(*([(number[v], 0, 0, 0) for v in of_edge[edge]] for edge in edges))
    table = hierarchy.find_table(origins, destinations, no_deadline())
    with_costs = [(one, other, cost) for (one, other), cost in zip(pairs, turn_costs, strict=True)]
    for row, origin in enumerate(edges.tolist()):
        best = drive(graph, with_costs, usable, cost, origin)
        for column, destination in enumerate(edges.tolist()):
            if origin != destination:
                assert table.cost_ms[row, column] == best.get(destination, NO_WAY)
