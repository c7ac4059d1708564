"""Checks that every set a query reads is written somewhere: a mistyped name is an error."""

from __future__ import annotations

from collections.abc import Iterator

from mapyard.overpass.cursor import suggest
from mapyard.overpass.source import Source
from mapyard.overpass.syntax import DEFAULT_SET, Node, Program


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
