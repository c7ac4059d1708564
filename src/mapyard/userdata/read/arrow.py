"""GeoParquet, GeoPackage and Shapefile: read in batches of columns by pyarrow and GDAL."""

from __future__ import annotations

import math
import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
import orjson
import shapely

from mapyard.errors import NotInstalled
from mapyard.userdata.read.crs import make_transform
from mapyard.userdata.read.places import Placer, find_place
from mapyard.userdata.rows import (
    PORTION,
    Geocode,
    Geometries,
    ImportFailed,
    Options,
    Portion,
    Problems,
    check_names,
)

#: What a zip may hold: files, bytes in all, and bytes per byte packed.
_MAX_FILES: Final = 1_000
_MAX_RATIO: Final = 200
_SHAPEFILE: Final = (".shp", ".shx", ".dbf", ".prj", ".cpg")
_NAMES: Final = {"gpkg": "GeoPackage", "shapefile": "Shapefile"}
_HEADS: Final = {"gpkg": b"SQLite format 3\0", "shapefile": b"\x00\x00\x27\x0a"}
#: Drivers of GDAL that open what a file names, on this machine or elsewhere.
_SKIPPED: Final = (
    "VRT", "OGR_VRT", "GDALG", "HTTP", "WFS", "OAPIF", "CSW", "WCS", "WMS", "WMTS", "Carto",
    "Elasticsearch", "AmigoCloud", "PLSCENES", "NGW", "MongoDBv3", "PostgreSQL", "MySQL", "GMLAS",
    "OGCAPI", "STACIT", "STACTA", "Selafin", "DODS", "AIVector", "SXF",
)  # fmt: skip


def _need(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotInstalled(
            f"this format needs {name.partition('.')[0]}; install it with: "
            "pip install 'mapyard[geo]'"
        ) from None


def read_parquet(
    path: Path, options: Options, problems: Problems, geocode: Geocode | None
) -> Iterator[Portion]:
    """Yield the rows of a Parquet file, with a geometry column as GeoParquet says or as a table."""
    parquet, pyarrow = _need("pyarrow.parquet"), _need("pyarrow")
    try:
        file = parquet.ParquetFile(path)
        geo = orjson.loads((file.schema_arrow.metadata or {}).get(b"geo", b"{}"))
    except (pyarrow.ArrowException, OSError, orjson.JSONDecodeError) as error:
        raise ImportFailed(f"the Parquet file cannot be read: {_first_line(error)}") from None
    column = options.geometry or geo.get("primary_column", "")
    described = geo.get("columns", {}).get(column, {})
    names = check_names(file.schema_arrow.names)
    if column and column not in names:
        raise ImportFailed(f"there is no column '{column}'; there are {', '.join(names[:20])}")
    if column and described.get("encoding", "WKB") != "WKB":
        raise ImportFailed(
            f"the geometries of '{column}' are written as {described['encoding']}; write them as "
            "WKB, as GeoParquet's default is"
        )
    crs = described.get("crs", "OGC:CRS84")
    try:
        batches = file.iter_batches(batch_size=PORTION)
        yield from _iter_batches(batches, names, column, crs, options, problems, geocode)
    except (pyarrow.ArrowException, OSError) as error:
        raise ImportFailed(f"the Parquet file is damaged: {_first_line(error)}") from None


def read_gdal(
    path: Path, format_name: str, options: Options, problems: Problems, geocode: Geocode | None
) -> Iterator[Portion]:
    """Yield the rows of a GeoPackage or Shapefile; GDAL may open this file by this driver only."""
    pyogrio, pyarrow = _need("pyogrio"), _need("pyarrow")
    _check_head(path, format_name)
    if options.encoding:
        pyogrio.set_gdal_config_options({"SHAPE_ENCODING": options.encoding})
    try:
        layers = [str(name) for name, kind in pyogrio.list_layers(path)]
        layer = options.layer or (layers[0] if layers else "")
        if not layers or (len(layers) > 1 and not options.layer):
            raise ImportFailed(
                f"the file has {len(layers)} layers ({', '.join(layers[:20])}); name one by layer"
            )
        if layer not in layers:
            raise ImportFailed(f"there is no layer '{layer}'; there are {', '.join(layers[:20])}")
        with pyogrio.raw.open_arrow(path, layer=layer, batch_size=PORTION, use_pyarrow=True) as (
            meta,
            reader,
        ):
            column = meta["geometry_name"] or "wkb_geometry"
            names = check_names(reader.schema.names)
            if column not in names:
                column = ""
            yield from _iter_batches(
                reader, names, column, meta["crs"] or "OGC:CRS84", options, problems, geocode
            )
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError,
            pyogrio.errors.FieldError, pyogrio.errors.GeometryError, pyogrio.errors.CRSError,
            pyogrio.errors.FeatureError, pyarrow.ArrowException, OSError,
            UnicodeDecodeError) as error:  # fmt: skip
        raise ImportFailed(f"the file cannot be read: {_first_line(error)}") from None


def bind_gdal() -> None:
    """Let GDAL of this process know no driver that follows links or asks servers.

    To be called before GDAL is loaded.
    """
    os.environ["GDAL_SKIP"] = ",".join(_SKIPPED)
    os.environ["OGR_SKIP"] = os.environ["GDAL_SKIP"]
    os.environ["CPL_VSIL_CURL_ALLOWED_EXTENSIONS"] = "{none}"


def _check_head(path: Path, format_name: str) -> None:
    """Raise ImportFailed where a file is not what its driver reads: GDAL would try all others."""
    with path.open("rb") as file:
        if not file.read(16).startswith(_HEADS[format_name]):
            raise ImportFailed(f"the file is not a {_NAMES[format_name]}")


def _iter_batches(
    batches: Any,
    names: list[str],
    column: str,
    crs: Any,
    options: Options,
    problems: Problems,
    geocode: Geocode | None,
) -> Iterator[Portion]:
    placer = None if column else Placer(find_place(names, options), problems, geocode)
    transform = make_transform(crs) if column and crs is not None else None
    left_out = {column} if placer is None else placer.place.used
    number = 0
    for batch in batches:
        count = batch.num_rows
        numbers = range(number + 1, number + count + 1)
        number += count
        columns = {
            name: batch.column(place).to_pylist()
            for place, name in enumerate(names)
            if name not in left_out or placer is not None
        }
        if placer is None:
            shapes = _read_wkb(batch.column(names.index(column)).to_pylist(), numbers, problems)
            shapes = transform(shapes) if transform is not None else shapes
        else:
            texts = {
                name: ["" if value is None else str(value) for value in values]
                for name, values in columns.items()
                if name in placer.place.used or name in placer.place.address
            }
            shapes = placer.shape(texts, numbers)
        kept = [(name, values) for name, values in columns.items() if name not in left_out]
        yield Portion(numbers, _join(kept, count), shapes)


def _join(columns: list[tuple[str, list[Any]]], count: int) -> list[dict[str, Any]]:
    if not columns:
        return [{} for _ in range(count)]
    names = [name for name, _ in columns]
    return [
        {
            name: _plain(value)
            for name, value in zip(names, row, strict=True)
            if value is not None and not (isinstance(value, float) and not math.isfinite(value))
        }
        for row in zip(*(values for _, values in columns), strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times and decimals as texts, bytes as hexadecimal digits."""
    if isinstance(value, str | int | float | list | dict):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)


def _read_wkb(values: list[Any], numbers: Sequence[int], problems: Problems) -> Geometries:
    shapes: Geometries = np.asarray(
        shapely.from_wkb(np.array(values, np.object_), on_invalid="ignore")
    )
    for place, (value, shape) in enumerate(zip(values, shapes, strict=True)):
        if value is not None and shape is None:
            problems.add(numbers[place], "has a geometry that cannot be read")
    return shapes


def _first_line(error: Exception) -> str:
    """Return what a library says, without the path of our copy of the file."""
    return str(error).partition("\n")[0].replace(tempfile.gettempdir(), "")[:200].rpartition("/")[2]


def unpack(path: Path, folder: Path, max_bytes: int, options: Options) -> tuple[str, Path]:
    """Unpack the one file, or the one Shapefile, in a zip; return its format and path.

    Raises ImportFailed for what is too large, packed too tightly, or not one of these.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            _check_zip(members, path.stat().st_size, max_bytes)
            wanted = [
                m for m in members if not PurePosixPath(m.filename).name.startswith((".", "__"))
            ]
            shapes = [m for m in wanted if m.filename.lower().endswith(".shp")]
            if shapes:
                return "shapefile", _unpack_shapefile(archive, wanted, shapes, folder, options)
            if len(wanted) != 1:
                raise ImportFailed(
                    f"the zip has {len(wanted)} files and no Shapefile; put the one to import in it"
                )
            target = folder / ("file" + PurePosixPath(wanted[0].filename).suffix[:12])
            _copy(archive, wanted[0], target)
            return "", target
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError) as error:
        raise ImportFailed(f"the zip cannot be unpacked: {_first_line(error)}") from None


def _check_zip(members: list[zipfile.ZipInfo], packed: int, max_bytes: int) -> None:
    total = sum(m.file_size for m in members)
    if len(members) > _MAX_FILES:
        raise ImportFailed(f"the zip has {len(members):,} files, at most {_MAX_FILES:,} are read")
    if total > max_bytes:
        raise ImportFailed(
            f"the zip holds {total:,} bytes unpacked, at most {max_bytes:,} are read"
        )
    if total > _MAX_RATIO * max(packed, 1_000):
        raise ImportFailed("the zip is packed so tightly that it is taken for a bomb")


def _unpack_shapefile(
    archive: zipfile.ZipFile,
    members: list[zipfile.ZipInfo],
    shapes: list[zipfile.ZipInfo],
    folder: Path,
    options: Options,
) -> Path:
    stems = {PurePosixPath(m.filename).stem: m for m in shapes}
    if len(shapes) > 1 and options.layer not in stems:
        raise ImportFailed(
            f"the zip has {len(shapes)} Shapefiles ({', '.join(list(stems)[:20])}); name one by "
            "layer"
        )
    chosen = stems[options.layer] if options.layer in stems else shapes[0]
    stem = PurePosixPath(chosen.filename).with_suffix("")
    for member in members:
        found = PurePosixPath(member.filename)
        if found.with_suffix("") == stem and found.suffix.lower() in _SHAPEFILE:
            _copy(archive, member, folder / f"file{found.suffix.lower()}")
    return folder / "file.shp"


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    left = member.file_size
    with archive.open(member) as source, target.open("wb") as out:
        while chunk := source.read(1 << 20):
            left -= len(chunk)
            if left < 0:
                raise ImportFailed("the zip holds more than it says")
            out.write(chunk)
