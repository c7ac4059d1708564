"""A query as text again, in one form; parsing it gives the same statements."""

from __future__ import annotations

from mapyard.plazaql.parse.syntax import (
    Argument,
    Assignment,
    Atom,
    Attribute,
    Binary,
    Call,
    Expression,
    Items,
    Method,
    Number,
    Program,
    Statement,
    TagAccess,
    TagTest,
    Text,
    Truth,
    Unary,
    Variable,
    Word,
)


def print_program(program: Program) -> str:
    """Return the text of a query."""
    return "\n".join(map(_statement, program.statements))


def _statement(statement: Statement) -> str:
    if isinstance(statement, Assignment):
        target = f"{statement.target} = " if statement.target is not None else ""
        return f"{target}{print_expression(statement.value)};"
    return f"#{statement.name}({_arguments(statement.arguments)});"


def print_expression(expression: Expression) -> str:
    """Return the text of an expression; what is joined by signs stands in brackets."""
    match expression:
        case Number(value):
            return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else _decimal(value)
        case Text(value):
            return quote(value)
        case Truth(value):
            return "true" if value else "false"
        case Word(name) | Atom(name):
            return f":{name}" if isinstance(expression, Atom) else name
        case Variable():
            return str(expression)
        case Attribute(variable, key):
            return f"{variable}[{quote(key)}]"
        case Items(items):
            return f"[{', '.join(map(print_expression, items))}]"
        case TagAccess(key):
            return f"t[{quote(key)}]"
        case Call(name, arguments):
            return f"{name}({_arguments(arguments)})"
        case Method(receiver, name, arguments):
            before = print_expression(receiver)
            if isinstance(receiver, Binary | Unary | Number):
                before = f"({before})"
            return f"{before}.{name}({_arguments(arguments)})"
        case Binary(operator, left, right):
            return f"({print_expression(left)} {operator} {print_expression(right)})"
        case Unary(operator, operand):
            return f"({operator}{print_expression(operand)})"


def _decimal(value: float) -> str:
    return f"{value:.15f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else f"{value:.0f}"


def _arguments(arguments: tuple[Argument, ...]) -> str:
    return ", ".join(map(_argument, arguments))


def _argument(argument: Argument) -> str:
    value = argument.value
    text = _test(value) if isinstance(value, TagTest) else print_expression(value)
    if not argument.key and not argument.is_pattern:
        return text
    mark = "~" if argument.is_pattern else ""
    return f"{mark}{quote(argument.key)}: {text}"


def _test(test: TagTest) -> str:
    signs = {
        "exists": "*", "absent": "!*", "equal": "", "not_equal": "!", "regex": "~",
        "regex_i": "~i", "not_regex": "!~",
    }  # fmt: skip
    return signs[test.test] + ("" if test.test in ("exists", "absent") else quote(test.value))


def quote(text: str) -> str:
    """Return a text in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
