"""GeoJSON features as Python objects: light, made from bytes or mappings when looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

import orjson

from mapyard.library.results import tables

if TYPE_CHECKING:
    import geopandas
    import pandas
    import polars
    import pyarrow
    import shapely

#: A feature as its JSON text, or as a mapping that orjson can write.
type Written = bytes | Mapping[str, Any]

JSON_OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
#: Features made at once while iterating.
_BATCH: Final = 1_000


def load_written(written: Written) -> dict[str, Any]:
    """Return a feature as plain Python values."""
    text = written if isinstance(written, bytes) else orjson.dumps(written, option=JSON_OPTIONS)
    loaded: dict[str, Any] = orjson.loads(text)
    return loaded


class Feature:
    """One GeoJSON feature; `feature["name"]` reads a property, `feature.get` one that may lack."""

    __slots__ = ("_loaded", "written")

    def __init__(self, written: Written) -> None:
        #: What it was made from: JSON text or a mapping.
        self.written = written
        self._loaded: dict[str, Any] | None = None

    def to_geojson(self) -> dict[str, Any]:
        """Return the feature as a GeoJSON mapping of plain Python values."""
        if self._loaded is None:
            self._loaded = load_written(self.written)
        return self._loaded

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """Return the feature for shapely, geopandas, folium and the like."""
        return self.to_geojson()

    @property
    def id(self) -> str | None:
        """Return the element as type/id, such as "way/94399684"; None for what is no element."""
        value = self.to_geojson().get("id")
        return None if value is None else str(value)

    @property
    def properties(self) -> dict[str, Any]:
        """Return all properties."""
        properties: dict[str, Any] = self.to_geojson()["properties"]
        return properties

    @property
    def geometry(self) -> shapely.Geometry | None:
        """Return the geometry as shapely has it, degrees, lon lat; None where there is none."""
        from mapyard.library.results.shapes import make_shape

        return make_shape(self.to_geojson()["geometry"])

    @property
    def lonlat(self) -> tuple[float, float]:
        """Return the position of a point, the middle of the box of anything else, degrees."""
        geometry = self.to_geojson()["geometry"]
        if geometry is not None and geometry["type"] == "Point":
            return geometry["coordinates"][0], geometry["coordinates"][1]
        shape = self.geometry
        if shape is None or shape.is_empty:
            raise ValueError(f"{self.id or 'this feature'} has no geometry")
        west, south, east, north = shape.bounds
        return (west + east) / 2, (south + north) / 2

    def get(self, name: str, default: Any = None) -> Any:
        """Return a property, or the default."""
        return self.properties.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.properties[name]

    def __contains__(self, name: object) -> bool:
        return name in self.properties

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Feature) and self.to_geojson() == other.to_geojson()

    __hash__ = None  # type: ignore[assignment] # equal by content, which may be changed

    def __repr__(self) -> str:
        properties = self.properties
        label = properties.get("display_name") or properties.get("name") or ""
        parts = [part for part in (self.id or "", str(label)) if part]
        return f"<{type(self).__name__} {' '.join(parts)}>" if parts else f"<{type(self).__name__}>"

    def _repr_html_(self) -> str:
        from mapyard.library.results.notebook import draw

        return draw([self.to_geojson()], repr(self))


class Shown:
    """HTML that a notebook shows."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return self.html


class Features(Sequence[Feature]):
    """A GeoJSON FeatureCollection: a sequence of features that are made when looked at.

    `members` are the collection's further members, such as `missing` of a batch.
    """

    #: What single features are made into.
    item: type[Feature] = Feature

    def __init__(
        self, written: Sequence[Written] = (), members: Mapping[str, Any] | None = None
    ) -> None:
        self._written = written
        self.members: dict[str, Any] = dict(members or {})
        #: Draws tiles under the features in notebooks; set by the map that answered.
        self.tiles: Callable[[int, int, int], bytes] | None = None

    # What a subclass with another source replaces.

    def _take(self, start: int, stop: int) -> Sequence[Written]:
        """Return the features of a range as far as there are any."""
        return self._written[start:stop]

    def _size(self) -> int:
        return len(self._written)

    # The sequence.

    def iter_written(self) -> Iterator[Written]:
        """Yield all features as they are, JSON text or mappings."""
        start = 0
        while batch := self._take(start, start + _BATCH):
            yield from batch
            start += len(batch)

    def __len__(self) -> int:
        return self._size()

    def __bool__(self) -> bool:
        return bool(self._take(0, 1))

    def __iter__(self) -> Iterator[Feature]:
        for written in self.iter_written():
            yield self.item(written)

    @overload
    def __getitem__(self, index: int) -> Feature: ...
    @overload
    def __getitem__(self, index: slice) -> Features: ...
    def __getitem__(self, index: int | slice) -> Feature | Features:
        if isinstance(index, slice):
            if index.step in (None, 1) and (index.start or 0) >= 0 and (index.stop or -1) >= 0:
                part = list(self._take(index.start or 0, index.stop))
            else:
                part = list(self._take(0, len(self)))[index]
            return type(self)._of(part, self)
        if index < 0:
            index += len(self)
        found = self._take(index, index + 1) if index >= 0 else ()
        if not found:
            raise IndexError(f"there are {len(self)} features")
        return self.item(found[0])

    @classmethod
    def _of(cls, written: Sequence[Written], other: Features) -> Features:
        made = Features(written)
        made.item, made.tiles = other.item, other.tiles
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self.to_geojson() == other.to_geojson()

    __hash__ = None  # type: ignore[assignment] # equal by content

    def __repr__(self) -> str:
        names = [f.get("display_name") or f.get("name") or f.id for f in self[:3]]
        shown = ", ".join(str(name) for name in names if name)
        count = len(self)
        more = ", …" if shown and count > 3 else ""
        return f"<{type(self).__name__}: {count} found{': ' if shown else ''}{shown}{more}>"

    # Other forms.

    def to_collection(self) -> dict[str, Any]:
        """Return the whole as a mapping that orjson can write, features as they were made."""
        return {
            "type": "FeatureCollection",
            **self.members,
            "features": [
                orjson.Fragment(written) if isinstance(written, bytes) else written
                for written in self.iter_written()
            ],
        }

    def to_geojson(self) -> dict[str, Any]:
        """Return the whole as a GeoJSON FeatureCollection of plain Python values."""
        members = orjson.loads(orjson.dumps(self.members, option=JSON_OPTIONS))
        features = [load_written(written) for written in self.iter_written()]
        return {"type": "FeatureCollection", **members, "features": features}

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """Return the whole for shapely, geopandas, folium and the like."""
        return self.to_geojson()

    def to_geopandas(self, columns: Sequence[str] | None = None) -> geopandas.GeoDataFrame:
        """Return a GeoDataFrame in EPSG:4326, a column per property (of `columns` only if given).

        Needs geopandas: pip install 'mapyard[geo]'.
        """
        return tables.to_geopandas(self.iter_written(), columns)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a DataFrame: id, lon, lat and a column per property; needs pandas."""
        return tables.to_pandas(self.iter_written(), columns)

    def to_polars(self, columns: Sequence[str] | None = None) -> polars.DataFrame:
        """Return a polars DataFrame: id, geometry (WKB), lon, lat, properties; needs polars."""
        return tables.to_polars(self.iter_written(), columns)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """Return an Arrow table: id, geometry (WKB, as GeoArrow marks it), lon, lat, properties.

        Needs pyarrow. `pyarrow.parquet.write_table` makes a GeoParquet file of it.
        """
        return tables.to_arrow(self.iter_written(), columns)

    def to_html(self, target: str | Path, title: str = "") -> None:
        """Write an interactive map as one HTML file that needs no network."""
        from mapyard.library.results.page import write_page

        Path(target).write_text(write_page(self, title), encoding="utf-8")

    def show(self) -> Shown:
        """Return an interactive map for a notebook; it needs no network."""
        from mapyard.library.results.page import write_frame

        return Shown(write_frame(self))

    def _repr_html_(self) -> str:
        from mapyard.library.results.notebook import draw_features

        return draw_features(self)
