"""From a file to a dataset: the format found, rows checked and written, problems kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from mapyard.userdata.read.arrow import read_gdal, read_parquet, unpack
from mapyard.userdata.read.detect import detect
from mapyard.userdata.read.geojson import read_geojson, read_lines
from mapyard.userdata.read.tables import read_csv
from mapyard.userdata.rows import (
    Geocode,
    ImportFailed,
    Options,
    Portion,
    Problems,
    check_geometries,
)
from mapyard.userdata.write import DatasetWriter, Limits

#: Problems that are shown with a dataset; all that are kept lie in its folder.
SHOWN: Final = 10
PROBLEMS: Final = "problems.json"
#: What a zip may hold unpacked, as a multiple of what a dataset may store.
_UNPACKED: Final = 4


class Imported(NamedTuple):
    """What came out of an import."""

    format: str
    feature_count: int
    storage_bytes: int
    schema: dict[str, Any]
    bbox: list[float] | None
    problem_count: int
    #: The first problems: row and message.
    problems: list[dict[str, Any]]

    def values(self) -> dict[str, Any]:
        """Return it as the accounts database keeps it."""
        shown = self.problems[:SHOWN]
        return {
            "source_format": self.format, "feature_count": self.feature_count,
            "storage_bytes": self.storage_bytes, "problem_count": self.problem_count,
            "described": {"schema": self.schema, "bbox": self.bbox, "problems": shown},
        }  # fmt: skip


def import_file(
    source: Path,
    folder: Path,
    options: Options,
    limits: Limits,
    geocode: Geocode | None,
    progress: Callable[[int], None] = lambda rows: None,
) -> Imported:
    """Write the store of a file into `folder`, which is made; raise ImportFailed.

    `progress` gets the number of rows written so far. Nothing is left behind where it fails.
    """
    problems = Problems(strict=options.strict)
    unpacked = _unpacked_folder(folder)
    unpacked.mkdir(parents=True)
    writer = DatasetWriter(folder, limits)
    try:
        path, found = source, detect(source, options)
        if found == "zip":
            found, path = unpack(source, unpacked, _UNPACKED * limits.storage_bytes, options)
            options = options._replace(name=path.name, layer="" if found else options.layer)
            found = found or detect(path, options)
        rows = 0
        for portion in _read(path, found, options, problems, geocode):
            checked = check_geometries(portion, problems)
            problems.check()
            writer.add(checked)
            rows += len(portion.numbers)
            progress(rows)
        written = writer.finish()
        (folder / PROBLEMS).write_bytes(orjson.dumps(problems.kept))
        return Imported(
            found, written.feature_count, written.storage_bytes, written.schema, written.bbox,
            problems.count, problems.kept,
        )  # fmt: skip
    except BaseException:
        writer.close()
        abandon(folder)
        raise
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def abandon(folder: Path) -> None:
    """Delete what an import that was broken off has left."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(_unpacked_folder(folder), ignore_errors=True)


def _unpacked_folder(folder: Path) -> Path:
    """Return where a zip is unpacked: beside the version, so that a sweep finds it there too."""
    return folder.with_name(f"{folder.name}-unpacked")


def _read(
    path: Path, format_name: str, options: Options, problems: Problems, geocode: Geocode | None
) -> Iterator[Portion]:
    match format_name:
        case "csv":
            return read_csv(path, options, problems, geocode)
        case "geojson":
            return read_geojson(path, problems)
        case "ndjson":
            return read_lines(path, problems)
        case "geoparquet":
            return read_parquet(path, options, problems, geocode)
        case "gpkg" | "shapefile":
            return read_gdal(path, format_name, options, problems, geocode)
    raise ImportFailed(f"'{format_name}' is not read")
