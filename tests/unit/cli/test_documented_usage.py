"""Every `mapyard` command that README and docs print is one there is, with options that it takes.

They are parsed here, also those that tests/contract/test_documented_shell.py cannot run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from code_blocks import read_blocks
from mapyard.cli import build_app, find_commands

STARTS = re.compile(r"(?:^|[|;&] *|(?<==)\S+ |--rm .* )((?:\S*/bin/)?mapyard (?=[a-z]).*)")
ENDS = {"|", "<", ">", ">>", "&&", "||", ";", "&", "2>", "(", ")"}


def read_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield each command with where it is, its words up to a pipe or the like."""
    for block in read_blocks("sh"):
        for line in block.text.replace("\\\n", " ").splitlines():
            found = STARTS.search(line)
            if found is None:
                continue
            lexer = shlex.shlex(found[1], posix=True, punctuation_chars="|<>&;()")
            lexer.whitespace_split = True
            words = []
            for word in lexer:
                if word in ENDS:
                    break
                words.append(word)
            yield f"{block.page.name}: {' '.join(words[1:])}", words[1:]


COMMANDS = dict(read_commands())


def parse(words: list[str]) -> None:
    """Raise click.ClickException when the command line does not take these words."""
    command: Any = typer.main.get_command(build_app([words[0]]))
    context = click.Context(command, info_name="mapyard")
    while hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, words)
        if hasattr(command, "resolve_command"):
            context = click.Context(command, info_name=name, parent=context)
    command.make_context(name, list(words), parent=context)


def test_there_are_commands_to_look_at() -> None:
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("where", COMMANDS)
def test_printed_commands_are_understood(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = COMMANDS[where]
    monkeypatch.chdir(tmp_path)
    for word in words:
        if re.fullmatch(r"[\w-]+(\.\w+)+", word):
            Path(word).touch()  # some commands look whether a file is there
    assert words[0] in find_commands()
    parse(words)
