"""The pass over a file: what nobody travels on is left out, most roads go through as they are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

import osmium
from osmium.osm import mutable

from mapyard.routing.tagging.areas import Line, find_lines
from mapyard.routing.tagging.barriers import read_hours, tag_node
from mapyard.routing.tagging.turns import split_members, tag_turn
from mapyard.routing.tagging.ways import ROAD_KEYS, tag_way

#: Only nodes with one of these keys are looked at; all others are copied below.
_NODE_KEYS: Final = (
    "barrier", "access", "vehicle", "motor_vehicle", "motorcar", "bicycle", "foot", "hgv", "psv",
    "bus", "taxi", "moped", "motorcycle", "locked",
)  # fmt: skip


def rewrite(pbf: Path, changed: Path) -> None:
    """Write `changed`: the roads of `pbf` with the tags that the engine is to read.

    Nodes, ways and relations keep their ids and order. Memory does not grow with the file.
    """
    changed.unlink(missing_ok=True)
    # A working file that is read three times: what packs fastest.
    target = osmium.io.File(str(changed), "pbf,pbf_compression=lz4,add_metadata=false")
    with osmium.SimpleWriter(target) as writer:
        gates = _rewrite_nodes(pbf, writer)
        _rewrite_ways(pbf, writer, find_lines(pbf), gates)
        _rewrite_relations(pbf, writer)


def _rewrite_nodes(pbf: Path, writer: osmium.SimpleWriter) -> dict[int, str]:
    """Write the nodes; return the hours of gates that are open at certain hours."""
    gates: dict[int, str] = {}
    nodes = osmium.FileProcessor(pbf, osmium.osm.NODE).with_filter(
        osmium.filter.KeyFilter(*_NODE_KEYS)
    )
    for node in cast("Iterable[osmium.osm.Node]", nodes.handler_for_filtered(writer)):
        tags = dict(node.tags)
        changed = tag_node(tags)
        writer.add_node(node if changed == tags else node.replace(tags=changed))
        hours = read_hours(tags)
        if hours is not None:
            gates[node.id] = hours
    return gates


def _rewrite_ways(
    pbf: Path, writer: osmium.SimpleWriter, lines: dict[int, list[Line]], gates: dict[int, str]
) -> None:
    waiting = sorted(lines)[::-1]
    ways = osmium.FileProcessor(pbf, osmium.osm.WAY).with_filter(
        osmium.filter.KeyFilter(*ROAD_KEYS)
    )
    for way in cast("Iterable[osmium.osm.Way]", ways):
        # Ids rise; one that several ways have, the engine takes for one way in several pieces.
        while waiting and waiting[-1] < way.id:
            _write_lines(waiting[-1], lines[waiting.pop()], writer)
        tags = dict(way.tags)
        changed = tag_way(tags)
        if changed is None:
            continue
        refs = [node.ref for node in way.nodes] if gates else []
        if not gates.keys().isdisjoint(refs):
            for part, hours in split_at_gates(refs, gates):
                timed = tag_way(tags if hours is None else tags | {"opening_hours": hours})
                writer.add_way(way.replace(tags=timed, nodes=part))
            continue
        writer.add_way(way if changed == tags else way.replace(tags=changed))
    for way_id in waiting[::-1]:
        _write_lines(way_id, lines[way_id], writer)


def split_at_gates(refs: list[int], gates: dict[int, str]) -> list[tuple[list[int], str | None]]:
    """Return a way in pieces: those beside a gate with its hours, which the engine has for ways."""
    parts: list[tuple[list[int], str | None]] = []
    for one, other in pairwise(refs):
        hours = gates.get(one, gates.get(other))
        if parts and parts[-1][1] == hours:
            parts[-1][0].append(other)
        else:
            parts.append(([one, other], hours))
    return parts


def _write_lines(way_id: int, lines: list[Line], writer: osmium.SimpleWriter) -> None:
    for line in lines:
        tags = tag_way(line.tags)
        if tags is not None:
            writer.add_way(mutable.Way(id=way_id, nodes=list(line.ends), tags=tags, version=1))


def _rewrite_relations(pbf: Path, writer: osmium.SimpleWriter) -> None:
    relations = osmium.FileProcessor(pbf, osmium.osm.RELATION).with_filter(
        osmium.filter.KeyFilter("type")
    )
    for relation in cast("Iterable[osmium.osm.Relation]", relations):
        if relation.tags.get("type") != "restriction":
            writer.add_relation(relation)
            continue
        tags = dict(relation.tags)
        changed = tag_turn(tags)
        members = [(member.type, member.ref, member.role) for member in relation.members]
        parts = split_members(members)
        if changed is tags and len(parts) <= 1:
            writer.add_relation(relation)
            continue
        for part in parts or [members]:
            writer.add_relation(relation.replace(tags=changed, members=part))
