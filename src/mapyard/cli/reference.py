"""The generated pages of docs/reference: endpoints, errors, settings, commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import typer.main

from mapyard.cli import COMMANDS, build_app
from mapyard.cli.help import remove_markup
from mapyard.http.endpoints import collect
from mapyard.http.reference.docs_page import entries_of
from mapyard.http.reference.error_codes import COMMON_CODES, ERROR_CODES
from mapyard.http.reference.openapi import build_openapi
from mapyard.library.inputs import annotate
from mapyard.library.question import load_questions
from mapyard.server.assembly import load_modules
from mapyard.settings import list_settings

NOTE: Final = "<!-- Written by `mapyard docs`. Change the code, not this page. -->\n"
BASE_URL: Final = "http://localhost:4000"
#: Examples that need what only their reader has, by path or command; tests run
#: all others.
_NOT_RUN: Final = {
    "/metrics": "needs the operator's token",
    "mapyard fleet build": "needs a split extract and Ray",
    "mapyard fleet open": "needs object storage and Ray",
    "mapyard fleet prune": "needs object storage",
    "mapyard fleet serve": "needs Ray",
    "mapyard install-service": "changes the system",
}


def build_pages() -> dict[str, str]:
    """Return file name → text of all pages."""
    pages = {
        "endpoints.md": _endpoints(),
        "errors.md": _errors(),
        "settings.md": _settings(),
        "commands.md": _commands(),
        "library.md": _library(),
    }
    return {name: f"{NOTE}\n{text.strip()}\n" for name, text in pages.items()}


def _library() -> str:
    parts = [
        "# Methods of the library\n",
        "Of `mapyard.open(…)` and `mapyard.connect(…)`; see [the library](../library.md). Every "
        "method also takes `timeout` (seconds), `max_bytes` and `cancel` (a `threading.Event`).\n",
    ]
    for question in load_questions():
        fields = {field.name: field for field in question.parser.fields}
        names = [*question.leading, *(name for name in fields if name not in question.leading)]
        shown = [question.renamed.get(name, name) for name in question.leading]
        shown += ["*"] if len(names) > len(shown) else []
        parts.append(f"\n## {question.name}({', '.join([*shown, '…'])})\n")
        parts.append(f"Returns `{question.result.__name__}`. {_as_prose(question.doc)}\n")
        rows = (
            (
                f"`{question.renamed.get(name, name)}`",
                annotate(fields[name].type, fields[name].extra),
                fields[name].description or "how features look: see [features](../features.md)",
            )
            for name in names
        )
        parts.extend(_table(("Parameter", "Type", "Meaning"), rows))
    parts.append("\n# Results\n")
    for result in dict.fromkeys(question.result for question in load_questions()):
        if result is bytes:
            continue
        parts.append(f"\n## {result.__name__}\n\n{_as_prose(inspect.getdoc(result) or '')}\n")
        parts.extend(_table(("Member", "Meaning"), _members(result)))
    return "\n".join(parts)


def _as_prose(doc: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in doc.split("\n\n"))


def _members(result: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties of a result, with their first sentence."""
    for name, member in inspect.getmembers(result):
        doc = inspect.getdoc(member) or ""
        if name.startswith("_") or name == "item" or not doc:
            continue
        call = f"{name}()" if callable(member) else name
        yield f"`{call}`", doc.partition("\n\n")[0]


def _endpoints() -> str:
    document = build_openapi(collect(load_modules()), BASE_URL)
    common = ", ".join(f"`{code}`" for code in COMMON_CODES)
    parts = [
        "# Endpoints\n",
        document["info"]["description"],
        f"\nAny of them may answer {common}: see [errors](errors.md).\n",
    ]
    for name, entries in entries_of(document, BASE_URL):
        parts.append(f"\n## {name}\n")
        for entry in entries:
            parts.extend(_endpoint(entry))
    return "\n".join(parts)


def _endpoint(entry: dict[str, Any]) -> Iterator[str]:
    yield f"### {' '.join(entry['methods'])} {entry['path']}\n"
    marks = ["premium, 4 units"] * entry["premium"] + ["no key needed"] * entry["public"]
    yield f"**{entry['summary']}**" + (f" ({', '.join(marks)})" if marks else "") + "\n"
    yield re.sub(r"(?m)^ +", "", entry["description"]) + "\n"
    if entry["aliases"]:
        yield "Also at " + ", ".join(f"`{path}`" for path in entry["aliases"]) + ".\n"
    if entry["params"]:
        yield from _table(
            ("Parameter", "Type", "Meaning"),
            (
                (
                    f"`{param['name']}`" + (" (required)" if param["required"] else ""),
                    param["type"],
                    param["description"],
                )
                for param in entry["params"]
            ),
        )
    if entry["path"] in _NOT_RUN:
        yield _mark(entry["path"])
    if entry["curl"]:
        yield f"```sh\n{entry['curl']}\n```\n"
    for response in entry["responses"]:
        if response["status"] == "200":
            more = f"; headers {', '.join(response['headers'])}" if response["headers"] else ""
            yield f"Answers {response['types']}{more}."
    codes = {
        code
        for response in entry["responses"]
        for code in re.findall(r"`(\w+)`:", response["description"])
    }
    own = sorted(codes - set(COMMON_CODES))
    if own:
        yield "Errors of its own: " + ", ".join(f"`{code}`" for code in own) + "."
    yield ""


def _errors() -> str:
    rows = (
        (str(error.status), f"`{error.code}`", error.when, error.remedy) for error in ERROR_CODES
    )
    table = "\n".join(_table(("Status", "Code", "When", "What to do"), rows))
    return (
        "# Errors\n\nEvery error is JSON, also for unknown paths, wrong methods and crashes:\n\n"
        '```json\n{"error": {"code": "invalid_request", "message": "limit: must be at most 100, '
        'got 500",\n           "details": {"limit": ["must be at most 100, got 500"]}}}\n```\n\n'
        "The code is stable, the message is for people. 429 and 503 carry `Retry-After` in whole\n"
        "seconds; `x-should-retry: false` says that trying again does not help.\n\n"
        f"{table}"
    )


def _settings() -> str:
    rows = (
        (f"`{setting.variable}`", _show_default(setting.default), setting.description)
        for setting in list_settings()
    )
    table = "\n".join(_table(("Variable", "Default", "Meaning"), rows))
    return (
        "# Settings\n\nEnvironment variables, or lines of a file `.env` in the working folder; the "
        "environment wins.\nLists are JSON: "
        "`MAPYARD_CORS_ORIGINS='[\"https://maps.example.org\"]'`. "
        f"`mapyard settings` prints what is in force.\n\n{table}"
    )


def _show_default(value: Any) -> str:
    if value in ("", None, []):
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _commands() -> str:
    root: Any = typer.main.get_command(build_app(list(COMMANDS)))
    parts = ["# Commands\n", "`mapyard COMMAND --help` shows the same.\n"]
    for name, command in root.commands.items():
        parts.extend(_command(f"mapyard {name}", command))
    return "\n".join(parts)


def _command(name: str, command: Any) -> Iterator[str]:
    children = getattr(command, "commands", None)
    if children:
        yield f"## {name}\n"
        yield f"{_plain(command.help)}\n"
        for child_name, child in children.items():
            yield from _command(f"{name} {child_name}", child)
        return
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [
        param
        for param in command.params
        if param.param_type_name == "option" and not getattr(param, "hidden", False)
    ]
    usage = " ".join([name, *(_metavar(param) for param in arguments)])
    yield f"{'##' if name.count(' ') == 1 else '###'} {name}\n"
    text = _plain(command.help)
    if name in _NOT_RUN:
        text = re.sub(r"(?m)^(?=    \S)", lambda _: f"{_mark(name)}\n", text, count=1)
    yield f"{text}\n"
    yield f"```text\n{usage}{' [OPTIONS]' if options else ''}\n```\n"
    if command.epilog:
        yield f"{_plain(command.epilog)}\n"
    rows = [(f"`{_metavar(param)}`", "", _plain(param.help)) for param in arguments]
    rows += [
        (
            ", ".join(f"`{opt}`" for opt in (*param.opts, *param.secondary_opts)),
            _shown_default(param),
            _plain(param.help),
        )
        for param in options
    ]
    if rows:
        yield from _table(("Option", "Default", "Meaning"), rows)


def _mark(name: str) -> str:
    """Return the comment before an example that no test can run."""
    return f"<!-- not run: {_NOT_RUN[name]} -->\n"


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _shown_default(param: Any) -> str:
    default = param.default
    if param.required:
        return "required"
    if default is None or callable(default) or not param.show_default:
        return ""
    if isinstance(default, bool):
        return "" if not default else "on"
    if isinstance(default, str | int | float):
        return f"`{default}`" if default != "" else ""
    return ""


def _plain(text: str | None) -> str:
    """Return a help text without the marks of Rich, its examples as code."""
    return re.sub(r"(?m)^  (?=\S)", "    ", remove_markup((text or "").strip()))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""
