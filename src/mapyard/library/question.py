"""How a question is declared: once, for the library, HTTP, the command line and assistants.

    @question("nearby", path="/api/v1/features/nearby", leading=("at",))
    def nearby(call: Call, params: Nearby) -> Elements: ...

The params struct is definition, parser and validation. The method of `mapyard.open(…)`, the
command, the tool for assistants and the endpoint's parameters all come from it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, Literal, get_type_hints

from mapyard.errors import NotFound
from mapyard.params.parser import Params, Parser, parser_of
from mapyard.plugins import mapping_of

#: Name → module of questions/ that declares it, in the order of the reference. A table, so that a
#: call loads its own module only.
NAMES: Final = {
    "features": "elements",
    "feature": "elements",
    "lookup": "elements",
    "nearby": "elements",
    "search": "search",
    "geocode": "geocoding",
    "autocomplete": "geocoding",
    "reverse": "geocoding",
    "geocode_batch": "geocoding",
    "route": "routes",
    "nearest": "roads",
    "isochrone": "areas",
    "matrix": "roads",
    "match": "matching",
    "optimize": "tours",
    "plan_tours": "tours",
    "elevation": "elevation",
    "elevation_profile": "elevation",
    "overpass": "overpass",
    "sparql": "sparql",
    "plazaql": "plazaql",
    "explain_overpass": "overpass",
    "explain_sparql": "sparql",
    "tile": "tiles",
    "tags": "tags",
}

QUESTIONS: Final[dict[str, Question]] = {}


class Question:
    """One declared question."""

    def __init__(
        self,
        name: str,
        answer: Callable[..., Any],
        *,
        path: str,
        method: Literal["GET", "POST"],
        leading: tuple[str, ...],
        fixed: dict[str, Any],
        renamed: dict[str, str],
        result: type[Any] | None,
    ) -> None:
        #: Name of the method and of the command.
        self.name = name
        self.answer = answer
        #: Where the same is asked over HTTP, and what is sent with it.
        self.path = path
        self.method = method
        self.fixed = fixed
        #: Parameters that may be given by position.
        self.leading = leading
        #: Parameter → its name in the method, where that reads better.
        self.renamed = renamed
        self._result = result

    @cached_property
    def params(self) -> type[Params]:
        """Return the struct of the parameters."""
        name = list(inspect.signature(self.answer).parameters)[1]
        found: type[Params] = get_type_hints(self.answer)[name]
        return found

    @cached_property
    def result(self) -> type[Any]:
        """Return the class of the result, as all ways of asking have it."""
        if self._result is not None:
            return self._result
        found: type[Any] = get_type_hints(self.answer)["return"]
        return found

    @cached_property
    def parser(self) -> Parser:
        """Return the parser of the parameters."""
        return parser_of(self.params)

    @property
    def doc(self) -> str:
        """Return the docstring."""
        return inspect.cleandoc(self.answer.__doc__ or "")

    @property
    def summary(self) -> str:
        """Return the docstring's first line."""
        return self.doc.partition("\n")[0]


def question[F: Callable[..., Any]](
    name: str,
    *,
    path: str,
    method: Literal["GET", "POST"] = "POST",
    leading: tuple[str, ...] = (),
    fixed: dict[str, Any] | None = None,
    renamed: dict[str, str] | None = None,
    result: type[Any] | None = None,
) -> Callable[[F], F]:
    """Declare a function `(call, params) -> result` as a question.

    Args:
        name: of the method and the command.
        path: of the endpoint that answers the same; `{field}` stands for a parameter.
        method: by which the endpoint is asked.
        leading: parameters that may be given by position.
        fixed: parameters that are sent to the endpoint besides, such as the format.
        renamed: parameter → name in the method, where that reads better.
        result: what callers may rely on, where the function returns a class of its own.
    """

    def declare(answer: F) -> F:
        QUESTIONS[name] = Question(
            name,
            answer,
            path=path,
            method=method,
            leading=leading,
            fixed=fixed or {},
            renamed=renamed or {},
            result=result,
        )
        return answer

    return declare


def find_question(name: str) -> Question:
    """Return a question by name."""
    if name not in QUESTIONS:
        if name in NAMES:
            importlib.import_module(f"mapyard.library.questions.{NAMES[name]}")
        elif name in (of_plugins := mapping_of("QUESTIONS")):
            importlib.import_module(of_plugins[name])
        else:
            raise NotFound(f"there is no question {name}; there are {', '.join(NAMES)}")
    return QUESTIONS[name]


def load_questions() -> list[Question]:
    """Return all questions, in the order of the reference."""
    return [find_question(name) for name in NAMES]
