from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mapyard.web.charts import Bar, draw_bars, nice_ceiling, shorten
from mapyard.web.usage import write_csv
from mapyard.web.visit import format_micro_usd


@example([("", 1, 99_305), ("", 1, 99_999), ("", 1, 1)])
@given(st.lists(st.tuples(st.text(max_size=5), st.integers(0, 10**9), st.integers(0, 10**9))))
def test_charts_are_well_formed_and_inside_their_frame(rows: list[tuple[str, int, int]]) -> None:
    printable = [("".join(c for c in text if c.isprintable()), a, b) for text, a, b in rows]
    bars = [Bar(t, f'"{t}" <&>', (("standard", a), ("premium", b))) for t, a, b in printable]
    root = ElementTree.fromstring(draw_bars(bars, 'a "summary" <&>'))
    assert [child.tag for child in root] == ["svg"]
    for rect in root.iter("rect"):
        assert float(rect.get("y", "-1")) >= 9.9
        assert float(rect.get("height", "-1")) >= 1.4


@given(st.floats(0, 1e12))
def test_the_scale_ends_at_or_above_the_highest_bar(value: float) -> None:
    top = nice_ceiling(value)
    assert value <= top * (1 + 1e-9)
    assert top <= max(2, value * 2.5001)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1, "1"), (1500, "1.5k"), (20_000_000, "20M")]
)
def test_short_numbers(value: float, text: str) -> None:
    assert shorten(value) == text


@pytest.mark.parametrize(
    ("micro", "text"),
    [(0, "$0.00"), (500, "$0.0005"), (50_000_000, "$50.00"), (1_234_567_890_000, "$1,234,567.89"),
     (-1_500_000, "−$1.50")],
)  # fmt: skip
def test_amounts(micro: int, text: str) -> None:
    assert format_micro_usd(micro) == text


def test_names_do_not_become_formulas() -> None:
    row = dict.fromkeys(
        ("day", "endpoint", "key", "status", "kind", "requests", "units", "overage_requests",
         "mean_ms"), 1,
    )  # fmt: skip
    text = "".join(write_csv(iter([row | {"key_name": "=1+1"}, row | {"key_name": "a,b"}])))
    assert ",'=1+1," in text
    assert ',"a,b",' in text
