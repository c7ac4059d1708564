"""Batches: many rows in one call, each with its own answer or error, in input order."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest
from mapyard.geocoding.forward import Focus
from mapyard.geocoding.geocoder import Address, Feature, Geocoder
from mapyard.geocoding.matching import NO_FILTERS, Filters

#: Largest length of one text in a row.
MAX_TEXT: Final = 2_000
#: Other names of the parts of a row, as files have them.
ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "q": ("q", "query", "address", "text", "addresse", "adresse", "full_address"),
    "street": ("street", "strasse", "rue", "road"),
    "housenumber": ("housenumber", "house_number", "number", "hausnummer"),
    "postcode": ("postcode", "postalcode", "postal_code", "zip", "plz"),
    "city": ("city", "town", "village", "place", "ort", "ville"),
    "county": ("county",),
    "state": ("state", "region", "province"),
    "country": ("country", "country_code", "countrycode"),
    "lat": ("lat", "latitude", "y"),
    "lon": ("lon", "lng", "long", "longitude", "x"),
}
#: Columns that a CSV answer adds.
ADDED: Final = (
    "match_lat", "match_lon", "match_display_name", "match_confidence", "match_score",
    "match_source", "match_osm_type", "match_osm_id", "match_error",
)  # fmt: skip


class Options(NamedTuple):
    """What holds for all rows."""

    limit: int = 1
    filters: Filters = NO_FILTERS
    focus: Focus | None = None
    langs: tuple[str, ...] = ()
    radius_m: float = 200.0
    #: Refuse members of objects that mean nothing; columns of a file may be anything.
    strict: bool = False


class Answer(NamedTuple):
    """Features of one row, or what was wrong with it."""

    features: list[Feature]
    error: str = ""


def answer_rows(
    geocoder: Geocoder, rows: Iterable[Any], options: Options, deadline: Deadline
) -> Iterator[Answer]:
    """Yield one answer per row: a text, an object of address parts, or a position."""
    for row in rows:
        deadline.check()
        try:
            yield Answer(answer_row(geocoder, row, options))
        except InvalidRequest as error:
            yield Answer([], error.message)


def answer_row(geocoder: Geocoder, row: Any, options: Options) -> list[Feature]:
    """Return the features of one row; raise InvalidRequest when it cannot be read."""
    if isinstance(row, str):
        return _answer_text(geocoder, row, options)
    if isinstance(row, list | tuple) and len(row) == 2:
        return _answer_position(geocoder, row[1], row[0], options)
    if not isinstance(row, Mapping):
        raise InvalidRequest("must be a text, an object of address parts, or a position")
    if row.get("type") == "Point" and isinstance(row.get("coordinates"), list | tuple):
        return answer_row(geocoder, list(row["coordinates"])[:2], options)
    if options.strict:
        _refuse_unknown(row)
    parts = _read_parts(row)
    if "lat" in parts and "lon" in parts and "q" not in parts and "street" not in parts:
        return _answer_position(geocoder, parts["lat"], parts["lon"], options)
    if "q" in parts:
        return _answer_text(geocoder, parts["q"], options)
    fields = {name: parts[name] for name in Address._fields if name in parts}
    if not fields:
        raise InvalidRequest("has no address: give q, or street, city, …, or lat and lng")
    return geocoder.structured(
        Address(**fields), options.limit,
        filters=options.filters, focus=options.focus, langs=options.langs,
    )  # fmt: skip


def _answer_text(geocoder: Geocoder, text: str, options: Options) -> list[Feature]:
    if not text.strip():
        raise InvalidRequest("is empty")
    if len(text) > MAX_TEXT:
        raise InvalidRequest(f"has more than {MAX_TEXT} characters")
    return geocoder.forward(
        text, options.limit, filters=options.filters, focus=options.focus, langs=options.langs
    )


def _answer_position(geocoder: Geocoder, lat: Any, lon: Any, options: Options) -> list[Feature]:
    try:
        lat, lon = float(lat), float(lon)
    except (TypeError, ValueError):
        raise InvalidRequest("lat and lng must be numbers") from None
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise InvalidRequest("lat must be within -90 to 90, lng within -180 to 180")
    return geocoder.reverse(lon, lat, options.radius_m, options.limit, langs=options.langs)


def _refuse_unknown(row: Mapping[str, Any]) -> None:
    known = {name for group in ALIASES.values() for name in group} | {"id", "type"}
    unknown = [str(name) for name in row if str(name).strip().lower() not in known]
    if unknown:
        raise InvalidRequest(
            f"{', '.join(name[:60] for name in unknown[:10])}: not understood; give q, or "
            f"{', '.join(Address._fields)}, or lat and lng"
        )


def _read_parts(row: Mapping[str, Any]) -> dict[str, str]:
    by_name = {str(name).strip().lower(): value for name, value in row.items()}
    parts = {}
    for part, names in ALIASES.items():
        for name in names:
            value = by_name.get(name)
            if value is not None and str(value).strip():
                if not isinstance(value, str | int | float):
                    raise InvalidRequest(f"{name} must be a text")
                text = str(value).strip()
                if len(text) > MAX_TEXT:
                    raise InvalidRequest(f"{name} has more than {MAX_TEXT} characters")
                parts[part] = text
                break
    return parts


# ---- CSV --------------------------------------------------------------------------------------


def read_csv(text: str) -> tuple[list[str], list[dict[str, str]], str]:
    """Return column names, rows and the delimiter of a CSV text; raise InvalidRequest."""
    lines = io.StringIO(text.removeprefix("\ufeff"), newline=None)  # \r and \r\n end lines too
    delimiter = find_delimiter(lines.readline())
    lines.seek(0)
    reader = csv.DictReader(lines, delimiter=delimiter)
    try:
        columns = check_columns(reader.fieldnames)
        rows = [{k: v or "" for k, v in row.items() if k is not None} for row in reader]
    except csv.Error as error:
        raise InvalidRequest(f"the CSV cannot be read: {error}") from None
    return columns, rows, delimiter


def find_delimiter(header: str) -> str:
    """Return the delimiter of a header line: the most frequent of comma, semicolon and tab."""
    return max(",;\t", key=header.count)


def check_columns(names: Sequence[str] | None) -> list[str]:
    """Return the column names; raise InvalidRequest when none can hold an address."""
    columns = list(names or ())
    known = {name for group in ALIASES.values() for name in group}
    if not any(name.strip().lower() in known for name in columns):
        raise InvalidRequest(
            "the first line must name the columns, one of them q (or address), or street, "
            "housenumber, postcode, city, state, country, or lat and lon; "
            f"got: {', '.join(columns)[:200]}"
        )
    return columns


def added_values(answer: Answer) -> list[Any]:
    """Return the values of `ADDED` for an answer: of its best feature."""
    if not answer.features:
        return [""] * (len(ADDED) - 1) + [answer.error or "nothing found"]
    feature = answer.features[0]
    properties = feature["properties"]
    lon, lat = feature["geometry"]["coordinates"]
    return [
        lat, lon, properties["display_name"], properties.get("confidence", ""),
        properties["score"], properties["source"], properties.get("osm_type") or "",
        properties.get("osm_id") or "", "",
    ]  # fmt: skip
