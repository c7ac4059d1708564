"""Batches: many rows in one call, each with its own answer or error, in input order."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest
from mapyard.geocoding.geocoder import Feature, Geocoder
from mapyard.geocoding.order.ranking import Focus
from mapyard.geocoding.order.structured import WITHOUT, Address, find_country
from mapyard.geocoding.search.matching import NO_FILTERS, Filters
from mapyard.text.folding import fold

#: Largest length of one text in a row.
MAX_TEXT: Final = 2_000
#: Other names of the parts of a row, as files have them.
ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "q": (
        "q", "query", "address", "text", "addresse", "adresse", "full_address", "direccion",
        "indirizzo", "adres", "location",
    ),
    "name": ("name", "amenity", "poi", "company", "firma"),
    "street": ("street", "strasse", "straße", "rue", "road", "calle", "via", "street_name"),
    "housenumber": ("housenumber", "house_number", "number", "hausnummer", "hnr", "numero", "nr"),
    "neighbourhood": ("neighbourhood", "neighborhood", "suburb", "district", "quarter", "ortsteil"),
    "postcode": (
        "postcode", "postalcode", "postal_code", "zip", "zipcode", "zip_code", "plz", "cp", "cap",
    ),
    "city": ("city", "town", "village", "place", "ort", "ville", "ciudad", "stadt", "citta"),
    "county": ("county", "landkreis"),
    "state": ("state", "region", "province", "bundesland", "kanton"),
    "country": ("country", "country_code", "countrycode", "land", "pays", "pais", "paese"),
    "lat": ("lat", "latitude", "y"),
    "lon": ("lon", "lng", "long", "longitude", "x"),
    "lang": ("lang", "language"),
    "limit": ("limit",),
}  # fmt: skip
#: Columns that are kept and echoed, but do not say where something is.
IDS: Final = frozenset(("id", "type"))
#: Columns that a CSV answer adds.
ADDED: Final = (
    "match_lat", "match_lon", "match_display_name", "match_confidence", "match_score",
    "match_source", "match_osm_type", "match_osm_id", "match_error", "match_level",
    "match_house_number", "match_street", "match_postcode", "match_city", "match_state",
    "match_country", "match_unmatched",
)  # fmt: skip
_ADDRESS_PARTS: Final = ("name", "street", "housenumber", "neighbourhood", "postcode", "city",
                         "county", "state", "country")  # fmt: skip


class Options(NamedTuple):
    """What holds for all rows."""

    limit: int = 1
    filters: Filters = NO_FILTERS
    focus: Focus | None = None
    langs: tuple[str, ...] = ()
    radius_m: float = 200.0
    #: Refuse members of objects that mean nothing; columns of a file may be anything.
    strict: bool = False
    max_limit: int = 10


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
    options = _read_options(parts, options)
    where: dict[str, str] = {name: parts[name] for name in _ADDRESS_PARTS if name in parts}
    has_position = "lat" in parts and "lon" in parts
    if has_position and "q" not in parts and not where.keys() & {"street", "name"}:
        return _answer_position(geocoder, parts["lat"], parts["lon"], options)
    if has_position:
        lon, lat = _read_position(parts["lat"], parts["lon"])
        options = options._replace(focus=Focus(lon, lat))
    if "q" in parts:
        return _answer_with(geocoder, parts["q"], where, options)
    if not where:
        raise InvalidRequest("has no address: give q, or street, city, …, or lat and lng")
    return geocoder.structured(
        Address(**where), options.limit,
        filters=options.filters, focus=options.focus, langs=options.langs,
    )  # fmt: skip


def _answer_with(
    geocoder: Geocoder, text: str, where: Mapping[str, str], options: Options
) -> list[Feature]:
    """Answer a text with the further columns of its row: a town, a postcode, a country.

    A name goes with it if something there is called so. Else it is lost, as in an address in
    fields: many tables have the names of customers beside their addresses.
    """
    if "name" in where:
        found = _answer_with(geocoder, f"{where['name']}, {text}", _without_name(where), options)
        if found and not found[0]["properties"].get("match", {}).get("unmatched"):
            return found
        found = _answer_with(geocoder, text, _without_name(where), options)
        return [_lose(feature, where["name"]) for feature in found]
    code = find_country(geocoder.gazetteer, where.get("country", ""))
    if code:
        options = options._replace(filters=options.filters._replace(countries=(code,)))
        where = {name: value for name, value in where.items() if name != "country"}
    # What the text says already is not said again.
    written = fold(text)
    further = {name: value for name, value in where.items() if fold(value) not in written}
    rest = Address(**further).text
    return _answer_text(geocoder, f"{text}, {rest}" if rest else text, options)


def _without_name(where: Mapping[str, str]) -> dict[str, str]:
    return {part: value for part, value in where.items() if part != "name"}


def _lose(feature: Feature, name: str) -> Feature:
    """Return a feature that was found without a name that was asked for."""
    properties = feature["properties"]
    match = properties.get("match", {})
    unmatched = [name, *match.get("unmatched", ())]
    sure = min(properties.get("confidence") or 0.0, WITHOUT)
    changed = {**properties, "confidence": sure, "match": {**match, "unmatched": unmatched}}
    return {**feature, "properties": changed}


def _read_options(parts: Mapping[str, str], options: Options) -> Options:
    """Return what holds for one row: its own languages and limit, else those of all."""
    if "lang" in parts:
        langs = tuple(part.strip() for part in parts["lang"].split(",") if part.strip())
        options = options._replace(langs=langs)
    if "limit" in parts:
        if not parts["limit"].isdigit() or not 1 <= int(parts["limit"]) <= options.max_limit:
            raise InvalidRequest(f"limit must be a whole number from 1 to {options.max_limit}")
        options = options._replace(limit=int(parts["limit"]))
    return options


def _answer_text(geocoder: Geocoder, text: str, options: Options) -> list[Feature]:
    if not text.strip():
        raise InvalidRequest("is empty")
    if len(text) > MAX_TEXT:
        raise InvalidRequest(f"has more than {MAX_TEXT} characters")
    return geocoder.forward(
        text, options.limit, filters=options.filters, focus=options.focus, langs=options.langs
    )


def _read_position(lat: Any, lon: Any) -> tuple[float, float]:
    """Return lon, lat in degrees; a decimal comma is read too."""
    try:
        lat, lon = (float(str(value).strip().replace(",", ".")) for value in (lat, lon))
    except ValueError:
        raise InvalidRequest("lat and lng must be numbers") from None
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise InvalidRequest("lat must be within -90 to 90, lng within -180 to 180")
    return lon, lat


def _answer_position(geocoder: Geocoder, lat: Any, lon: Any, options: Options) -> list[Feature]:
    lon, lat = _read_position(lat, lon)
    return geocoder.reverse(lon, lat, options.radius_m, options.limit, langs=options.langs)


def _refuse_unknown(row: Mapping[str, Any]) -> None:
    known = {name for group in ALIASES.values() for name in group} | IDS
    unknown = [str(name) for name in row if str(name).strip().lower() not in known]
    if unknown:
        raise InvalidRequest(
            f"{', '.join(name[:60] for name in unknown[:10])}: not understood; give q, or "
            f"{', '.join(_ADDRESS_PARTS)}, or lat and lng"
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


def find_unused(columns: Sequence[str]) -> list[str]:
    """Return the columns of a file that say nothing to the geocoder; an id is kept, not used."""
    known = {name for group in ALIASES.values() for name in group} | IDS | set(ADDED)
    taken: set[str] = set()
    unused = []
    for column in columns:
        name = column.strip().lower()
        part = next((part for part, names in ALIASES.items() if name in names), name)
        if name not in known or (part in ALIASES and part in taken):
            unused.append(column)
        taken.add(part)
    return unused


def kept_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns of a file without those that an earlier run added."""
    return [column for column in columns if column not in ADDED]


def find_encoding(path: Path) -> str:
    """Return the encoding of a file: UTF-8, UTF-16 by its mark, else Windows-1252."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        first = True
        while chunk := file.read(1 << 20):
            if first and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            first = False
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                return "cp1252"
    return "utf-8-sig"


def read_ndjson(text: str) -> list[Any]:
    """Return the rows of a text with one JSON value a line; raise InvalidRequest."""
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                rows.append(orjson.loads(line))
            except orjson.JSONDecodeError as error:
                raise InvalidRequest(f"line {number} is not JSON: {error}") from None
    return rows


def find_level(properties: Mapping[str, Any]) -> str:
    """Return how exactly something is known: house, interpolated, street, place, postcode, …."""
    if properties.get("interpolated"):
        return "interpolated"
    if properties["source"] == "address":
        return "house"
    if properties.get("category") == "highway":
        return "intersection" if properties.get("subcategory") == "intersection" else "street"
    if properties.get("category") == "place":
        return str(properties.get("subcategory"))
    return "place" if properties.get("category") == "boundary" else "poi"


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
        error = answer.error or "nothing found"
        return [error if name == "match_error" else "" for name in ADDED]
    feature = answer.features[0]
    properties = feature["properties"]
    lon, lat = feature["geometry"]["coordinates"]
    unmatched = properties.get("match", {}).get("unmatched", ())
    return [
        lat, lon, properties["display_name"], properties.get("confidence", ""),
        properties["score"], properties["source"], properties.get("osm_type") or "",
        properties.get("osm_id") or "", "", find_level(properties),
        *(properties.get(name) or "" for name in
          ("house_number", "street", "postcode", "city", "state", "country_code")),
        " ".join(unmatched),
    ]  # fmt: skip
