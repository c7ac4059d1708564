"""Every parameter of every form with values that it cannot have: refused, never a failure."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mapyard import forms
from mapyard.http.endpoints import Endpoint, collect
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES
from servers import copy_data

ENDPOINTS = [one for one in collect(forms.load_modules()) if one.examples]
#: Texts in a query.
TEXTS = (
    "", " ", "x", "-1", "0", "1e308", "nan", "inf", "999999999999999999999", "0.5", "true", "null",
    "[]", "{}", "[[1,2]]", '{"a":1}', "1,2,3,4,5", "91,181", "a;b|c", "'\"<>&%", "\x00\x1f",
    "é☃\U0001f600", "../../etc/passwd", "a" * 3_000,
)  # fmt: skip
#: Values in a body.
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    0.5,
    10**30,
    "",
    "x",
    "nan",
    "\x00",
    [],
    {},
    [[]],
    [{}],
    [None],
    [1],
    [[1, 2], [3, 4]],
    {"a": 1},
    [["a", "b"]],
    "a" * 3_000,
    [[[[[1]]]]],
)
#: A refusal by name is no failure.
REFUSED = 501
#: Each parameter gets every so many-th value, another first one than its neighbor; 1 gives all.
STEP = int(os.environ.get("WRONG_VALUES_STEP", "3"))


@pytest.fixture(scope="module")
def client(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalClient]:
    data = copy_data(monaco, tmp_path_factory.mktemp("wrong") / "data")
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with LocalClient(Settings(data=data)) as made:
        yield made


def ask(client: LocalClient, endpoint: Endpoint, method: str, params: Mapping[str, Any]) -> Any:
    path = endpoint.path
    rest = dict(params)
    for name in list(rest):
        if f"{{{name}}}" in path:
            part = quote(str(rest.pop(name)), safe=",;:()")
            path = path.replace(f"{{{name}}}", part or "-")
    if method == "GET":
        texts = {n: v if isinstance(v, str) else json.dumps(v) for n, v in rest.items()}
        return client.get(path, params=texts)
    return client.request(method, path, json=rest)


@pytest.mark.xdist_group("forms_fuzz")
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=[one.path for one in ENDPOINTS])
def test_no_value_makes_a_form_fail(client: LocalClient, endpoint: Endpoint) -> None:
    example = dict(endpoint.examples[0].params)
    names = [*endpoint.parser.names, *(endpoint.refused or {}), "no_such_parameter"]
    asked = 0
    for method in endpoint.methods:
        values = TEXTS if method == "GET" else VALUES
        for place, name in enumerate(dict.fromkeys(names)):
            for value in values[place % STEP :: STEP]:
                answer = ask(client, endpoint, method, {**example, name: value})
                asked += 1
                told = (method, name, value, answer.text[:300])
                assert answer.status_code < 500 or answer.status_code == REFUSED, told
                if answer.status_code >= 400 and method == "GET":
                    assert answer.text, told
    assert asked >= 3 * len(set(names))
