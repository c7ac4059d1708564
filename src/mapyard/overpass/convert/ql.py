"""From the tree of a query to Overpass QL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from mapyard.overpass.parse.syntax import (
    DEFAULT_SET,
    AreaFilter,
    AroundFilter,
    Assignment,
    BoxFilter,
    Call,
    ChangedFilter,
    Complete,
    ConditionFilter,
    Difference,
    Filter,
    For,
    Foreach,
    GenericValue,
    IdFilter,
    If,
    IsIn,
    Item,
    KeyFilter,
    KeyPatternFilter,
    LinkFilter,
    Literal,
    Local,
    Make,
    MapToArea,
    NewerFilter,
    Operation,
    Out,
    PatternFilter,
    PivotFilter,
    PolygonFilter,
    Program,
    Query,
    Recurse,
    RecursionFilter,
    Refused,
    SetFilter,
    SetProperty,
    Settings,
    Statement,
    TagFilter,
    TagValue,
    Ternary,
    Union,
    UserFilter,
    Value,
)
from mapyard.overpass.parse.xmlform import quote

_SHORT: Final = {"relation": "rel"}


def write_program(program: Program, *, compact: bool) -> str:
    """Return the query, a statement per line or all on one."""
    head = write_settings(program.settings)
    lines = [f"{head};"] if head else []
    for statement in program.statements:
        lines += _lines(statement)
    if compact:
        return "".join(line.strip() for line in lines)
    return "\n".join(lines) + "\n"


def write_number(value: float) -> str:
    """Return a number as short as it reads the same."""
    return str(int(value)) if value == int(value) else repr(value)


def write_settings(settings: Settings) -> str:
    """Return the settings in their brackets."""
    found = []
    if settings.output is not None:
        found.append(f"[out:{settings.output}{_csv(settings)}{_categories(settings)}]")
    if settings.timeout_s is not None:
        found.append(f"[timeout:{write_number(settings.timeout_s)}]")
    if settings.maxsize_bytes is not None:
        found.append(f"[maxsize:{settings.maxsize_bytes}]")
    if settings.box is not None:
        found.append(f"[bbox:{write_box(settings.box)}]")
    return "".join(found)


def _csv(settings: Settings) -> str:
    if not settings.csv_columns:
        return ""
    columns = ",".join(
        f"::{column.name}" if column.is_meta else quote(column.name)
        for column in settings.csv_columns
    )
    header = str(settings.csv_header).lower()
    return f"({columns};{header};{quote(settings.csv_separator)})"


def _categories(settings: Settings) -> str:
    return "".join(
        f"({quote(category.title)};"
        + "".join("".join(map(_condition, both)) + ";" for both in category.alternatives)
        + (f"{quote(category.title_key)};" if category.title_key else "")
        + ")"
        for category in settings.categories
    )


def _condition(condition: tuple[str, str, bool]) -> str:
    key, pattern, holds = condition
    if not pattern:
        return f"[{quote(key)}]"
    return f"[{quote(key)}{'' if holds else '!'}~{_pattern(pattern)}]"


def write_box(box: BoxFilter) -> str:
    """Return south,west,north,east."""
    return ",".join(map(write_number, (box.south, box.west, box.north, box.east)))


def _into(name: str) -> str:
    return "" if name == DEFAULT_SET else f"->.{name}"


def _from(name: str) -> str:
    return "" if name == DEFAULT_SET else f".{name}"


def _block(head: str, body: tuple[Statement, ...], tail: str) -> list[str]:
    inner = [f"  {line}" for statement in body for line in _lines(statement)]
    return [head, *inner, tail]


def _lines(statement: Statement) -> list[str]:
    match statement:
        case Union():
            return _block("(", statement.members, f"){_into(statement.into)};")
        case Difference():
            first, second = _lines(statement.first), _lines(statement.second)
            inner = [*first, f"- {second[0]}", *second[1:]]
            return ["(", *(f"  {line}" for line in inner), f"){_into(statement.into)};"]
        case Foreach():
            head = f"foreach{_from(statement.source)}{_into(statement.into)} {{"
            return _block(head, statement.body, "};")
        case For():
            head = f"for{_from(statement.source)}{_into(statement.into)} ("
            return _block(f"{head}{write_value(statement.value)}) {{", statement.body, "};")
        case Complete():
            head = f"complete({statement.limit}){_from(statement.source)}{_into(statement.into)} {{"
            return _block(head, statement.body, "};")
        case If():
            lines = _block(f"if ({write_value(statement.condition)}) {{", statement.then, "}")
            if statement.otherwise:
                lines += _block("else {", statement.otherwise, "}")
            lines[-1] += ";"
            return lines
        case _:
            return [f"{_simple(statement)};"]


def write_head(statement: Statement) -> str:
    """Return a statement, or of one with a block the line that begins it."""
    if isinstance(statement, Union | Difference):
        sign = "; - " if isinstance(statement, Difference) else "; "
        return f"( …{sign}… ){_into(statement.into)}"
    lines = _lines(statement)
    return lines[0].removesuffix(";").removesuffix(" {")


def _simple(statement: Statement) -> str:
    match statement:
        case Query():
            filters = "".join(map(write_filter, statement.filters))
            kind = _SHORT.get(statement.kind, statement.kind)
            return f"{kind}{filters}{_into(statement.into)}"
        case Item():
            return f".{statement.source}{_into(statement.into)}"
        case Recurse():
            text = f"{_from(statement.source)} {statement.direction}{_into(statement.into)}"
            return text.strip()
        case IsIn():
            point = ""
            if statement.point is not None:
                point = "(" + ",".join(map(write_number, statement.point)) + ")"
            return f"{_from(statement.source)} is_in{point}{_into(statement.into)}".strip()
        case MapToArea():
            return f"{_from(statement.source)} map_to_area{_into(statement.into)}".strip()
        case Make():
            word = "convert" if statement.per_element else "make"
            parts = ",".join(map(_assignment, statement.assignments))
            text = f"{_from(statement.source)} {word} {statement.type_name} {parts}"
            return f"{text.rstrip()}{_into(statement.into)}".strip()
        case Local():
            box = "" if statement.box is None else f"({write_box(statement.box)})"
            text = f"{_from(statement.source)} local {statement.detail}{box}"
            return f"{text}{_into(statement.into)}".strip()
        case Out():
            return f"{_from(statement.source)} {_out(statement)}".strip()
        case Refused():
            return f"/* {statement.what} is not served */"
        case _:
            raise AssertionError(statement)


def _out(statement: Out) -> str:
    words = ["out", statement.mode if statement.mode != "body" else ""]
    if statement.geometry != "none":
        words.append(statement.geometry)
    if statement.box is not None:
        words.append(f"({write_box(statement.box)})")
    words.append("" if statement.order == "asc" else statement.order)
    words.append("" if statement.show_ids else "noids")
    words.append("" if statement.limit is None else str(statement.limit))
    return " ".join(word for word in words if word)


def _assignment(one: Assignment) -> str:
    if one.kind == "drop":
        return f"!{quote(one.key)}"
    value = "" if one.value is None else write_value(one.value)
    if one.kind == "generic":
        return f"{one.source or ''}::={value}"
    if one.kind == "tag":
        return f"{quote(one.key)}={value}"
    return f"::{one.kind}={value}"


def _pattern(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def write_time(seconds: int) -> str:
    """Return a point in time in ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_filter(item: Filter) -> str:
    """Return a filter of a query."""
    match item:
        case KeyFilter():
            return f"[{'!' if item.negated else ''}{quote(item.key)}]"
        case TagFilter():
            return f"[{quote(item.key)}{'!' if item.negated else ''}={quote(item.value)}]"
        case PatternFilter():
            case = ",i" if item.ignore_case else ""
            no = "!" if item.negated else ""
            return f"[{quote(item.key)}{no}~{_pattern(item.pattern)}{case}]"
        case KeyPatternFilter():
            case = ",i" if item.ignore_case else ""
            no = "!" if item.negated else ""
            return f"[~{_pattern(item.key_pattern)}{no}~{_pattern(item.pattern)}{case}]"
        case SetFilter():
            return f".{item.source}"
        case IdFilter():
            return "(id:" + ",".join(map(str, item.ids)) + ")"
        case BoxFilter():
            return f"({write_box(item)})"
        case AroundFilter():
            radius = write_number(item.radius_m)
            points = "".join(f",{write_number(a)},{write_number(b)}" for a, b in item.points)
            return f"(around{_from(item.source)}:{radius}{points})"
        case PolygonFilter():
            points = " ".join(f"{write_number(a)} {write_number(b)}" for a, b in item.points)
            return f'(poly:"{points}")'
        case AreaFilter():
            ids = ":" + ",".join(map(str, item.ids)) if item.ids else ""
            return f"(area{_from(item.source)}{ids})"
        case PivotFilter():
            return f"(pivot{_from(item.source)})"
        case UserFilter():
            touched = "_touched" if item.touched else ""
            if item.names:
                return f"(user{touched}:" + ",".join(map(quote, item.names)) + ")"
            return f"(uid{touched}:" + ",".join(map(str, item.uids)) + ")"
        case NewerFilter():
            return f'(newer:"{write_time(item.since_s)}")'
        case ChangedFilter():
            until = "" if item.until_s is None else f',"{write_time(item.until_s)}"'
            return f'(changed:"{write_time(item.since_s)}"{until})'
        case ConditionFilter():
            return f"(if:{write_value(item.condition)})"
        case LinkFilter():
            high = "" if item.high is None else str(item.high)
            span = str(item.low) if item.high == item.low else f"{item.low}-{high}"
            return f"({item.kind}{_from(item.source)}:{span})"
        case RecursionFilter():
            return f"({item.direction}{_from(item.source)}{_recursion_rest(item)})"


def _recursion_rest(item: RecursionFilter) -> str:
    if item.role is None and not item.positions:
        return ""
    role = "" if item.role is None else quote(item.role)
    return f":{role}" + ",".join(map(str, item.positions))


def write_value(value: Value) -> str:
    """Return an expression; everything within an operator stands in parentheses."""
    match value:
        case Literal():
            return quote(value.text)
        case Operation():
            operands = [_operand(one) for one in value.operands]
            if len(operands) == 1:
                return value.operator + operands[0]
            return value.operator.join(operands)
        case Ternary():
            parts = (value.condition, value.then, value.otherwise)
            condition, then, otherwise = map(_operand, parts)
            return f"{condition}?{then}:{otherwise}"
        case TagValue():
            return f"t[{write_value(value.key)}]"
        case GenericValue():
            return "::"
        case SetProperty():
            return f"{value.source}.{value.name}"
        case Call():
            source = f"{value.source}." if value.source is not None else ""
            if value.name == "count":
                argument = value.arguments[0]
                assert isinstance(argument, Literal)
                return f"{source}count({argument.text})"
            arguments = ",".join(map(write_value, value.arguments))
            return f"{source}{value.name}({arguments})"


def _operand(value: Value) -> str:
    text = write_value(value)
    return f"({text})" if isinstance(value, Operation | Ternary) else text
