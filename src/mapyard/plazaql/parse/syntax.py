"""What a query consists of; every node knows where it stands in the text."""

from __future__ import annotations

from typing import Literal, NamedTuple


class At(NamedTuple):
    """A place in the text, both counted from 1."""

    line: int
    column: int


class Number(NamedTuple):
    """A number."""

    value: float
    at: At


class Text(NamedTuple):
    """A text in quotes."""

    value: str
    at: At


class Truth(NamedTuple):
    """`true` or `false`."""

    value: bool
    at: At


class Word(NamedTuple):
    """A word for itself: node, way, relation, nwr."""

    name: str
    at: At


class Atom(NamedTuple):
    """`:asc`."""

    name: str
    at: At


class Variable(NamedTuple):
    """`$name`, or the output `$$.name`; `$$` has no name."""

    name: str
    is_output: bool
    at: At

    def __str__(self) -> str:
        if not self.is_output:
            return f"${self.name}"
        return f"$$.{self.name}" if self.name else "$$"


class Attribute(NamedTuple):
    """`$name[ref]`: the values of a tag."""

    variable: Variable
    key: str
    at: At


class Items(NamedTuple):
    """`[a, b]`."""

    items: tuple[Expression, ...]
    at: At


class TagAccess(NamedTuple):
    """`t["key"]`."""

    key: str
    at: At


type Test = Literal["exists", "absent", "equal", "not_equal", "regex", "regex_i", "not_regex"]


class TagTest(NamedTuple):
    """What stands behind `key:` where it is no plain value: `*`, `!*`, `!"v"`, `~"re"`, …."""

    test: Test
    value: str
    at: At


class Argument(NamedTuple):
    """An argument; `key` is "" for one without a name."""

    key: str
    is_pattern: bool
    value: Expression | TagTest
    at: At


class Call(NamedTuple):
    """`name(…)`."""

    name: str
    arguments: tuple[Argument, ...]
    at: At


class Method(NamedTuple):
    """`receiver.name(…)`."""

    receiver: Expression
    name: str
    arguments: tuple[Argument, ...]
    at: At


class Binary(NamedTuple):
    """Two operands: of sets `+ - &`, of values `+ - * / == != < > <= >= && ||`."""

    operator: str
    left: Expression
    right: Expression
    at: At


class Unary(NamedTuple):
    """`!x` or `-x`."""

    operator: str
    operand: Expression
    at: At


type Expression = (
    Number | Text | Truth | Word | Atom | Variable | Attribute | Items | TagAccess | Call | Method
    | Binary | Unary
)  # fmt: skip


class Assignment(NamedTuple):
    """`$name = …;`, `$$.name = …;`; a bare expression has no target."""

    target: Variable | None
    value: Expression
    at: At


class Directive(NamedTuple):
    """`#name(…);`."""

    name: str
    arguments: tuple[Argument, ...]
    at: At


type Statement = Assignment | Directive


class Program(NamedTuple):
    """All statements of a query."""

    statements: tuple[Statement, ...]
