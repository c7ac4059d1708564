"""Checks that every set a query reads is written somewhere: a mistyped name is an error."""

from __future__ import annotations

from collections.abc import Iterator

from mapyard.overpass.parse.cursor import suggest
from mapyard.overpass.parse.syntax import DEFAULT_SET, AreaFilter, Node, Out, Program, Query, Union
from mapyard.overpass.parse.text import Source


def check_sets(source: Source, program: Program) -> None:
    """Raise for the first set that is read but never written."""
    read: list[tuple[str, int]] = []
    written = {DEFAULT_SET}
    for node in _iter_nodes(program.statements):
        name = getattr(node, "source", None)
        if name is not None:
            read.append((name, node.at))
        into = getattr(node, "into", None)
        if into is not None:
            written.add(into)
    for name, at in read:
        if name not in written:
            hint = suggest(name, written - {DEFAULT_SET}) or f"write results into it by ->.{name}"
            raise source.error(at, f"the set .{name} is never written", hint)


def _iter_nodes(root: object) -> Iterator[Node]:
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


def find_traps(program: Program) -> list[tuple[int, str]]:
    """Return places where the language does what hardly anyone means, as (offset, message)."""
    nodes = list(_iter_nodes(program.statements))
    traps = [
        (member.at, _TRAP)
        for node in nodes
        if isinstance(node, Union)
        for member in node.members[1:]
        if isinstance(member, Query) and any(map(_uses_default_area, member.filters))
    ]
    if not any(isinstance(node, Out) for node in nodes):
        traps.append((0, "the query has no out statement, so nothing is shown"))
    return traps


def _uses_default_area(item: Node) -> bool:
    return isinstance(item, AreaFilter) and not item.ids and item.source == DEFAULT_SET
