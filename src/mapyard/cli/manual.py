"""Man pages and completions of shells, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from mapyard.cli import COMMANDS, COMPLETION, build_app
from mapyard.cli.help import remove_markup
from mapyard.cli.overview import BEGIN
from mapyard.version import __version__

#: Shell → where its completion belongs, below /usr/share or /usr/local/share.
COMPLETIONS: Final = {
    "bash": "bash-completion/completions/mapyard",
    "zsh": "zsh/site-functions/_mapyard",
    "fish": "fish/vendor_completions.d/mapyard.fish",
}


def write_manual() -> dict[str, str]:
    """Return file name below a share folder → text: a page for each command, and completions."""
    import typer.main

    root: Any = typer.main.get_command(build_app(list(COMMANDS)))
    files = {"man/man1/mapyard.1": _write_overview()}
    for name, command in root.commands.items():
        files[f"man/man1/mapyard-{name}.1"] = _write_page(name, command)
    return files | {path: write_completion(shell) for shell, path in COMPLETIONS.items()}


def write_completion(shell: str) -> str:
    """Return what lets a shell complete commands and options."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="mapyard", complete_var=COMPLETION, shell=shell)
    if shell == "zsh":  # run as the function that is loaded, the file has to answer as well
        script += '\n\n_mapyard_completion "$@"'
    return script + "\n"


def _write_overview() -> str:
    lines = [*_head("mapyard", "a complete map API from one OpenStreetMap extract")]
    lines += [".SH SYNOPSIS", r".B mapyard", r"\fICOMMAND\fR [\fIOPTIONS\fR]"]
    lines += [".SH DESCRIPTION", _text("Begin with:")]
    for example, meaning in BEGIN:
        lines += [".TP", rf"\fB{_text(example)}\fR", _text(meaning)]
    by_panel: dict[str, list[str]] = {}
    for name, command in COMMANDS.items():
        by_panel.setdefault(command.panel, []).append(name)
    for panel, names in by_panel.items():
        lines.append(f".SH {panel.upper()}")
        for name in names:
            page = rf"\fBmapyard\-{_text(name)}\fR(1)"
            lines += [".TP", page, _text(COMMANDS[name].summary)]
    lines += [".SH OPTIONS"]
    for option, meaning in (
        ("-h, --help", "Show all commands, or a command's options."),
        ("-V, --version", "Show the version."),
    ):
        lines += [".TP", rf"\fB{_text(option)}\fR", _text(meaning)]
    lines += [
        ".SH ENVIRONMENT",
        _text("Settings are variables that begin with MAPYARD_, or lines of a file .env:"),
        r"\fBmapyard settings\fR lists them.",
    ]
    return "\n".join(lines) + "\n"


def _write_page(name: str, command: Any) -> str:
    lines = [*_head(f"mapyard-{name}", COMMANDS[name].summary.rstrip("."))]
    lines += [".SH SYNOPSIS", *_synopsis(f"mapyard {name}", command)]
    lines += [".SH DESCRIPTION", *_paragraphs(command.help)]
    children = getattr(command, "commands", None) or {}
    lines += _parameters(".SH", command)
    for child_name, child in children.items():
        lines += [f".SH {_text(f'mapyard {name} {child_name}'.upper())}"]
        lines += [*_synopsis(f"mapyard {name} {child_name}", child), ".PP"]
        lines += [*_paragraphs(child.help), *_parameters(".SS", child)]
    lines += [".SH SEE ALSO", r"\fBmapyard\fR(1)"]
    return "\n".join(lines) + "\n"


def _head(page: str, summary: str) -> Iterator[str]:
    yield r".\" Written by `mapyard`, of its own commands."
    yield f'.TH {_text(page).upper()} 1 "" "Mapyard {_text(__version__)}" "Mapyard"'
    yield ".SH NAME"
    yield rf"{_text(page)} \- {_text(summary[:1].lower() + summary[1:])}"


def _synopsis(name: str, command: Any) -> Iterator[str]:
    words = "".join(
        rf" \fI{_text(_metavar(param))}\fR"
        for param in command.params
        if param.param_type_name == "argument"
    )
    if getattr(command, "commands", None):
        words = r" \fICOMMAND\fR"
    yield rf"\fB{_text(name)}\fR{words} [\fIOPTIONS\fR]"


def _parameters(heading: str, command: Any) -> Iterator[str]:
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    if shown:
        yield f"{heading} OPTIONS" if heading == ".SH" else f"{heading} Options"
    for param in shown:
        is_argument = param.param_type_name == "argument"
        yield ".TP"
        if is_argument:
            yield rf"\fI{_text(_metavar(param))}\fR"
        else:
            names = ", ".join((*param.opts, *param.secondary_opts))
            takes = "" if param.is_flag or param.count else rf" \fI{_text(_metavar(param))}\fR"
            yield rf"\fB{_text(names)}\fR{takes}"
        yield _text(remove_markup(param.help or "")) or r"\&"


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _paragraphs(help_text: str | None) -> Iterator[str]:
    """Yield a help text: paragraphs flow, what is indented is an example."""
    for index, part in enumerate(re.split(r"\n\s*\n", remove_markup(help_text or "").strip("\n"))):
        if part.startswith("  "):
            yield ".PP\n.RS 4\n.nf"
            yield _text(part.strip())
            yield ".fi\n.RE"
        elif part:
            yield (".PP\n" if index else "") + _text(" ".join(part.split()))


def _text(text: str) -> str:
    r"""Escape what roff would read: backslashes, hyphens, and dots and quotes that begin a line."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", escaped)
