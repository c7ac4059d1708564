"""Bar charts as SVG, drawn on the server: no script, no foreign origin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup, escape

_WIDTH: Final = 960
_HEIGHT: Final = 230
_LEFT: Final = 52
_BOTTOM: Final = 26
_TOP: Final = 10
_LEAST_HEIGHT: Final = 1.5
_LABEL_WIDTH: Final = 34


class Bar(NamedTuple):
    """One bar: its label below, what it says when pointed at, its parts from the ground up."""

    label: str
    title: str
    parts: Sequence[tuple[str, int]]


def draw_bars(bars: Sequence[Bar], summary: str) -> Markup:
    """Return stacked bars with a scale; `summary` says in words what is to be seen."""
    most = max((sum(value for _, value in bar.parts) for bar in bars), default=0)
    top = nice_ceiling(most)
    plot_height = _HEIGHT - _TOP - _BOTTOM
    step = (_WIDTH - _LEFT) / max(1, len(bars))
    width = max(1.0, min(step - 3, 46))
    pieces = [
        # On a phone it is wider than the page, and scrolls: by keys too.
        '<div class="plot" tabindex="0" role="group" aria-label="Chart">'
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(summary)}">'
    ]
    for share in (0.0, 0.5, 1.0):
        y = _TOP + plot_height * (1 - share)
        pieces.append(f'<path class="line" d="M{_LEFT} {y:.1f}H{_WIDTH}"/>')
        pieces.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{shorten(top * share)}</text>'
        )
    every = max(1, math.ceil(len(bars) / 16))
    for i, bar in enumerate(bars):
        x = _LEFT + step * i + (step - width) / 2
        pieces.append(f'<g class="day"><title>{escape(bar.title)}</title>')
        # A rectangle over the whole height, so that also a low bar is easy to point at.
        pieces.append(
            f'<rect x="{_LEFT + step * i:.1f}" y="{_TOP}" width="{step:.1f}" '
            f'height="{plot_height}" fill="none" pointer-events="all"/>'
        )
        y = float(_TOP + plot_height)
        parts = [(name, value) for name, value in bar.parts if value]
        heights = _find_heights([value for _, value in parts], top, plot_height)
        for (name, _), height in zip(parts, heights, strict=True):
            y -= height
            pieces.append(
                f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" rx="1.5"/>'
            )
        pieces.append("</g>")
        if i % every == (len(bars) - 1) % every:
            place = min(x + width / 2, _WIDTH - _LABEL_WIDTH / 2)
            pieces.append(
                f'<text x="{place:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">'
                f"{escape(bar.label)}</text>"
            )
    pieces.append("</svg></div>")
    return Markup("".join(pieces))  # noqa: S704 - every text was escaped above


def _find_heights(values: Sequence[int], top: float, plot_height: float) -> list[float]:
    """Return heights, small ones tall enough to be seen: the tallest makes room where it must."""
    heights = [max(_LEAST_HEIGHT, plot_height * value / top) for value in values]
    if sum(heights) > plot_height:
        heights[heights.index(max(heights))] -= sum(heights) - plot_height
    return heights


def nice_ceiling(value: float) -> float:
    """Return the next of 2, 4, 6, 10, 20, 40, … at or above a value: half of it is whole."""
    if value <= 2:
        return 2
    unit = 10 ** math.floor(math.log10(value))
    return next(step * unit for step in (1, 2, 4, 6, 10) if step * unit >= value)


def shorten(value: float) -> str:
    """Return a number as an axis shows it: 1.5k, 20M."""
    for size, mark in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{mark}"
    return f"{value:g}"
