"""Output files: the bytes of a block, and how all blocks become one file."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson
import shapely

from mapyard.bulk.blocks import Answers, Block, Column, Kind
from mapyard.bulk.places import read_shape
from mapyard.bulk.read import Form, ParquetSource, Source, find_form, is_feature, read_properties
from mapyard.errors import InvalidRequest
from mapyard.library.results.tables import need


@dataclass
class Layout:
    """How the output looks; handed to every worker."""

    form: Form
    #: Columns of the input that are kept, in order; () of NDJSON, where each row has its own.
    kept: list[str]
    added: list[Column]
    delimiter: str = ","
    #: Column of the input whose values are geometries, "" without.
    geometry: str = ""
    #: What the kept columns hold, where the output has types and the input has none.
    kinds: dict[str, Kind] = field(default_factory=dict)
    #: The input's Arrow schema, serialized, where it has one.
    schema: bytes = b""

    @property
    def shape(self) -> str:
        """Return the geometry column of the output, "" without."""
        if self.geometry in self.kept and self.geometry:
            return self.geometry
        return next((column.name for column in self.added if column.kind == "shape"), "")


def make_layout(source: Source, target: Path, added: Sequence[Column]) -> Layout:
    """Return how a file will look: the input's columns, then the added ones."""
    form = find_form(target)
    names = {column.name for column in added}
    kept = [name for name in source.columns if name not in names]
    layout = Layout(form, kept, list(added), geometry=source.geometry)
    if form == "csv":
        layout.delimiter = "\t" if target.suffix.lower() == ".tsv" else source.delimiter
    if isinstance(source, ParquetSource):
        layout.schema = source.schema.serialize().to_pybytes()
    elif form == "parquet":
        need("pyarrow.parquet")
        layout.kinds = source.find_kinds()
        layout.kept = [name for name in layout.kinds if name not in names]
    return layout


def write_block(layout: Layout, block: Block, answers: Answers) -> bytes:
    """Return the part of the output file that a block makes."""
    return _WRITERS[layout.form](layout, block, answers)


# ---- CSV --------------------------------------------------------------------------------------


def _write_csv(layout: Layout, block: Block, answers: Answers) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=layout.delimiter, lineterminator="\n")
    for row, added in _iter_answers(layout, block, answers):
        members = read_properties(row)
        kept = [_as_text(members.get(name), name == layout.geometry) for name in layout.kept]
        writer.writerow([*kept, *(_as_text(value) for value in added)])
    return text.getvalue().encode()


def _as_text(value: Any, is_shape: bool = False) -> Any:
    if is_shape and not isinstance(value, str):
        try:
            value = read_shape(value, "geometry")
        except InvalidRequest:
            return ""
    if isinstance(value, shapely.Geometry):
        return shapely.to_wkt(value, rounding_precision=7)
    if isinstance(value, list | dict):
        return orjson.dumps(value, default=str).decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.hex() if isinstance(value, bytes) else value


# ---- NDJSON -----------------------------------------------------------------------------------


def _write_ndjson(layout: Layout, block: Block, answers: Answers) -> bytes:
    lines = []
    names = [column.name for column in layout.added]
    for row, added in _iter_answers(layout, block, answers):
        told = {
            name: _as_json(value)
            for name, value in zip(names, added, strict=True)
            if value is not None
        }
        if is_feature(row):
            own = row.get("properties") or {}
            made = {**row, "properties": {**_without(own, names), **told}}
        else:
            made = {**_without(row, names), **told}
            if layout.geometry in made and isinstance(made[layout.geometry], bytes):
                shape = shapely.from_wkb(made[layout.geometry], on_invalid="ignore")
                made[layout.geometry] = _as_json(shape)
        lines.append(orjson.dumps(made, default=_as_json, option=orjson.OPT_NON_STR_KEYS))
    return b"".join(line + b"\n" for line in lines)


def _without(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a row without what an earlier run added."""
    return {name: value for name, value in row.items() if name not in names}


def _as_json(value: Any) -> Any:
    if isinstance(value, shapely.Geometry):
        return orjson.Fragment(shapely.to_geojson(value))
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, str | int | float | list | dict | None) else str(value)


# ---- Parquet ----------------------------------------------------------------------------------

_GEO: Final = {"version": "1.1.0", "columns": {}}


def _write_parquet(layout: Layout, block: Block, answers: Answers) -> bytes:
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    schema = _make_schema(layout)
    places = answers.places
    if block.table is not None:
        table = block.table if places is None else block.table.take(places)
        arrays = [table.column(name).combine_chunks() for name in layout.kept]
    else:
        members = [read_properties(row) for row in block.get_rows()]
        if places is not None:
            members = [members[place] for place in places]
        arrays = [
            arrow.array(
                [_as_cell(row.get(name), layout.kinds[name]) for row in members],
                schema.field(name).type,
            )
            for name in layout.kept
        ]
    for column in layout.added:
        values = [_as_cell(value, column.kind) for value in answers.values[column.name]]
        arrays.append(arrow.array(values, schema.field(column.name).type))
    file = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), file, compression="zstd")
    return file.getvalue()


def _make_schema(layout: Layout) -> Any:
    arrow = need("pyarrow")
    types = {
        "truth": arrow.bool_(), "integer": arrow.int64(), "number": arrow.float64(),
        "text": arrow.string(), "json": arrow.string(), "shape": arrow.binary(),
    }  # fmt: skip
    if layout.schema:
        own = arrow.ipc.read_schema(arrow.py_buffer(layout.schema))
        fields = [own.field(name) for name in layout.kept]
        metadata = dict(own.metadata or {})
    else:
        fields = [arrow.field(name, types[layout.kinds[name]]) for name in layout.kept]
        metadata = {}
    fields += [arrow.field(column.name, types[column.kind]) for column in layout.added]
    shapes = [column.name for column in layout.added if column.kind == "shape"]
    if layout.shape:
        geo = orjson.loads(metadata.get(b"geo", orjson.dumps(_GEO)))
        geo.setdefault("primary_column", layout.shape)
        for name in {layout.shape, *shapes} - set(geo["columns"]):
            geo["columns"][name] = {"encoding": "WKB", "geometry_types": []}
        metadata[b"geo"] = orjson.dumps(geo)
    return arrow.schema(fields, metadata)


def _as_cell(value: Any, kind: Kind) -> Any:
    if value is None or (value == "" and kind != "text"):
        return None
    match kind:
        case "shape":
            if isinstance(value, shapely.Geometry):
                return shapely.to_wkb(value)
            try:
                return shapely.to_wkb(read_shape(value, "geometry"))
            except InvalidRequest:
                return None
        case "json":
            return value if isinstance(value, str) else orjson.dumps(value).decode()
        case "integer":
            return int(value)
        case "number":
            return float(value)
        case _:
            return value


_WRITERS: Final = {"csv": _write_csv, "ndjson": _write_ndjson, "parquet": _write_parquet}


def _iter_answers(
    layout: Layout, block: Block, answers: Answers
) -> Iterator[tuple[Mapping[str, Any], list[Any]]]:
    """Yield each answer's row and the values of its added columns."""
    rows = block.get_rows()
    places = range(len(rows)) if answers.places is None else answers.places
    columns = [answers.values[column.name] for column in layout.added]
    for place, *values in zip(places, *columns, strict=True):
        yield rows[place], values


# ---- one file ---------------------------------------------------------------------------------


def join_parts(layout: Layout, parts: Sequence[Path], target: Path) -> None:
    """Write the parts, in their order, as one file."""
    if layout.form == "parquet":
        _join_parquet(layout, parts, target)
        return
    with target.open("wb") as file:
        if layout.form == "csv":
            header = io.StringIO()
            names = [*layout.kept, *(column.name for column in layout.added)]
            csv.writer(header, delimiter=layout.delimiter, lineterminator="\n").writerow(names)
            file.write(header.getvalue().encode())
        for part in parts:
            with part.open("rb") as read:
                shutil.copyfileobj(read, file, 1 << 20)


def _join_parquet(layout: Layout, parts: Sequence[Path], target: Path) -> None:
    parquet, arrow = need("pyarrow.parquet"), need("pyarrow")
    schema = _make_schema(layout)
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        held: list[Any] = []
        for part in parts:
            held.append(parquet.read_table(part, schema=schema))
            if sum(table.num_rows for table in held) >= 100_000:
                writer.write_table(arrow.concat_tables(held))
                held = []
        if held:
            writer.write_table(arrow.concat_tables(held))
