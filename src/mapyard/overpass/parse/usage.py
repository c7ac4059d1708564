"""What a query most likely does not mean: sets that are never written, and other traps."""

from __future__ import annotations

from collections.abc import Iterator

from mapyard.overpass.parse.cursor import suggest
from mapyard.overpass.parse.syntax import (
    DEFAULT_SET,
    AreaFilter,
    AroundFilter,
    BoxFilter,
    Node,
    Out,
    Program,
    Query,
    Union,
)


def list_nodes(program: Program) -> list[Node]:
    """Return all nodes of the statements."""
    return list(iter_nodes(program.statements))


def find_unwritten(nodes: list[Node]) -> list[tuple[int, str]]:
    """Return the places where sets are read that are never written: they are empty."""
    read: list[tuple[str, int]] = []
    written = {DEFAULT_SET}
    for node in nodes:
        name = getattr(node, "source", None)
        if name is not None:
            read.append((name, node.at))
        into = getattr(node, "into", None)
        if into is not None:
            written.add(into)
    found = []
    for name, at in read:
        if name not in written:
            hint = suggest(name, written - {DEFAULT_SET}) or f"write results into it by ->.{name}"
            found.append((at, f"the set .{name} is never written, so it is empty ({hint})"))
    return found


def iter_nodes(root: object) -> Iterator[Node]:
    """Yield all nodes of a syntax tree, without recursion."""
    pending = [root]
    while pending:
        item = pending.pop()
        if isinstance(item, tuple):
            pending.extend(reversed(item))
        elif isinstance(item, Node):
            yield item
            pending.extend(getattr(item, field) for field in reversed(item.__struct_fields__))


_TRAP = (
    "this (area) uses what the member before it found, not the area before the union; name it: "
    "area[…]->.a; (…(area.a); …(area.a););"
)


def find_traps(nodes: list[Node]) -> list[tuple[int, str]]:
    """Return places where the language does what hardly anyone means, as (offset, message)."""
    traps = [
        (member.at, _TRAP)
        for node in nodes
        if isinstance(node, Union)
        for member in node.members[1:]
        if isinstance(member, Query) and any(map(_uses_default_area, member.filters))
    ]
    traps += find_unwritten(nodes)
    if not any(isinstance(node, Out) for node in nodes):
        traps.append((0, "the query has no out statement, so nothing is shown"))
    return traps


def _uses_default_area(item: Node) -> bool:
    return isinstance(item, AreaFilter) and not item.ids and item.source == DEFAULT_SET


def find_far_boxes(
    nodes: list[Node], box: BoxFilter | None, extent: list[float] | tuple[float, ...] | None
) -> list[tuple[int, str]]:
    """Return the places of boxes and points that lie outside of the data, with what may be wrong.

    `box` is the global one, `extent` west, south, east, north of the data.
    """
    if not extent:
        return []
    found = []
    for node in (*nodes, box):
        if isinstance(node, BoxFilter):
            what, corners = "box", (node.south, node.west, node.north, node.east)
        elif isinstance(node, AroundFilter) and node.points:
            what, corners = "point", (*node.points[0], *node.points[0])
        else:
            continue
        if _meets(corners, extent):
            continue
        south, west, north, east = corners
        swapped = _meets((west, south, east, north), extent)
        west, south, east, north = extent
        hint = (
            "latitude and longitude look swapped: the order is south,west,north,east"
            if swapped
            else f"the data reaches from {south:.5g},{west:.5g} to {north:.5g},{east:.5g}"
        )
        found.append((node.at, f"this {what} lies outside of the data ({hint})"))
    return found


def _meets(corners: tuple[float, ...], extent: list[float] | tuple[float, ...]) -> bool:
    south, west, north, east = corners
    if south > extent[3] or north < extent[1]:
        return False
    if west > east:  # over the antimeridian
        return west <= extent[2] or east >= extent[0]
    return west <= extent[2] and east >= extent[0]
