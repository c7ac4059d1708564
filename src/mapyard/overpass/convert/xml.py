"""From the tree of a query to the XML form."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import quoteattr

from mapyard.overpass.convert.ql import write_box, write_number, write_settings, write_time
from mapyard.overpass.parse.syntax import (
    AreaFilter,
    AroundFilter,
    BoxFilter,
    ChangedFilter,
    Complete,
    Difference,
    Filter,
    Foreach,
    IdFilter,
    IsIn,
    Item,
    KeyFilter,
    KeyPatternFilter,
    Local,
    MapToArea,
    NewerFilter,
    Node,
    Out,
    PatternFilter,
    PivotFilter,
    PolygonFilter,
    Program,
    Query,
    Recurse,
    RecursionFilter,
    SetFilter,
    Settings,
    Statement,
    TagFilter,
    Union,
    UserFilter,
)
from mapyard.overpass.parse.text import Source

_DIRECTIONS: Final = {">": "down", ">>": "down-rel", "<": "up", "<<": "up-rel"}
_BACKWARDS: Final = {
    ("bn", "way"): "node-way", ("bn", "relation"): "node-relation",
    ("bw", "relation"): "way-relation", ("br", "relation"): "relation-backwards",
    ("w", "node"): "way-node",
}  # fmt: skip
_MODES: Final = {"ids": "ids_only", "skel": "skeleton"}
_GEOMETRIES: Final = {"geom": "full", "bb": "bounds", "center": "center"}


def write_xml(source: Source, program: Program) -> str:
    """Return the query in the XML form; raises Unsupported for what that has no words for."""
    writer = _Writer(source)
    head = _attributes(_settings(program.settings))
    body = "".join(writer.write(statement, "  ") for statement in program.statements)
    return f"<osm-script{head}>\n{body}</osm-script>\n"


def _attributes(values: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(text)}" for name, text in values.items())


def _settings(settings: Settings) -> dict[str, str]:
    found = {}
    if settings.output is not None:
        found["output"] = settings.output
        if settings.csv_columns:
            text = write_settings(Settings(output="csv", csv_columns=settings.csv_columns,
                                           csv_header=settings.csv_header,
                                           csv_separator=settings.csv_separator))  # fmt: skip
            found["output-config"] = text.removeprefix("[out:csv").removesuffix("]")
    if settings.timeout_s is not None:
        found["timeout"] = write_number(settings.timeout_s)
    if settings.maxsize_bytes is not None:
        found["element-limit"] = str(settings.maxsize_bytes)
    if settings.box is not None:
        found["bbox"] = write_box(settings.box)
    return found


class _Writer:
    def __init__(self, source: Source) -> None:
        self._source = source

    def _element(
        self, indent: str, name: str, values: dict[str, str], children: list[str] | None = None
    ) -> str:
        own = {k: v for k, v in values.items() if v and not (k in ("into", "from") and v == "_")}
        if not children:
            return f"{indent}<{name}{_attributes(own)}/>\n"
        inner = "".join(children)
        return f"{indent}<{name}{_attributes(own)}>\n{inner}{indent}</{name}>\n"

    def write(self, statement: Statement, indent: str) -> str:
        deeper = indent + "  "

        def block(body: tuple[Statement, ...]) -> list[str]:
            return [self.write(one, deeper) for one in body]

        match statement:
            case Query():
                children = [self._filter(f, statement.kind, deeper) for f in statement.filters]
                values = {"type": statement.kind, "into": statement.into}
                return self._element(indent, "query", values, children)
            case Union():
                values = {"into": statement.into}
                return self._element(indent, "union", values, block(statement.members))
            case Difference():
                members = block((statement.first, statement.second))
                return self._element(indent, "difference", {"into": statement.into}, members)
            case Item():
                values = {"set": statement.source, "into": statement.into}
                return self._element(indent, "item", values)
            case Recurse():
                values = {"type": _DIRECTIONS[statement.direction], "from": statement.source,
                          "into": statement.into}  # fmt: skip
                return self._element(indent, "recurse", values)
            case Foreach():
                values = {"from": statement.source, "into": statement.into}
                return self._element(indent, "foreach", values, block(statement.body))
            case Complete():
                values = {"maxnum": str(statement.limit), "from": statement.source,
                          "into": statement.into}  # fmt: skip
                return self._element(indent, "complete", values, block(statement.body))
            case IsIn():
                values = {"from": statement.source, "into": statement.into}
                if statement.point is not None:
                    lat, lon = map(write_number, statement.point)
                    values = {"lat": lat, "lon": lon, "into": statement.into}
                return self._element(indent, "coord-query", values)
            case MapToArea():
                values = {"from": statement.source, "into": statement.into}
                return self._element(indent, "map-to-area", values)
            case Local():
                values = {"type": statement.detail, "from": statement.source,
                          "into": statement.into}  # fmt: skip
                return self._element(indent, "localize", values | _sides(statement.box))
            case Out():
                return self._element(indent, "print", _print(statement))
            case _:
                raise self._refuse(statement, type(statement).__name__.lower())

    def _refuse(self, node: Node, what: str) -> Exception:
        return self._source.unsupported(
            node.at, f"{what} in the XML form", "convert to mapql or compact"
        )

    def _filter(self, item: Filter, kind: str, indent: str) -> str:
        name, values = self._parts(item, kind)
        return self._element(indent, name, values)

    def _parts(self, item: Filter, kind: str) -> tuple[str, dict[str, str]]:
        match item:
            case KeyFilter() | TagFilter() | PatternFilter() | KeyPatternFilter():
                return "has-kv", _has_kv(item)
            case BoxFilter():
                return "bbox-query", _sides(item)
            case AroundFilter():
                values = {"from": item.source, "radius": write_number(item.radius_m)}
                if item.points:
                    line = ",".join(f"{write_number(a)},{write_number(b)}" for a, b in item.points)
                    values["polyline"] = line
                return "around", values
            case PolygonFilter():
                points = " ".join(f"{write_number(a)} {write_number(b)}" for a, b in item.points)
                return "polygon-query", {"bounds": points}
            case AreaFilter() if len(item.ids) <= 1:
                return "area-query", {"from": item.source, "ref": "".join(map(str, item.ids))}
            case IdFilter():
                names = ("ref", *(f"ref_{n}" for n in range(1, len(item.ids))))
                return "id-query", {
                    "type": kind, **dict(zip(names, map(str, item.ids), strict=True))
                }  # fmt: skip
            case PivotFilter():
                return "pivot", {"from": item.source}
            case SetFilter():
                return "item", {"set": item.source}
            case UserFilter():
                name, texts = ("name", item.names) if item.names else ("uid", item.uids)
                values = {name if not n else f"{name}_{n}": str(t) for n, t in enumerate(texts)}
                return "user", values | ({"type": "touched"} if item.touched else {})
            case NewerFilter():
                return "newer", {"than": write_time(item.since_s)}
            case ChangedFilter():
                until = "" if item.until_s is None else write_time(item.until_s)
                return "changed", {"since": write_time(item.since_s), "until": until}
            case RecursionFilter() if not item.positions:
                found = _DIRECTIONS.get(item.direction) or _BACKWARDS.get((item.direction, kind))
                if item.direction == "r":
                    found = f"relation-{kind}"
                if found is not None:
                    values = {"type": found, "from": item.source, "role": item.role or ""}
                    if item.role is not None:
                        values["role-restricted"] = "yes"
                    return "recurse", values
        raise self._refuse(item, "this filter")


def _has_kv(item: KeyFilter | TagFilter | PatternFilter | KeyPatternFilter) -> dict[str, str]:
    values = {"modv": "not"} if item.negated else {}
    if isinstance(item, KeyPatternFilter):
        values |= {"regk": item.key_pattern, "regv": item.pattern}
    else:
        values["k"] = item.key
    if isinstance(item, TagFilter):
        values["v"] = item.value
    elif isinstance(item, PatternFilter):
        values["regv"] = item.pattern
    if isinstance(item, PatternFilter | KeyPatternFilter) and item.ignore_case:
        values["case"] = "ignore"
    return values


def _print(statement: Out) -> dict[str, str]:
    values = {
        "from": statement.source,
        "mode": "" if statement.mode == "body" else _MODES.get(statement.mode, statement.mode),
        "geometry": _GEOMETRIES.get(statement.geometry, ""),
        "order": "quadtile" if statement.order == "qt" else "",
        "limit": "" if statement.limit is None else str(statement.limit),
        "ids": "" if statement.show_ids else "no",
    }
    return values | _sides(statement.box)


def _sides(box: BoxFilter | None) -> dict[str, str]:
    if box is None:
        return {}
    sides = {"s": box.south, "w": box.west, "n": box.north, "e": box.east}
    return {side: write_number(value) for side, value in sides.items()}
