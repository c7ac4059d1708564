"""GeoJSON in one document or a line per feature, streamed: one feature in memory at a time.

A document is walked through by the standard library's scanner, which reads one value at a place
and says where it ends.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import orjson
import shapely

from mapyard.userdata.read.crs import Transform, make_transform
from mapyard.userdata.rows import Geometries, ImportFailed, Portion, Problems, in_portions

_CHUNK: Final = 1 << 20
#: One feature as text.
MAX_FEATURE: Final = 64 << 20
#: Longest token that may be cut in two: a literal, an escape, a number.
_TAIL: Final = 64
_BLANK: Final = " \t\r\n\ufeff\x1e"


def _no_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is not a JSON value", name, 0)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


class _Text:
    """A JSON text that is read as far as it is needed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._read_bytes = 0
        self._text = ""
        self._at = 0
        self._is_whole = False

    def peek(self) -> str:
        """Return the next character that is no blank, "" at the end; it stays."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANK:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self, expected: str) -> None:
        """Step over a character; raise ImportFailed where another one stands."""
        found = self.peek()
        if found != expected:
            raise ImportFailed(
                f"the GeoJSON is broken near byte {self._read_bytes:,}: expected {expected!r}, "
                + (f"found {found!r}" if found else "the file ends (was it sent whole?)")
            )
        self._at += 1

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except (json.JSONDecodeError, RecursionError) as error:
                length = len(self._text) - self._at
                if isinstance(error, RecursionError) or self._is_broken(error):
                    raise _broken(self._read_bytes - length, error) from None
                if length > MAX_FEATURE:
                    raise ImportFailed(
                        f"a feature near byte {self._read_bytes - length:,} has more than "
                        f"{MAX_FEATURE >> 20} MB of text; split it"
                    ) from None
                if not self._more(length):
                    raise _broken(self._read_bytes - length, error) from None
                continue
            if end == len(self._text) and self._more():
                continue  # a number may go on
            self._at = end
            return found

    def _is_broken(self, error: json.JSONDecodeError) -> bool:
        """Return whether more text would not mend an error: it is not about the end of what is."""
        if "no JSON value" in error.msg:
            return True
        return not error.msg.startswith("Unterminated") and error.pos < len(self._text) - _TAIL

    def _more(self, least: int = 0) -> bool:
        """Read on; as much as there is already, so that a long value is scanned few times."""
        if self._is_whole:
            return False
        chunk = self._file.read(max(_CHUNK, least))
        self._read_bytes += len(chunk)
        self._is_whole = not chunk
        try:
            more = self._decoder.decode(chunk, final=self._is_whole)
        except UnicodeDecodeError as error:
            at = self._read_bytes - len(chunk) + error.start
            raise ImportFailed(f"byte {at:,} is not UTF-8, which GeoJSON is written in") from None
        self._text = self._text[self._at :] + more
        self._at = 0
        return not self._is_whole or bool(more)


def _broken(byte: int, error: Exception) -> ImportFailed:
    said = "values are nested too deeply" if isinstance(error, RecursionError) else error.args[0]
    said = said.partition(": line")[0]
    return ImportFailed(f"the GeoJSON is broken near byte {max(0, byte):,}: {said}")


def read_geojson(path: Path, problems: Problems) -> Iterator[Portion]:
    """Yield the features of a FeatureCollection, a Feature, or an array of features."""
    found: dict[str, Transform] = {}

    def shape(raw: list[Any], numbers: Sequence[int]) -> Geometries:
        shapes = _shape(raw, numbers, problems)
        return found["crs"](shapes) if "crs" in found else shapes

    with path.open("rb") as file:
        yield from in_portions(_iter_features(_Text(file), problems, found), shape)


def _iter_features(
    text: _Text, problems: Problems, found: dict[str, Transform]
) -> Iterator[tuple[int, dict[str, Any], Any]]:
    number = 0
    if text.peek() == "[":
        for number, value in enumerate(_iter_array(text), start=1):
            yield _read_feature(number, value, problems)
        return
    members: dict[str, Any] = {}
    text.take("{")
    while text.peek() != "}":
        name = text.value()
        text.take(":")
        if name == "features" and text.peek() == "[":
            for number, value in enumerate(_iter_array(text), start=1):
                yield _read_feature(number, value, problems)
        else:
            members[name] = text.value()
            if name == "crs":
                if number:
                    raise ImportFailed("the member crs has to stand before features")
                transform = make_transform(_name_crs(members["crs"]))
                if transform is not None:
                    found["crs"] = transform
        if text.peek() != ",":
            break
        text.take(",")
    text.take("}")
    if number == 0 and members.get("type") == "Feature":
        yield _read_feature(1, members, problems)
    elif number == 0 and "coordinates" in members:
        yield _read_feature(1, {"type": "Feature", "geometry": members}, problems)
    elif number == 0 and members.get("type") != "FeatureCollection":
        raise ImportFailed(
            "the JSON has no features: send a FeatureCollection, a Feature or an array of Features"
        )


def _iter_array(text: _Text) -> Iterator[Any]:
    text.take("[")
    while text.peek() != "]":
        yield text.value()
        if text.peek() != ",":
            break
        text.take(",")
    text.take("]")


def _name_crs(crs: Any) -> str:
    """Return the name in an old-style crs member."""
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    if crs is None:
        return "OGC:CRS84"
    if not isinstance(name, str):
        raise ImportFailed("the member crs has no name; leave it out for WGS 84")
    return name


def read_lines(path: Path, problems: Problems) -> Iterator[Portion]:
    """Yield the features of a file with one per line."""

    def iter_rows() -> Iterator[tuple[int, dict[str, Any], Any]]:
        number = 0
        with path.open("rb") as file:
            while line := file.readline(MAX_FEATURE + 1):
                if len(line) > MAX_FEATURE:
                    raise ImportFailed(
                        f"line {number + 1} has more than {MAX_FEATURE >> 20} MB; split the feature"
                    )
                line = line.strip(b"\x1e\xef\xbb\xbf \t\r\n")
                if not line:
                    continue
                number += 1
                try:
                    value = orjson.loads(line)
                except orjson.JSONDecodeError as error:
                    problems.add(number, f"is not JSON: {error.msg} at character {error.pos + 1}")
                    continue
                yield _read_feature(number, value, problems)

    return in_portions(iter_rows(), lambda raw, numbers: _shape(raw, numbers, problems))


def _read_feature(number: int, value: Any, problems: Problems) -> tuple[int, dict[str, Any], Any]:
    if not isinstance(value, dict) or value.get("type") != "Feature":
        problems.add(number, "is not a Feature: it needs type, geometry and properties")
        return number, {}, None
    properties = value.get("properties")
    if properties is not None and not isinstance(properties, dict):
        problems.add(number, "has properties that are not an object")
        properties = None
    properties = properties or {}
    if "id" in value and "id" not in properties:
        properties = {"id": value["id"], **properties}
    return number, properties, value.get("geometry")


def _shape(raw: list[Any], numbers: Sequence[int], problems: Problems) -> Geometries:
    shapes = np.full(len(raw), None, np.object_)
    points: list[int] = []
    positions: list[tuple[float, float]] = []
    others: list[int] = []
    for place, geometry in enumerate(raw):
        if geometry is None:
            continue
        if isinstance(geometry, dict) and geometry.get("type") == "Point":
            position = geometry.get("coordinates")
            if isinstance(position, list) and len(position) >= 2 and _are_numbers(position[:2]):
                points.append(place)
                positions.append((position[0], position[1]))
                continue
            if position == []:
                continue
        others.append(place)
    if points:
        shapes[points] = shapely.points(np.array(positions, np.float64))
    if others:
        texts = [_as_text(raw[place]) for place in others]
        made = shapely.from_geojson(texts, on_invalid="ignore")
        shapes[others] = made
        for place, shape in zip(others, made, strict=True):
            if shape is None:
                problems.add(numbers[place], "has a geometry that is not GeoJSON")
    return shapes


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _as_text(geometry: Any) -> str:
    try:
        return orjson.dumps(geometry).decode()
    except (TypeError, orjson.JSONEncodeError):
        return ""
