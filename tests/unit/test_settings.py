from __future__ import annotations

from collections.abc import Iterator

import pytest

from mapyard.errors import MapyardError
from mapyard.settings import get_settings


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def test_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPYARD_PORT", "4999")
    monkeypatch.setenv("MAPYARD_CORS_ORIGINS", '["https://a.example"]')
    settings = get_settings()
    assert (settings.port, settings.cors_origins) == (4999, ["https://a.example"])
    assert get_settings() is settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAPYARD_PORT", "abc"),
        ("MAPYARD_WORKERS", "0"),
        ("MAPYARD_LOG_LEVEL", "loud"),
        ("MAPYARD_SIGNUP", "maybe"),
        ("MAPYARD_FORM_PORTS", '["nominatim"]'),
        ("MAPYARD_FORM_PORTS", '["moon:8080"]'),
        ("MAPYARD_FORM_PORTS", '["osrm:8080", "ors:8080"]'),
        ("MAPYARD_FORM_PORTS", '["osrm:70000"]'),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(MapyardError, match=name) as caught:
        get_settings()
    assert "\n" not in caught.value.message


def test_a_list_that_is_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPYARD_CORS_ORIGINS", "https://a.example")
    with pytest.raises(MapyardError, match=r"cors_origins.*JSON"):
        get_settings()
