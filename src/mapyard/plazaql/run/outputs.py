"""Writing outputs: features of all of them in order, and beside them what is no feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import orjson

from mapyard.geo.geojson import dump_floats
from mapyard.plazaql.run.engine import Output
from mapyard.plazaql.run.expressions import Rowwise
from mapyard.plazaql.run.services import Services
from mapyard.plazaql.run.values import Answer, Elements, Features, Ints, Shape
from mapyard.results.features import write_features

#: Features that are written at once.
CHUNK: Final = 1_000


class Outputs:
    """The outputs of a query; elements are found and written when asked for."""

    def __init__(self, outputs: list[Output], services: Services) -> None:
        self.outputs = outputs
        self._services = services
        self._rows: dict[int, Ints] = {}

    @property
    def attributions(self) -> list[str]:
        """Return whom to name beside OpenStreetMap."""
        return self._services.attributions

    def members(self) -> dict[str, Any]:
        """Return what stands beside the features: `result` of the only output, or `outputs`."""
        found: dict[str, Any] = {}
        for output in self.outputs:
            value = output.value
            said: Any = None
            if isinstance(value, Answer):
                said = value.value
            elif isinstance(value, Features):
                said = value.members or None
            elif not isinstance(value, Elements | Shape):
                said = value
            if said is not None and not output.name:
                return {"result": said}
            if said is not None:
                found[output.name] = said
        return {"outputs": found} if found else {}

    def count(self) -> int:
        """Return the number of all features."""
        found = 0
        for output in self.outputs:
            value = output.value
            if isinstance(value, Elements):
                found += len(value.find())
            elif isinstance(value, Features):
                found += len(value.features)
            else:
                found += isinstance(value, Shape)
        return found

    def take(self, skip: int, count: int) -> list[bytes]:
        """Return up to `count` features behind the first `skip` ones, over all outputs."""
        found: list[bytes] = []
        for place, output in enumerate(self.outputs):
            wanted = count - len(found)
            if wanted <= 0:
                break
            part, skip = self._take_of(place, output, skip, wanted)
            found += part
        return found

    def iter_chunks(self) -> Iterator[list[bytes]]:
        """Yield all features in portions."""
        for place, output in enumerate(self.outputs):
            if isinstance(output.value, Elements):
                self._rows[place] = output.value.find()
        skip = 0
        while part := self.take(skip, CHUNK):
            yield part
            skip += len(part)

    def _take_of(
        self, place: int, output: Output, skip: int, wanted: int
    ) -> tuple[list[bytes], int]:
        """Return features of one output, and how many are to be skipped of the ones behind it."""
        value = output.value
        if isinstance(value, Elements):
            rows = self._rows.get(place)
            if rows is None:
                rows = value.find(skip + wanted)
            part = rows[skip : skip + wanted]
            return self._write(value, part, output.name), max(0, skip - len(rows))
        if isinstance(value, Features):
            features = [_named(f, output.name) for f in value.features[skip : skip + wanted]]
            return [orjson.dumps(f) for f in features], max(0, skip - len(value.features))
        if isinstance(value, Shape):
            if skip:
                return [], skip - 1
            geometry = value.geometry.__geo_interface__
            feature = {"type": "Feature", "geometry": geometry, "properties": {}}
            return [orjson.dumps(_named(feature, output.name))], 0
        return [], skip

    def _write(self, value: Elements, rows: Ints, name: str) -> list[bytes]:
        extra = [b'"@output":' + orjson.dumps(name) if name else b""] * len(rows)
        distances_m = None
        rowwise = Rowwise(value.store, rows, self._services, lambda _: None, value.deadline)
        for column, shape in value.look.columns:
            if column == "distance_m":
                # Rounded twice as in lists by distance, so that it is the same number.
                distances_m = np.round(rowwise.measure_from(shape), 3)
                continue
            numbers = rowwise.measure(column.rpartition("_")[0])
            texts = _write_numbers(numbers)
            extra = [
                before + (b"," if before else b"") + b'"%b":%b' % (column.encode(), text)
                for before, text in zip(extra, texts, strict=True)
            ]
        return write_features(
            value.store, rows, value.look.output, distances_m=distances_m,
            extra=extra if any(extra) else None, deadline=value.deadline,
        )  # fmt: skip


def _write_numbers(values: Any) -> list[bytes]:
    known = ~np.isnan(values)
    texts = dump_floats(np.ascontiguousarray(np.round(np.where(known, values, 0.0), 2)))[1:-1]
    parts = texts.split(b",") if len(values) else []
    return [part if is_known else b"null" for part, is_known in zip(parts, known, strict=True)]


def _named(feature: dict[str, Any], name: str) -> dict[str, Any]:
    if not name:
        return feature
    return {**feature, "properties": {**(feature.get("properties") or {}), "@output": name}}
