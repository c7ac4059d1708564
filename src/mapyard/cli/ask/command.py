"""A command out of a question: one option per parameter, read as in a query string.

    mapyard nearby 43.7384,7.4246 --tags amenity=cafe --json

What comes by position is said in POSITIONAL; everything else follows from the question's struct, so
a new parameter is an option of the command at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple

import msgspec.inspect as mi
import typer

from mapyard.cli.ask.options import Data, Format, Json, Key, Output, Timeout, Url, open_map
from mapyard.cli.ask.show import print_result, write_result
from mapyard.library.question import Question, find_question
from mapyard.params.parser import Field, Tags
from mapyard.params.raw import Raw, put_raw


class Positional(NamedTuple):
    """What a command takes by position: its name in the help, and what becomes of it."""

    metavar: str
    help: str
    read: Callable[[list[str]], dict[str, Any]]
    required: bool = True
    many: bool = False
    example: str = ""
    #: Parameters that a table wants, unless they are given.
    for_people: Mapping[str, Any] = MappingProxyType({})


def _one(name: str) -> Callable[[list[str]], dict[str, Any]]:
    return lambda given: {name: given[0]} if given else {}


def _read_element(given: list[str]) -> dict[str, Any]:
    kind, _, number = given[0].partition("/")
    return {"type": kind, "id": number or "?"}


def _read_elements(given: list[str]) -> dict[str, Any]:
    return {"elements": [_read_element([text]) for text in given]}


def _read_route(given: list[str]) -> dict[str, Any]:
    if len(given) < 2:
        raise typer.BadParameter("two positions or more are needed, LAT,LNG each")
    return {"origin": given[0], "destination": given[-1], "waypoints": "|".join(given[1:-1])}


def _read_isochrone(given: list[str]) -> dict[str, Any]:
    return {"at": given[0], **({"time": ",".join(given[1:])} if given[1:] else {})}


def _read_tile(given: list[str]) -> dict[str, Any]:
    parts = given[0].split("/") if len(given) == 1 else given
    if len(parts) != 3:
        raise typer.BadParameter("a tile is Z/X/Y, such as 14/8529/5974")
    return dict(zip(("z", "x", "y"), parts, strict=True))


#: How people call the modes of travel.
_SPOKEN: Final = {
    "car": "auto", "drive": "auto", "driving": "auto", "bike": "bicycle", "cycle": "bicycle",
    "cycling": "bicycle", "walk": "foot", "walking": "foot",
}  # fmt: skip

_AT: Final = Positional("LAT,LNG", "The position.", _one("at"), example="43.7384,7.4246")
_LINE: Final = "The positions, LAT,LNG each."

#: Command → what it takes by position.
POSITIONAL: Final[dict[str, Positional]] = {
    "features": Positional("", "", lambda given: {}, required=False,
                           example="--tags amenity=cafe --near 43.7384,7.4246 --radius 300"),
    "feature": Positional("TYPE/ID", "The element.", _read_element, example="way/94399684"),
    "lookup": Positional("TYPE/ID...", "The elements.", _read_elements, many=True,
                         example="way/94399684 node/25177418"),
    "nearby": _AT._replace(example="43.7384,7.4246 --tags amenity=cafe"),
    "search": Positional("TEXT", "The name.", _one("q"), example='"monte carlo"'),
    "autocomplete": Positional("TEXT", "What was typed so far.", _one("q"), example='"rue grim"'),
    "reverse": _AT,
    "route": Positional("LAT,LNG...", "Origin, positions on the way, destination.", _read_route,
                        many=True, example="43.7384,7.4246 43.7314,7.4197 --mode foot",
                        for_people={"steps": True}),
    "nearest": _AT,
    "isochrone": Positional("LAT,LNG SECONDS...", "Where from, and travel times in seconds.",
                            _read_isochrone, many=True,
                            example="43.7384,7.4246 300 600 --mode foot"),
    "matrix": Positional("", "", lambda given: {}, required=False,
                         example="--origins 43.7384,7.4246 "
                         '--destinations "43.7314,7.4197|43.7402,7.4273"'),
    "match": Positional("FILE.gpx", "The trace.", _one("trace"), example="trip.gpx"),
    "optimize": Positional("LAT,LNG...", "The stops.",
                           lambda given: {"waypoints": "|".join(given)}, many=True,
                           example="43.7384,7.4246 43.7314,7.4197 43.7402,7.4273"),
    "plan_tours": Positional("", "", lambda given: {}, required=False,
                             example="""--vehicles '[{"id": 1, "start": [7.4246, 43.7384]}]' """
                             """--jobs '[{"id": 1, "location": [7.4197, 43.7314]}]'"""),
    "elevation": Positional("LAT,LNG...", _LINE, lambda given: {"coordinates": given}, many=True,
                            example="43.7384,7.4246 43.7314,7.4197"),
    "elevation_profile": Positional("LAT,LNG...", _LINE, lambda given: {"geometry": given},
                                    many=True,
                                    example="43.7384,7.4246 43.7314,7.4197 --interval 50"),
    "tile": Positional("Z/X/Y", "The tile.", _read_tile, many=True,
                       example="14/8529/5974 -o tile.mvt"),
    "tags": Positional("[KEY]", "Count the values of this key; without, all keys.", _one("key"),
                       required=False, example="amenity --limit 20"),
}  # fmt: skip


def make_command(name: str) -> Callable[..., None]:
    """Return the function of a command, with its options as Typer reads them."""
    question = find_question(name)
    takes = POSITIONAL[name]
    by_position = set(takes.read(["43.7,7.4", "43.7,7.4", "1"])) if takes.metavar else set()
    fields = [field for field in question.parser.fields if field.name not in by_position]

    def command(**given: Any) -> None:
        positional = given.pop("positional", None) or []
        common = {key: given.pop(key) for key in _COMMON}
        raw: Raw = dict(takes.read([positional] if isinstance(positional, str) else positional))
        for field in fields:
            _put(raw, field, given.get(_argument_of(field)))
        run(question, raw, for_people=takes.for_people, **common)

    parameters = list(_COMMON.values())
    if takes.metavar:
        kind: Any = list[str] if takes.many else str
        default = inspect.Parameter.empty if takes.required else None
        argument: Any = typer.Argument(metavar=takes.metavar, help=takes.help)
        annotation: Any = Annotated[kind if takes.required else (kind | None), argument]
        parameters.insert(0, _parameter("positional", annotation, default))
    parameters[-len(_COMMON) : -len(_COMMON)] = [_option(question, field) for field in fields]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # for Typer
    command.__doc__ = _help(question, takes)
    return command


def run(
    question: Question,
    raw: Raw,
    *,
    for_people: Mapping[str, Any] = MappingProxyType({}),
    data: Path | None = None,
    url: str = "",
    key: str = "",
    timeout: float | None = None,
    format: str | None = None,
    json: bool = False,
    output: Path | None = None,
) -> None:
    """Ask, and print or write the answer."""
    wanted = "json" if json else format
    is_table = wanted is None and output is None
    if is_table:
        raw = {**for_people, **raw}
    with open_map(data, url, key) as source:
        result = source._ask(question.name, {"self": source, **raw, "timeout": timeout})
        if is_table:
            print_result(result)
        else:
            write_result(result, wanted, output)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


_COMMON: Final = {
    "data": _parameter("data", Data, None),
    "url": _parameter("url", Url, ""),
    "key": _parameter("key", Key, ""),
    "timeout": _parameter("timeout", Timeout, None),
    "format": _parameter("format", Format, None),
    "json": _parameter("json", Json, False),
    "output": _parameter("output", Output, None),
}


def _argument_of(field: Field) -> str:
    """Return the name of a field's option in the command's signature, apart from common ones."""
    return f"asked_{field.attribute}"


def _option(question: Question, field: Field) -> inspect.Parameter:
    name = question.renamed.get(field.name, field.name)
    flag = "--" + ("shape" if name == "output" else name.replace("_", "-"))
    text = _describe(field, flag)
    is_many = getattr(field.type, "cls", None) is Tags or isinstance(field.type, mi.StructType)
    if isinstance(field.type, mi.BoolType):
        return _parameter(
            _argument_of(field),
            Annotated[bool | None, typer.Option(f"{flag}/--no-{flag[2:]}", help=text)],
            None,
        )
    kind: Any = list[str] if is_many else str
    metavar = {mi.IntType: "NUMBER", mi.FloatType: "NUMBER"}.get(type(field.type), "TEXT")
    default: Any = inspect.Parameter.empty if field.required else None
    wanted: Any = kind if field.required else (kind | None)
    option = typer.Option(flag, help=text, metavar="NAME=VALUE" if is_many else metavar)
    return _parameter(_argument_of(field), Annotated[wanted, option], default)


def _describe(field: Field, flag: str) -> str:
    text = field.description
    if isinstance(field.type, mi.LiteralType):
        text += f" ({', '.join(map(str, field.type.values))})"
    if isinstance(field.type, mi.StructType):
        names = field.type.cls.__struct_fields__
        example = "geometry=false" if flag == "--shape" else f"{names[0]}=…"
        about = "How features look" if flag == "--shape" else text or "Options"
        text = f"{about}. Write {flag} {example}; names: {', '.join(names)}"
    if field.default is True:
        text += "; default true"
    elif isinstance(field.default, str | int | float) and field.default not in ("", False):
        shown = field.default if isinstance(field.default, str) else f"{field.default:g}"
        text += f"; default {shown}"
    return text[:1].upper() + text[1:] + "."


def _put(raw: Raw, field: Field, value: Any) -> None:
    """Add an option's value as a query string would have it: `tags[amenity]=cafe`, `output[…]`."""
    if value is None or value == []:
        return
    if isinstance(field.type, mi.StructType):
        for text in value:
            name, _, part = text.partition("=")
            put_raw(raw, f"{field.name}[{name}]", part)
    elif getattr(field.type, "cls", None) is Tags:
        for text in value:
            name, separator, part = text.partition("=")
            put_raw(raw, f"{field.name}[{name}]" if separator else field.name, part or text)
    elif field.name in ("mode", "modes"):
        raw[field.name] = ",".join(_SPOKEN.get(name, name) for name in value.split(","))
    else:
        raw[field.name] = value


def _help(question: Question, takes: Positional) -> str:
    name = question.name.replace("_", "-")
    return f"{question.doc}\n\nExample:\n\n  mapyard {name} {takes.example}"
