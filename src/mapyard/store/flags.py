"""Bits of the flag columns of ways and relations."""

from __future__ import annotations

from typing import Final

#: A closed way.
CLOSED: Final = 1
#: Its geometry is a Polygon or MultiPolygon.
AREA: Final = 2
#: Members are missing, or it could not be assembled as it should.
TAINTED: Final = 4
