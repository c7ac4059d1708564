"""Reading PlazaQL: what parses, what does not and why, and the text of statements again."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.errors import InvalidQuery, MapyardError, TooLarge
from mapyard.plazaql.parse.lexer import MAX_LETTERS
from mapyard.plazaql.parse.parser import parse
from mapyard.plazaql.parse.syntax import (
    Argument,
    Assignment,
    At,
    Atom,
    Attribute,
    Binary,
    Call,
    Directive,
    Items,
    Method,
    Number,
    Program,
    TagAccess,
    TagTest,
    Text,
    Truth,
    Unary,
    Variable,
    Word,
)
from mapyard.plazaql.plan.check import check
from plazaql_printer import print_program

HERE = At(1, 1)

ERRORS = [
    ("", 1, 1, "the query is empty"),
    ("// nothing", 1, 11, "the query is empty"),
    ('search(node amenity: "cafe");', 1, 13, "add a comma"),
    ("search(node", 1, 12, "close the bracket"),
    ("search(node)\n  search(way);", 2, 3, "end the statement with ;"),
    ("search(node, name: );", 1, 20, "expected a value, found ')'"),
    ("search(node, *);", 1, 14, "write * for any value behind a key"),
    ('search(node, name: "a);', 1, 20, "this text has no end"),
    ("search(node, name: 'a');", 1, 20, "texts stand in double quotes"),
    ("search(node, name: ~ a);", 1, 22, "expected a pattern"),
    ("search(node, ~name: *);", 1, 15, "expected a pattern for keys"),
    ("/* /* */ search(node);", 1, 1, "this comment has no end"),
    ("$ = search(node);", 1, 1, "a variable needs a name"),
    ("#(5);", 1, 2, "a directive needs a name"),
    ("search(node).;", 1, 14, "expected the name of a method"),
    ("search(node).sort(t[5]);", 1, 21, "expected the key of a tag"),
    ("search(node).sort(:5);", 1, 20, "expected a word behind ':'"),
    ("$a = [point(1, 2);", 1, 18, "close the list"),
    ("search(node) %;", 1, 14, "'%' means nothing here"),
    ("(" * 200 + "1" + ")" * 200 + ";", 1, 51, "levels in each other"),
    ("search(node)" + ".first()" * 200 + ";", 1, 414, "methods in a row"),
    ("!" * 300 + "$a;", 1, 51, "levels in each other"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS)
def test_errors_name_the_place_and_what_to_do(
    text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse(text)
    assert caught.value.details["line"] == line
    assert caught.value.details["column"] == column
    assert message in str(caught.value)


CHECKS = [
    ("search(node).witin(point(1, 2));", 14, "did you mean within?"),
    ("serch(node);", 1, "did you mean search?"),
    ("limit(5);", 1, "it is a method"),
    ("search(node).within($area);", 21, "there is no variable $area"),
    ("$area = bbox(1, 2, 3, 4); search(node).within($areas);", 47, "did you mean $area?"),
    ("search(node).within($$.area);", 21, "there is no output $$.area"),
    ("$a = search(node); $a = search(way); $a;", 20, "$a has a value already"),
    ("$a = search(node);", 1, "the query has no output"),
    ("#sort(by: :qt); search(node);", 1, "#sort is not a directive"),
    ("search(node).limit(5).within(bbox(1, 2, 3, 4));", 23, "move .limit() after .within()"),
    ("search(node).count().limit(5);", 22, "which is the last"),
    ('search(node).group_by(t["a"]).limit(5);', 31, "cannot follow .group_by()"),
    ("search(node).around(point(1, 2));", 14, "around() needs geometry"),
    ("search(node).around(5, point(1, 2), 3);", 37, "takes 2 values at most"),
    ("search(node).around(meters: 5, geometry: point(1, 2));", 21, "has no parameter meters"),
    ("search(node).limit(count: 5, count: 6);", 30, "count is given twice"),
    ("point(1);", 1, "point() needs lng"),
    ("search(node).filter(starts_with(5) == true);", 21, "takes 2 values"),
    ("search(node).limit(*);", 20, "expected a value"),
]


@pytest.mark.parametrize(("text", "column", "message"), CHECKS)
def test_names_arguments_and_order_are_checked_first(text: str, column: int, message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        check(parse(text))
    assert caught.value.details["column"] == column
    assert message in str(caught.value)


def test_a_long_text_is_refused() -> None:
    with pytest.raises(TooLarge):
        parse("/" * (MAX_LETTERS + 1))
    with pytest.raises(TooLarge):
        parse("; " * 60_000)


def test_comments_texts_and_numbers() -> None:
    found = parse(
        '/* a /* b */ c */ search(node, name: "a\\"b\\\\.\\d", n: -5.25); // end\n#limit(count: 5);'
    )
    first, second = found.statements
    assert isinstance(first, Assignment)
    assert isinstance(first.value, Call)
    name, number = first.value.arguments[1:]
    assert isinstance(name.value, Text)
    assert name.value.value == 'a"b\\.\\d'
    assert number.value == Number(-5.25, At(1, 54))
    assert isinstance(second, Directive)
    assert second.at == At(2, 1)


def test_the_last_statement_needs_no_end() -> None:
    assert parse("search(node)") == parse("search(node);")


# ---- round trip -------------------------------------------------------------------------------

names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in ("t", "true", "false")
)
texts = st.text(max_size=8).filter(lambda text: not re.search(r"\\[ntr]|\\$", text))
numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))
variables = st.builds(Variable, names, st.booleans(), st.just(HERE))
leaves: Any = st.one_of(
    st.builds(Number, numbers, st.just(HERE)),
    st.builds(Text, texts, st.just(HERE)),
    st.builds(Truth, st.booleans(), st.just(HERE)),
    st.builds(Word, names, st.just(HERE)),
    st.builds(Atom, names, st.just(HERE)),
    st.builds(TagAccess, texts, st.just(HERE)),
    st.builds(Attribute, variables, texts, st.just(HERE)),
    variables,
)
tests = st.one_of(
    st.builds(TagTest, st.sampled_from(["exists", "absent"]), st.just(""), st.just(HERE)),
    st.builds(
        TagTest,
        st.sampled_from(["not_equal", "regex", "regex_i", "not_regex"]),
        texts,
        st.just(HERE),
    ),
)


def compound(inner: Any) -> Any:
    arguments = st.lists(
        st.one_of(
            st.builds(Argument, st.just(""), st.just(False), inner, st.just(HERE)),
            st.builds(
                Argument, texts.filter(bool), st.booleans(), st.one_of(inner, tests), st.just(HERE)
            ),
        ),
        max_size=3,
    ).map(tuple)
    return st.one_of(
        st.builds(Call, names, arguments, st.just(HERE)),
        st.builds(Method, inner, names, arguments, st.just(HERE)),
        st.builds(Items, st.lists(inner, min_size=1, max_size=3).map(tuple), st.just(HERE)),
        st.builds(
            Binary,
            st.sampled_from(["+", "-", "&", "*", "/", "==", "!=", "<", ">=", "&&", "||"]),
            inner,
            inner,
            st.just(HERE),
        ),
        st.builds(Unary, st.just("!"), inner, st.just(HERE)),
    )


expressions: Any = st.recursive(leaves, compound, max_leaves=12)
programs: Any = st.lists(
    st.builds(Assignment, st.one_of(st.none(), variables), expressions, st.just(HERE)),
    min_size=1,
    max_size=3,
).map(lambda statements: Program(tuple(statements)))


def bare(node: Any) -> Any:
    """Return a node without its places."""
    if isinstance(node, At):
        return None
    if isinstance(node, tuple):
        return (type(node).__name__, *map(bare, node))
    return node


@given(programs)
def test_the_text_of_a_query_gives_the_query(program: Program) -> None:
    text = print_program(program)
    assert bare(parse(text)) == bare(program), text
    assert print_program(parse(text)) == text


@given(st.text(alphabet='search(node)."$#:;,=+-&|!~*[]{}tname1 \n\\/', max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    with suppress(MapyardError):
        check(parse(text))
