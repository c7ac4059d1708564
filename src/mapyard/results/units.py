"""Figures as people read them."""

from __future__ import annotations


def format_distance(meters: float) -> str:
    """Return "850 m" or "12.3 km"."""
    return f"{meters:.0f} m" if meters < 1_000 else f"{meters / 1_000:.1f} km"


def format_duration(seconds: float) -> str:
    """Return "45 s", "12 min" or "3 h 05 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def format_area(square_meters: float) -> str:
    """Return "1.27 km²"."""
    return f"{square_meters / 1e6:,.2f} km²"
