"""Writes methods.py: the methods of a map, one per question, from what the questions declare."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from mapyard.library.inputs import annotate
from mapyard.library.question import Question, load_questions
from mapyard.params.parser import Field

_HEAD: Final = '''"""The methods of a map. Written by `mapyard docs`; do not edit."""
# ruff: noqa: E501
# fmt: off

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from mapyard.library.inputs import (
        BboxLike,
        GeometryLike,
        Numbers,
        PositionLike,
        PositionsLike,
        TagsLike,
        Texts,
    )
'''
_LIMITS: Final = (
    ("timeout", "float", "seconds, after which `Timeout` is raised"),
    ("max_bytes", "int", "memory that a query language may use"),
    ("cancel", "threading.Event", "when set, `Cancelled` is raised"),
)


def write_methods() -> str:
    """Return the source of methods.py."""
    questions = load_questions()
    parts = [_HEAD, *_imports(questions)]
    for is_async in (False, True):
        name = "AsyncQuestions" if is_async else "Questions"
        await_ = "async " if is_async else ""
        parts.append(
            f'\n\nclass {name}:\n    """One method per question."""\n\n'
            f"    {await_}def _ask(self, name: str, values: dict[str, Any]) -> Any:\n"
            "        raise NotImplementedError\n"
        )
        parts.extend(_method(q, is_async=is_async) for q in questions)
    return "".join(parts)


#: Longest line of the written module.
_LINE = 100


def _imports(questions: list[Question]) -> Iterator[str]:
    by_module: dict[str, set[str]] = {}
    for question in questions:
        if question.result is not bytes:
            by_module.setdefault(question.result.__module__, set()).add(question.result.__name__)
    for module, names in sorted(by_module.items()):
        line = f"    from {module} import {', '.join(sorted(names))}\n"
        if len(line) > _LINE:
            items = "".join(f"        {name},\n" for name in sorted(names))
            line = f"    from {module} import (\n{items}    )\n"
        yield line


def _method(question: Question, *, is_async: bool) -> str:
    fields = {field.name: field for field in question.parser.fields}
    leading = [fields[name] for name in question.leading]
    others = [field for name, field in fields.items() if name not in question.leading]
    parameters = ["self", *(_parameter(question, field, positional=True) for field in leading)]
    parameters += ["*", *(_parameter(question, field, positional=False) for field in others)]
    parameters += [f"{name}: {kind} | None = None" for name, kind, _ in _LIMITS]
    result = question.result.__name__
    doc = "\n".join(_doc(question, [*leading, *others]))
    ask = f'self._ask("{question.name}", locals())'
    body = f"return await {ask}" if is_async else f"return {ask}"
    return (
        f"\n    {'async ' if is_async else ''}def {question.name}(\n        "
        + ",\n        ".join(parameters)
        + f",\n    ) -> {result}:\n"
        + textwrap.indent(doc, "        ")
        + f"\n        {body}\n"
    )


def _parameter(question: Question, field: Field, *, positional: bool) -> str:
    name = question.renamed.get(field.name, field.name)
    kind = annotate(field.type, field.extra)
    if field.required and positional:
        return f"{name}: {kind}"
    if field.required:
        return f"{name}: {kind}"
    return f"{name}: {kind} | None = None"


def _doc(question: Question, fields: list[Field]) -> Iterator[str]:
    yield f'"""{question.doc}'
    yield ""
    yield "Args:"
    for field in fields:
        name = question.renamed.get(field.name, field.name)
        text = field.description or "see docs/library.md"
        if not field.required and isinstance(field.default, str | int | float) and field.default:
            text += f"; default {field.default}"
        yield from textwrap.wrap(
            f"{name}: {text}.".replace("..", "."), 96, initial_indent="    ",
            subsequent_indent="        ",
        )  # fmt: skip
    for name, _, meaning in _LIMITS:
        yield f"    {name}: {meaning}."
    yield '"""'
