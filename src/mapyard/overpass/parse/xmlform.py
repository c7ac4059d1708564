"""The XML form of the language (`<osm-script>`), written over into Overpass QL.

Both forms are one language in the original; saved queries of QuickOSM, JOSM and overpass-turbo
still use it. What it writes is parsed like any other query: there is one tree and one meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final
from xml.parsers import expat

from mapyard.errors import InvalidQuery, Unsupported

_BEGIN: Final = re.compile(r"\s*<(?:[A-Za-z]|\?xml|!--|!DOCTYPE)")
#: How deep elements may be, and how many there may be.
_MAX_DEPTH: Final = 500
_RECURSIONS: Final = {
    "way-node": ("node", "w"), "relation-node": ("node", "r"), "relation-way": ("way", "r"),
    "relation-relation": ("rel", "r"), "relation-nwr": ("nwr", "r"), "relation-nw": ("nw", "r"),
    "relation-wr": ("wr", "r"), "relation-nr": ("nr", "r"), "node-way": ("way", "bn"),
    "node-relation": ("rel", "bn"), "way-relation": ("rel", "bw"),
    "relation-backwards": ("rel", "br"),
}  # fmt: skip
_DIRECTIONS: Final = {"down": ">", "down-rel": ">>", "up": "<", "up-rel": "<<"}
_MODES: Final = {
    "": "", "body": "", "ids_only": "ids", "ids": "ids", "skeleton": "skel", "skel": "skel",
    "tags": "tags", "tags_only": "tags", "meta": "meta", "count": "count",
}  # fmt: skip
_GEOMETRIES: Final = {
    "": "", "skeleton": "", "full": "geom", "bounds": "bb", "center": "center",
}  # fmt: skip
_HISTORY: Final = ("date", "from", "augmented", "compare-mode")


class Element:
    """An element of the query with the place where it begins."""

    def __init__(self, name: str, attributes: dict[str, str], line: int, column: int) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Element] = []
        self.line = line
        self.column = column

    def get(self, name: str, default: str = "") -> str:
        """Return an attribute."""
        return self.attributes.get(name, default)

    def fail(self, message: str, hint: str = "") -> InvalidQuery:
        """Return the error for this element."""
        return InvalidQuery.at(message, self.line, self.column, hint)


def is_xml(text: str) -> bool:
    """Return whether a query is written in the XML form."""
    return _BEGIN.match(text) is not None


def write_ql(text: str) -> str:
    """Return the query in Overpass QL; raises InvalidQuery with line and column."""
    root = _read(text)
    if root.name != "osm-script":
        return _statement(root) + "\n"
    settings = _settings(root)
    body = "\n".join(_statement(child) for child in root.children)
    return f"{settings};\n{body}\n" if settings else f"{body}\n"


def _read(text: str) -> Element:
    parser = expat.ParserCreate()
    stack: list[Element] = []
    roots: list[Element] = []

    def begin(name: str, attributes: dict[str, str]) -> None:
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        element = Element(name, attributes, line, column)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)
        if len(stack) > _MAX_DEPTH:
            raise element.fail(f"nested deeper than {_MAX_DEPTH} levels", "split the query")

    def declare(*_: Any) -> None:
        raise InvalidQuery.at("entities are not read", parser.CurrentLineNumber, 1)

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: stack.pop()
    parser.EntityDeclHandler = declare
    try:
        parser.Parse(text.strip().encode(), True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code) or "not well-formed"
        raise InvalidQuery.at(
            f"the XML form is not well-formed: {message}", error.lineno, error.offset + 1
        ) from None
    return roots[0]


def _settings(root: Element) -> str:
    for name in _HISTORY:
        if name in root.attributes:
            raise Unsupported(
                f"line {root.line}: {name}=… is not served here; the data holds only the newest "
                "version of each element; leave it out",
                details={"line": root.line, "column": root.column, "statement": name},
            )
    found = []
    output = root.get("output")
    if output:
        config = root.get("output-config")
        found.append(f"[out:{output}{config}]")
    if root.get("timeout"):
        found.append(f"[timeout:{root.get('timeout')}]")
    if root.get("element-limit"):
        found.append(f"[maxsize:{root.get('element-limit')}]")
    if root.get("bbox"):
        found.append(f"[bbox:{root.get('bbox')}]")
    return "".join(found)


# Statements --------------------------------------------------------------------------------------


def _statement(element: Element) -> str:
    write = _STATEMENTS.get(element.name)
    if write is None:
        raise Unsupported(
            f"line {element.line}, column {element.column}: <{element.name}> is not served in the "
            "XML form; write the query in Overpass QL",
            details={"line": element.line, "column": element.column, "statement": element.name},
        )
    return write(element)


def _block(element: Element, indent: str = "  ") -> str:
    lines = [_statement(child) for child in element.children if child.name != "else"]
    return "".join(f"\n{indent}{line}" for text in lines for line in text.split("\n"))


def _into(element: Element) -> str:
    name = element.get("into", "_")
    return "" if name == "_" else f"->.{_set_name(element, name)}"


def _from(element: Element, attribute: str = "from") -> str:
    name = element.get(attribute, "_")
    return "" if name == "_" else f".{_set_name(element, name)}"


def _set_name(element: Element, name: str) -> str:
    if not re.fullmatch(r"\w+", name):
        raise element.fail(f"{name!r} is not the name of a set")
    return name


def _query(element: Element) -> str:
    kind = element.get("type")
    kinds = {"relation": "rel"}
    if kind not in ("node", "way", "relation", "nwr", "nw", "wr", "nr", "derived", "area"):
        raise element.fail('<query> needs type="node", "way", "relation", "nwr" or "area"')
    filters = "".join(_filter(child) for child in element.children)
    return f"{kinds.get(kind, kind)}{filters}{_into(element)};"


def _alone(element: Element) -> str:
    """Write a filter that stands as a statement: it asks for nodes."""
    return f"node{_filter(element)}{_into(element)};"


def _id_query(element: Element) -> str:
    kind = {"relation": "rel"}.get(element.get("type"), element.get("type"))
    if not kind:
        raise element.fail('<id-query> needs type="node", "way", "relation" or "area"')
    return f"{kind}{_filter(element)}{_into(element)};"


def _union(element: Element) -> str:
    return f"({_block(element)}\n){_into(element)};"


def _difference(element: Element) -> str:
    if len(element.children) != 2:
        raise element.fail("<difference> has two statements")
    first, second = (_statement(child) for child in element.children)
    return f"(\n  {first}\n  - {second}\n){_into(element)};"


def _foreach(element: Element) -> str:
    return f"foreach{_from(element)}{_into(element)} {{{_block(element)}\n}};"


def _complete(element: Element) -> str:
    count = element.get("maxnum")
    limit = f"({count})" if count else ""
    return f"complete{limit}{_from(element)}{_into(element)} {{{_block(element)}\n}};"


def _item(element: Element) -> str:
    name = element.get("set") or element.get("from", "_")
    return f".{_set_name(element, name)}{_into(element)};"


def _recurse(element: Element) -> str:
    kind = element.get("type")
    source = _from(element)
    if kind in _DIRECTIONS:
        return f"{source} {_DIRECTIONS[kind]}{_into(element)};".strip()
    if kind not in _RECURSIONS:
        raise element.fail(f"<recurse> does not know the type {kind!r}")
    return f"{_RECURSIONS[kind][0]}{_filter(element)}{_into(element)};"


def _print(element: Element) -> str:
    mode, geometry = element.get("mode"), element.get("geometry")
    if mode not in _MODES or geometry not in _GEOMETRIES:
        raise element.fail(f"<print> does not know {mode or geometry!r}")
    order = {"": "", "id": "asc", "quadtile": "qt"}.get(element.get("order"))
    if order is None:
        raise element.fail('the order of <print> is "id" or "quadtile"')
    box = ""
    if any(element.get(side) for side in "swne"):
        box = "(" + ",".join(element.get(side) for side in ("s", "w", "n", "e")) + ")"
    words = [_MODES[mode], _GEOMETRIES[geometry] + box, order]
    words.append("noids" if element.get("ids") == "no" else "")
    words.append(element.get("limit"))
    text = " ".join(["out", *(word for word in words if word)])
    return f"{_from(element)} {text};".strip()


def _is_in(element: Element) -> str:
    if element.get("lat"):
        return f"is_in({element.get('lat')},{element.get('lon')}){_into(element)};"
    return f"{_from(element)} is_in{_into(element)};".strip()


def _map_to_area(element: Element) -> str:
    return f"{_from(element)} map_to_area{_into(element)};".strip()


def _localize(element: Element) -> str:
    box = _box(element) if any(element.get(side) for side in "swne") else ""
    text = f"{_from(element)} local {element.get('type', 'l')}{box}{_into(element)};"
    return text.strip()


_STATEMENTS: Final[dict[str, Callable[[Element], str]]] = {
    "query": _query, "id-query": _id_query, "union": _union, "difference": _difference,
    "foreach": _foreach, "complete": _complete, "item": _item, "recurse": _recurse,
    "print": _print, "coord-query": _is_in, "map-to-area": _map_to_area,
    "localize": _localize,
    **dict.fromkeys(("bbox-query", "around", "polygon-query", "area-query", "has-kv"), _alone),
}  # fmt: skip

# Filters -----------------------------------------------------------------------------------------


def _filter(element: Element) -> str:
    write = _FILTERS.get(element.name)
    if write is None:
        raise Unsupported(
            f"line {element.line}, column {element.column}: <{element.name}> within <query> is not "
            "served in the XML form; write the query in Overpass QL",
            details={"line": element.line, "column": element.column, "statement": element.name},
        )
    return write(element)


def quote(text: str) -> str:
    """Return a text in quotes, as the language reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + escaped.replace("\t", "\\t") + '"'


def _has_kv(element: Element) -> str:
    no = "!" if element.get("modv") == "not" else ""
    case = ",i" if element.get("case") == "ignore" else ""
    if "regk" in element.attributes:
        return f"[~{_pattern(element.get('regk'))}~{_pattern(element.get('regv'))}{case}]"
    key = quote(element.get("k"))
    if not element.get("k"):
        raise element.fail("<has-kv> needs k=…")
    if "regv" in element.attributes:
        return f"[{key}{no}~{_pattern(element.get('regv'))}{case}]"
    if "v" in element.attributes:
        return f"[{key}{no}={quote(element.get('v'))}]"
    return f"[{no}{key}]"


def _pattern(text: str) -> str:
    # A backslash in a pattern keeps its meaning: see decode_string.
    return '"' + text.replace('"', '\\"') + '"'


def _box(element: Element) -> str:
    return "(" + ",".join(element.get(side) for side in ("s", "w", "n", "e")) + ")"


def _around(element: Element) -> str:
    radius = element.get("radius")
    if element.get("polyline"):
        return f"(around:{radius},{element.get('polyline')})"
    if element.get("lat"):
        return f"(around:{radius},{element.get('lat')},{element.get('lon')})"
    return f"(around{_from(element)}:{radius})"


def _ids(element: Element) -> str:
    if element.get("lower") or element.get("upper"):
        raise element.fail("ranges of ids are not served", "name the ids: ref, ref_1, ref_2, …")
    names = [name for name in element.attributes if name == "ref" or name.startswith("ref_")]
    return "(id:" + ",".join(element.get(name) for name in names) + ")"


def _area(element: Element) -> str:
    return f"(area:{element.get('ref')})" if element.get("ref") else f"(area{_from(element)})"


def _user(element: Element) -> str:
    touched = "_touched" if element.get("type") == "touched" else ""
    names = [v for k, v in element.attributes.items() if k == "name" or k.startswith("name_")]
    if names:
        return f"(user{touched}:" + ",".join(map(quote, names)) + ")"
    uids = [v for k, v in element.attributes.items() if k == "uid" or k.startswith("uid_")]
    return f"(uid{touched}:" + ",".join(uids) + ")"


def _changed(element: Element) -> str:
    until = f",{quote(element.get('until'))}" if element.get("until") else ""
    return f"(changed:{quote(element.get('since'))}{until})"


def _recursion(element: Element) -> str:
    kind, source = element.get("type"), _from(element)
    if kind in _DIRECTIONS:
        return f"({_DIRECTIONS[kind]}{source})"
    if kind not in _RECURSIONS:
        raise element.fail(f"<recurse> does not know the type {kind!r}")
    role = ""
    if element.get("role") or element.get("role-restricted") == "yes":
        role = ":" + quote(element.get("role"))
    return f"({_RECURSIONS[kind][1]}{source}{role})"


_FILTERS: Final[dict[str, Callable[[Element], str]]] = {
    "has-kv": _has_kv, "bbox-query": _box, "around": _around, "id-query": _ids,
    "polygon-query": lambda e: f"(poly:{quote(e.get('bounds'))})", "area-query": _area,
    "pivot": lambda e: f"(pivot{_from(e)})", "user": _user, "changed": _changed,
    "newer": lambda e: f"(newer:{quote(e.get('than'))})", "recurse": _recursion,
    "item": lambda e: "." + _set_name(e, e.get("set") or e.get("from", "_")),
}  # fmt: skip
