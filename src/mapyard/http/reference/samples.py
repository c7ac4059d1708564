"""Requests as programs: what a curl command sends, in Python and in JavaScript."""

from __future__ import annotations

import pprint
from typing import Any, Final

import orjson

#: Where a reader puts the own key.
KEY: Final = "YOUR_KEY"


def write_python(
    method: str, url: str, body: Any, *, with_key: bool, is_json: bool, uploads: bool
) -> str:
    """Return a program with httpx that sends a request and prints the answer."""
    arguments = [orjson.dumps(url).decode()]
    if with_key:
        arguments.append(f'headers={{"X-API-Key": "{KEY}"}}')
    if uploads:
        arguments.append('content=Path("FILE").read_bytes()')
    elif body is not None:
        arguments.append(f"json={_indent(pprint.pformat(body, width=80, sort_dicts=False))}")
    arguments.append("timeout=60")  # httpx gives up after 5 s; queries may take 30
    lines = ["import httpx", ""]
    if uploads:
        lines = ["from pathlib import Path", "", *lines]
    lines += [
        f"answer = httpx.{method.lower()}(",
        *(f"    {argument}," for argument in arguments),
        ")",
    ]
    lines += ["answer.raise_for_status()"]
    lines += ["print(answer.json())" if is_json else 'print(len(answer.content), "bytes")']
    return "\n".join(lines)


def write_javascript(
    method: str, url: str, body: Any, *, with_key: bool, is_json: bool, uploads: bool
) -> str:
    """Return a module with fetch that sends a request and prints the answer."""
    options = []
    if method != "GET":
        options.append(f'method: "{method}"')
    headers = [f'"X-API-Key": "{KEY}"'] if with_key else []
    if body is not None and not uploads:
        headers.append('"Content-Type": "application/json"')
    if headers:
        options.append(f"headers: {{ {', '.join(headers)} }}")
    if uploads:
        options.append("body: file")
    elif body is not None:
        text = orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
        options.append(f"body: JSON.stringify({_indent(text, '  ')})")
    address = orjson.dumps(url).decode()
    # Of a file input; a Blob serves as well.
    before = (
        ['const file = document.querySelector("input[type=file]").files[0];'] if uploads else []
    )
    call = f"fetch({address}"
    if options:
        inner = "".join(f"\n  {option.removesuffix(',')}," for option in options)
        call += f", {{{inner}\n}}"
    read = "await answer.json()" if is_json else "(await answer.blob()).size"
    return "\n".join(
        (
            *before,
            f"const answer = await {call});",
            "if (!answer.ok) throw new Error(await answer.text());",
            f"console.log({read});",
        )
    )


def _indent(text: str, by: str = "    ") -> str:
    """Return a text whose lines but the first are further in."""
    return text.replace("\n", f"\n{by}")
