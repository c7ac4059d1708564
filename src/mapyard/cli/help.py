"""Help texts as Typer's Rich help shows them right: paragraphs flow, square brackets stay."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import typer
from typer.models import ParameterInfo

_MARKUP = re.compile(r"(?<!\\)\[/?(?:bold|dim|italic|red|green|cyan|yellow|i|b)\b[^\]]*\]")
_BRACKET = re.compile(r"(?<!\\)\[(?=[a-zA-Z#/@{])")


def prepare(app: typer.Typer) -> typer.Typer:
    """Return the application with the help texts of all its commands made fit to be shown."""
    for info in app.registered_commands:
        if info.callback is not None:
            info.help = _flow(info.help or inspect.getdoc(info.callback) or "")
            _keep_brackets(info.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            prepare(group.typer_instance)
    return app


def _flow(text: str) -> str:
    """Join the lines of each paragraph; what is indented is an example and stays as it is."""
    parts = re.split(r"\n\s*\n", text.strip())
    flowing = [part if part.startswith("  ") else " ".join(part.split()) for part in parts]
    return _escape("\n\n".join(flowing))


def _keep_brackets(callback: Callable[..., Any]) -> None:
    made = getattr(callback, "__signature__", None)
    if made is not None:
        hints = {name: parameter.annotation for name, parameter in made.parameters.items()}
    else:
        hints = get_type_hints(callback, include_extras=True)
        callback.__annotations__ = hints  # else Typer evaluates the texts to objects of its own
    for hint in hints.values():
        for info in getattr(hint, "__metadata__", ()):
            if isinstance(info, ParameterInfo) and info.help:
                info.help = _escape(info.help)  # twice is as once: options are shared


def _escape(text: str) -> str:
    """Escape what Rich would take for markup."""
    return _BRACKET.sub(r"\\[", text)


def remove_markup(text: str) -> str:
    """Return a help text as people read it, without Rich's marks and escapes."""
    return _MARKUP.sub("", text).replace("\\[", "[")
