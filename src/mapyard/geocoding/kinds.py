"""Kinds of documents and the layers they belong to."""

from __future__ import annotations

from typing import Final

PLACE, STREET, POI, HOUSE, POSTCODE = 0, 1, 2, 3, 4
#: Kind of a document → its layer.
LAYERS: Final = ("admin", "address", "poi", "address", "address")
NAMES: Final = ("place", "street", "poi", "house", "postcode")
#: Numbers of houses are sorted by document * HOUSE_SHIFT + number + 1.
HOUSE_SHIFT: Final = 1 << 20
