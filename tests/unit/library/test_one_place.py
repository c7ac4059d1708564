"""No answer is put together twice: what asks does not write features of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mapyard

SRC = Path(mapyard.__file__).parent
#: Floors above the library: they parse, ask once and write.
ABOVE = ("http/routes", "cli", "mcp", "server")
FEATURE = re.compile(r'"(?:FeatureCollection|Feature)"\s*[,}:\]]|"type":\s*"Feature')


@pytest.mark.parametrize("folder", ABOVE)
def test_features_are_made_below(folder: str) -> None:
    for page in (SRC / folder).rglob("*.py"):
        text = re.sub(r"schema=.*", "", page.read_text())
        assert not FEATURE.search(text), f"{page.name} puts a feature together"


def test_the_check_finds_what_it_seeks() -> None:
    assert FEATURE.search('{"type": "Feature", "geometry": None}')
    assert any(FEATURE.search(page.read_text()) for page in (SRC / "library").rglob("*.py"))


def test_routes_ask_the_library_only() -> None:
    """Engines are named in routes for constants, formats and parts, never to be asked."""
    asking = re.compile(
        r"\b(find_routes|find_nearest|find_isochrones|compute_matrix|match_trace|optimize_order|"
        r"find_heights|make_profile|run_text|list_features|list_nearby|search_names|answer_rows|"
        r"geocoder\.\w+)\("
    )
    for page in (SRC / "http" / "routes").glob("*.py"):
        assert not asking.search(page.read_text()), page.name
