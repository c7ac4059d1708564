"""Features as tables of pandas, GeoPandas, polars and Arrow, each asked for by name if missing.

Columns: `id` (type/id), `geometry`, `lon` and `lat` (of points, else the middle of the box), then a
column per property in the order of their first appearance. A property that is a list or an object
is its JSON text, so that every column has one type.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import shapely

from mapyard.errors import MapyardError
from mapyard.library.results.shapes import make_shapes

if TYPE_CHECKING:
    import geopandas
    import pandas
    import polars
    import pyarrow

    from mapyard.library.results.feature import Written

_OURS: Final = ("id", "geometry", "lon", "lat")


class MissingPackage(MapyardError, ImportError):  # noqa: N818
    """An optional package is not installed."""

    status, code = 501, "not_installed"


def need(package: str, extra: str = "geo") -> Any:
    """Import an optional package; raise MissingPackage with the command that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingPackage(
            f"{package} is not installed; install it with: pip install 'mapyard[{extra}]'"
        ) from None


class Columns:
    """Features gathered into columns of equal length."""

    def __init__(self, features: Iterable[Written], columns: Sequence[str] | None) -> None:
        from mapyard.library.results.feature import load_written

        loaded = [load_written(written) for written in features]
        self.ids: list[str | None] = [feature.get("id") for feature in loaded]
        self.shapes = make_shapes([feature["geometry"] for feature in loaded])
        properties: list[Mapping[str, Any]] = [feature["properties"] for feature in loaded]
        names = list(columns) if columns is not None else list(dict.fromkeys(
            name for row in properties for name in row
        ))  # fmt: skip
        self.properties: dict[str, list[Any]] = {
            f"{name}_" if name in _OURS else name: [_as_cell(row.get(name)) for row in properties]
            for name in names
        }

    def middles(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return lon and lat of each feature, NaN where there is no geometry."""
        if not len(self.shapes):
            return np.empty(0), np.empty(0)
        bounds = shapely.bounds(self.shapes)
        return (bounds[:, 0] + bounds[:, 2]) / 2, (bounds[:, 1] + bounds[:, 3]) / 2


def _as_cell(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value


def to_geopandas(
    features: Iterable[Written], columns: Sequence[str] | None
) -> geopandas.GeoDataFrame:
    """Return a GeoDataFrame in EPSG:4326."""
    geopandas = need("geopandas")
    held = Columns(features, columns)
    return geopandas.GeoDataFrame(
        {"id": held.ids, **held.properties}, geometry=list(held.shapes), crs="EPSG:4326"
    )


def to_pandas(features: Iterable[Written], columns: Sequence[str] | None) -> pandas.DataFrame:
    """Return a DataFrame with lon and lat in place of the geometry."""
    pandas = need("pandas")
    held = Columns(features, columns)
    lon, lat = held.middles()
    return pandas.DataFrame({"id": held.ids, "lon": lon, "lat": lat, **held.properties})


def to_polars(features: Iterable[Written], columns: Sequence[str] | None) -> polars.DataFrame:
    """Return a polars DataFrame."""
    polars = need("polars")
    return polars.from_arrow(to_arrow(features, columns))


def to_arrow(features: Iterable[Written], columns: Sequence[str] | None) -> pyarrow.Table:
    """Return an Arrow table with the metadata of GeoParquet and GeoArrow."""
    pa = need("pyarrow")
    held = Columns(features, columns)
    lon, lat = held.middles()
    arrays: dict[str, Any] = {
        "id": pa.array(held.ids, pa.string()),
        "geometry": pa.array(shapely.to_wkb(held.shapes).tolist(), pa.binary()),
        "lon": pa.array(lon, from_pandas=True),
        "lat": pa.array(lat, from_pandas=True),
    }
    arrays |= {name: _to_array(pa, values) for name, values in held.properties.items()}
    return mark_geometry(pa, pa.table(arrays))


def _to_array(pa: Any, values: list[Any]) -> Any:
    """Return a column; one whose values are of several kinds is text."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        texts = [v if v is None or isinstance(v, str) else orjson.dumps(v).decode() for v in values]
        return pa.array(texts, pa.string())


def mark_geometry(pa: Any, table: Any) -> Any:
    """Return the table with its column `geometry` marked as WKB in longitude and latitude."""
    schema = table.schema
    index = schema.get_field_index("geometry")
    field = schema.field(index).with_metadata(
        {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": '{"crs":"OGC:CRS84"}'}
    )
    geo = {
        "version": "1.1.0",
        "primary_column": "geometry",
        "columns": {"geometry": {"encoding": "WKB", "geometry_types": []}},
    }
    return table.cast(schema.set(index, field)).replace_schema_metadata({"geo": orjson.dumps(geo)})
