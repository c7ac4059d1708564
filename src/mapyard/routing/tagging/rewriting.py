"""The pass over a file: what nobody travels on is left out, most roads go through as they are."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Final, cast

import osmium
from osmium.osm import mutable

from mapyard.routing.tagging.barriers import LIMITS, read_hours, read_limits, tag_node
from mapyard.routing.tagging.lines import Line, find_lines
from mapyard.routing.tagging.pieces import make_piece_id
from mapyard.routing.tagging.turns import Member, split_members, tag_turn
from mapyard.routing.tagging.ways import ROAD_KEYS, tag_way

type Tags = dict[str, str]
#: By way and its first or last node.
type Pieces = dict[tuple[int, int], int]

#: Only nodes with one of these keys are looked at; all others are copied below.
_NODE_KEYS: Final = (
    "barrier", "access", "vehicle", "motor_vehicle", "motorcar", "bicycle", "foot", "hgv", "psv",
    "bus", "taxi", "moped", "motorcycle", "locked", "kerb", *LIMITS,
)  # fmt: skip


def rewrite(pbf: Path, changed: Path) -> None:
    """Write `changed`: the roads of `pbf` with the tags that the engine is to read.

    Nodes, ways and relations keep their ids and order. What lies over areas goes through files
    beside `changed`; in memory are the nodes that limit ways, and the ways that these cut.
    """
    changed.unlink(missing_ok=True)
    # A working file that is read three times: what packs fastest.
    target = osmium.io.File(str(changed), "pbf,pbf_compression=lz4,add_metadata=false")
    with (
        tempfile.TemporaryDirectory(prefix="areas-", dir=changed.parent) as folder,
        osmium.SimpleWriter(target) as writer,
    ):
        gates = _rewrite_nodes(pbf, writer)
        pieces = _rewrite_ways(pbf, writer, find_lines(pbf, Path(folder)), gates)
        _rewrite_relations(pbf, writer, pieces)


def _rewrite_nodes(pbf: Path, writer: osmium.SimpleWriter) -> dict[int, Tags]:
    """Write the nodes; return what some say of the ways beside them: hours of gates, limits."""
    gates: dict[int, Tags] = {}
    known: dict[tuple[tuple[str, str], ...], Tags] = {}  # many say the same
    nodes = osmium.FileProcessor(pbf, osmium.osm.NODE).with_filter(
        osmium.filter.KeyFilter(*_NODE_KEYS)
    )
    for node in cast("Iterable[osmium.osm.Node]", nodes.handler_for_filtered(writer)):
        tags = dict(node.tags)
        changed = tag_node(tags)
        writer.add_node(node if changed == tags else node.replace(tags=changed))
        said = read_limits(tags)
        hours = read_hours(tags)
        if hours is not None:
            said["opening_hours"] = hours
        if said:
            gates[node.id] = known.setdefault(tuple(said.items()), said)
    return gates


def _rewrite_ways(
    pbf: Path, writer: osmium.SimpleWriter, lines: Iterable[Line], gates: dict[int, Tags]
) -> Pieces:
    """Write the ways; return the pieces that a way begins and ends with, where it is cut."""
    cut: list[tuple[int, list[int], Tags]] = []
    pieces: Pieces = {}
    waiting = iter(lines)
    line = next(waiting, None)
    ways = osmium.FileProcessor(pbf, osmium.osm.WAY).with_filter(
        osmium.filter.KeyFilter(*ROAD_KEYS)
    )
    for way in cast("Iterable[osmium.osm.Way]", ways):
        # Ids rise; one that several ways have, the engine takes for one way in several pieces.
        while line is not None and line.way_id < way.id:
            _write_line(line, writer)
            line = next(waiting, None)
        tags = dict(way.tags)
        changed = tag_way(tags)
        if changed is None:
            continue
        refs = [node.ref for node in way.nodes] if gates else []
        if not gates.keys().isdisjoint(refs):
            number = 0
            for part, said in split_at_gates(refs, gates):
                if not said:
                    writer.add_way(way.replace(tags=changed, nodes=part))
                    continue
                number += 1
                piece_id = make_piece_id(way.id, number)
                cut.append((piece_id, part, tag_way(tags | said) or {}))
                pieces |= {(way.id, end): piece_id for end in {refs[0], refs[-1]} & set(part)}
            continue
        writer.add_way(way if changed == tags else way.replace(tags=changed))
    while line is not None:
        _write_line(line, writer)
        line = next(waiting, None)
    for piece_id, part, tags in sorted(cut, key=itemgetter(0)):
        writer.add_way(mutable.Way(id=piece_id, nodes=part, tags=tags, version=1))
    return pieces


def split_at_gates(refs: list[int], gates: dict[int, Tags]) -> list[tuple[list[int], Tags]]:
    """Return a way in pieces: those beside a gate with what it says; the engine hears of ways."""
    parts: list[tuple[list[int], Tags]] = []
    for one, other in pairwise(refs):
        said = gates.get(other, {}) | gates.get(one, {})
        if parts and parts[-1][1] == said:
            parts[-1][0].append(other)
        else:
            parts.append(([one, other], said))
    return parts


def _write_line(line: Line, writer: osmium.SimpleWriter) -> None:
    tags = tag_way(line.tags)
    if tags is not None:
        writer.add_way(mutable.Way(id=line.way_id, nodes=list(line.ends), tags=tags, version=1))


def _rewrite_relations(pbf: Path, writer: osmium.SimpleWriter, pieces: Pieces) -> None:
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
        named = _name_pieces(members, pieces)
        parts = split_members(named)
        if changed is tags and named == members and len(parts) <= 1:
            writer.add_relation(relation)
            continue
        for part in parts or [named]:
            writer.add_relation(relation.replace(tags=changed, members=part))


def _name_pieces(members: list[Member], pieces: Pieces) -> list[Member]:
    """Return the members of a turn, with the pieces of ways that meet at its node."""
    vias = [ref for kind, ref, role in members if kind == "n" and role == "via"]
    if len(vias) != 1:
        return members
    return [
        (kind, pieces.get((ref, vias[0]), ref) if kind == "w" else ref, role)
        for kind, ref, role in members
    ]
