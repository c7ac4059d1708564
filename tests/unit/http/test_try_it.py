"""Printed curl commands become the requests that curl would send."""

from __future__ import annotations

import re

import pytest

from mapyard.http.reference.guides import render_guide
from mapyard.http.reference.try_it import Request, find_requests, read_curl, write_form
from mapyard.library.documents import list_documents

FORM = "application/x-www-form-urlencoded"
AT = "http://localhost:4000"


@pytest.mark.parametrize(
    ("command", "request_"),
    [
        (f"curl -H 'X-API-Key: k' {AT}/a?b=1", Request("GET", "/a?b=1", None, "")),
        (f"curl -sS {AT}/a -o map.png", Request("GET", "/a", None, "")),
        (f"curl -X POST {AT}/a", Request("POST", "/a", "", "")),
        (f"curl {AT}/a -d x=1 -d y=2", Request("POST", "/a", "x=1&y=2", FORM)),
        (f"curl {AT}/a --data-urlencode 'q=a b&c'", Request("POST", "/a", "q=a%20b%26c", FORM)),
        (f"curl -G {AT}/a?x=1 -d y=2", Request("GET", "/a?x=1&y=2", None, "")),
        (f"curl {AT}/a --json '{{}}'", Request("POST", "/a", "{}", "application/json")),
        (
            f"curl -X PUT -H 'content-type: text/csv' -d a,b {AT}/a",
            Request("PUT", "/a", "a,b", "text/csv"),
        ),
        (f"curl {AT}/a   # as it is", Request("GET", "/a", None, "")),
        (f"curl -d @file {AT}/a", None),
        (f"curl -T file {AT}/a", None),
        (f"curl {AT}/a | jq .", None),
        (f"curl {AT}/jobs/$ID", None),
        ("curl https://example.com/a", None),
        (f"curl {AT}/a {AT}/b", None),
        (f"curl {AT}/a -d", None),
        (f"curl '{AT}/a", None),
    ],
)
def test_what_a_command_sends(command: str, request_: Request | None) -> None:
    assert read_curl(command) == request_


def test_a_block_may_have_several_and_other_lines() -> None:
    first = f"curl \\\n  {AT}/a"
    code = f"mkdir data\n{first}\n# later\ncurl {AT}/b -d '{{\n\"c\": 1}}'\nmapyard status\n"
    assert [found.path for found in find_requests(code)] == ["/a", "/b"]


def test_what_is_printed_is_no_html() -> None:
    html = str(write_form(Request("POST", '/a"><script>', "</textarea><script>", 'x"y')))
    assert "<script>" not in html


@pytest.mark.parametrize("page", list_documents(), ids=lambda page: page.name)
def test_almost_every_curl_of_a_guide_can_be_tried(page: object) -> None:
    """Those that send a file, or ask another port, cannot."""
    text = re.sub(r"<!-- not run.*?-->\n```.*?```", "", page.text, flags=re.DOTALL)  # type: ignore[attr-defined]
    code = [line for line in text.splitlines() if re.match(r"(    )?curl ", line)]
    forms = render_guide(page, has_accounts=True).decode().count('class="try-box"')  # type: ignore[arg-type]
    assert forms >= 0.9 * len(code) - 1
