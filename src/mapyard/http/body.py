"""From the bytes of a request to one mapping of raw parameters.

Query string and body are merged, the body wins. A raw value is a text (query, form), a JSON value
(body), a list of texts (a name given several times), or for `name[key]=…` a mapping. `null` and
empty texts are absent. A text that begins with the name of its parameter (`data=`) is a form,
whatever type it names. What is no JSON and no form goes whole into the parameter that the endpoint
names for its media type.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import parse_qsl

import orjson

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.params.raw import Raw, put_raw

MAX_QUERY_BYTES: Final = 65_536
MAX_FIELDS: Final = 1_000
JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
_CHARSET: Final = re.compile(r"charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
#: Charsets that people write texts in, by their names in Python. Others, such as punycode and idna,
#: take a time that grows with the square of the text.
_TEXT_CHARSETS: Final = re.compile(
    r"ascii|utf-(8|16|16-le|16-be|32)|iso8859-\d+|cp\d{3,4}|koi8-[rut]|mac-\w+|gb\w+|big5\w*|"
    r"shift_jis\w*|euc_(jp|kr)\w*|johab|hz|iso2022_jp\w*|tis-620"
)
_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)
_NAME: Final = re.compile(rb'^content-disposition:[^\r\n]*[; ]name="([^"\r\n]*)"', re.I | re.M)


def read_query(query_string: bytes) -> Raw:
    """Return the raw parameters of a query string."""
    if not query_string:
        return {}
    if len(query_string) > MAX_QUERY_BYTES:
        raise TooLarge(
            f"the query string has {len(query_string)} bytes, at most {MAX_QUERY_BYTES}: "
            "send the parameters in the body of a POST",
            details={"limit": MAX_QUERY_BYTES, "count": len(query_string)},
        )
    return _read_pairs(query_string)


def read_body(
    body: bytes, content_type: str, texts: Mapping[str, str], known: Collection[str]
) -> Raw:
    """Return the raw parameters of a body.

    Args:
        body: the whole body; an empty one has no parameters.
        content_type: the header's value.
        texts: media type → parameter for bodies that are one text; "*" is any other type.
        known: names of the endpoint's parameters, to tell a form from a text sent as a form.
    """
    if not body or body.isspace():
        return {}
    if content_type == JSON and not texts:  # as most are
        return _read_json(body)
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == MULTIPART:
        return _read_parts(body, content_type)
    if any(body.lstrip().startswith(name.encode() + b"=") for name in set(texts.values())):
        return _read_pairs(body.strip())  # clients of the original name any type for a form
    if media_type in texts:
        return {texts[media_type]: _decode_text(body, media_type, content_type)}
    looks_like_json = body.lstrip()[:1] in (b"{", b"[")
    if media_type == FORM and not looks_like_json:  # curl -d sends everything as a form
        pairs = _read_pairs(body.strip())
        if "*" in texts and not any(name in known for name in pairs):
            return {texts["*"]: _decode(body)}
        return pairs
    says_json = media_type.endswith(("/json", "+json"))
    is_json = says_json or (
        looks_like_json and media_type in ("", FORM, "text/plain", "application/octet-stream")
    )
    if "*" in texts and (not is_json or not (says_json or _is_json(body))):
        return {texts["*"]: _decode(body)}
    return _read_json(body)


def _is_json(body: bytes) -> bool:
    """Return whether a text that looks like JSON is: Overpass QL begins with `[` or `{{` too."""
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return True


def merge(query: Raw, body: Raw) -> Raw:
    """Return both together: the body wins, `name[key]` by key; absent values are dropped."""
    merged = dict(query)
    for name, value in body.items():
        if isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = merged[name] | value
        elif value is not None and value != "":
            merged[name] = value
    return {name: value for name, value in merged.items() if value is not None and value != ""}


def _decode_text(body: bytes, media_type: str, content_type: str) -> str:
    """Return a text in the charset that its type declares, else UTF-8.

    Spreadsheets write CSV in UTF-16 or Windows-1252 and declare nothing.
    """
    charset = _CHARSET.search(content_type)
    if charset and charset[1].lower() not in ("utf-8", "utf8"):
        try:
            name = codecs.lookup(charset[1]).name
            if not _TEXT_CHARSETS.fullmatch(name):
                raise LookupError(name)
            return body.decode(name)
        except (LookupError, UnicodeDecodeError):
            raise InvalidRequest.of("body", f"is not in the charset {charset[1]}") from None
    if media_type == "text/csv":
        if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return body.decode("utf-16", "replace")
        try:
            return body.decode("utf-8-sig")
        except UnicodeDecodeError:
            return body.decode("cp1252", "replace")
    return _decode(body)


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest.of("body", f"is not UTF-8 at byte {error.start}") from None


def _read_pairs(text: bytes) -> Raw:
    try:
        pairs = parse_qsl(
            text.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise _too_many_fields() from None
    raw: Raw = {}
    for name, value in pairs:
        if value:
            put_raw(raw, name, value)
    return raw


def _read_parts(body: bytes, content_type: str) -> Raw:
    """Return the fields of a multipart form; files are read as texts."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise InvalidRequest.of("body", f"a {MULTIPART} body needs boundary=… in its Content-Type")
    parts = (b"\r\n" + body).split(b"\r\n--" + (found[1] or found[2]).encode())
    if len(parts) < 3 or not parts[-1].startswith(b"--"):
        raise InvalidRequest.of("body", "is not a complete form: its boundary does not close it")
    if len(parts) > MAX_FIELDS:
        raise _too_many_fields()
    raw: Raw = {}
    for part in parts[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = _NAME.search(head.replace(b"\r\n", b"\n"))
        if name is None:
            raise InvalidRequest.of("body", "a part of the multipart form has no name")
        if content:
            put_raw(raw, _decode(name[1]), _decode(content))
    return raw


def _read_json(body: bytes) -> Raw:
    try:
        value = orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidRequest.of("body", f"is not valid JSON at {where}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequest.of("body", "must be a JSON object")
    if len(value) > MAX_FIELDS:
        raise _too_many_fields()
    for name, item in value.items():
        if isinstance(item, dict) and len(item) > MAX_FIELDS:
            raise TooLarge(
                f"{name[:100]} has {len(item)} members, at most {MAX_FIELDS} are read",
                details={"parameter": name[:100], "limit": MAX_FIELDS, "count": len(item)},
            )
    if "[" not in "".join(value):
        return value
    raw: Raw = {}
    for name, item in value.items():
        put_raw(raw, name, item)
    return raw


def _too_many_fields() -> TooLarge:
    return TooLarge(f"more than {MAX_FIELDS} parameters", details={"limit": MAX_FIELDS})
