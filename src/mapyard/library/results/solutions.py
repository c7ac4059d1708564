"""What a SPARQL query is answered with: solutions, a boolean, or triples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from mapyard.library.results.feature import Features
from mapyard.library.results.tables import need

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

type Kind = Literal["solutions", "boolean", "triples"]

GEOJSON: Final = "application/geo+json"
RESULTS_JSON: Final = "application/sparql-results+json"
TURTLE: Final = "text/turtle"
N_TRIPLES: Final = "application/n-triples"

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


def _read_boolean(text: str) -> bool:
    return text in ("true", "1")


def _read_time(text: str) -> datetime | str:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def _read_date(text: str) -> date | str:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    _XSD + "integer": int,
    _XSD + "int": int,
    _XSD + "long": int,
    _XSD + "decimal": float,
    _XSD + "double": float,
    _XSD + "float": float,
    _XSD + "boolean": _read_boolean,
    _XSD + "dateTime": _read_time,
    _XSD + "date": _read_date,
}


class SparqlResult(Sequence[dict[str, Any]]):
    """The answer of a query: a sequence of solutions, each a mapping of variable to value.

    Values are int, float, bool, datetime or date where their datatype says so, else text; an
    unbound variable is None. `boolean` is the answer of ASK, `triples` that of CONSTRUCT and
    DESCRIBE.
    """

    def __init__(self, kind: Kind, write: Callable[[str], Iterator[bytes]]) -> None:
        self.kind = kind
        #: Yields the answer in a media type; may be called several times.
        self.write = write

    @cached_property
    def _results(self) -> dict[str, Any]:
        if self.kind == "triples":
            raise ValueError("this query gives triples: read `triples` or `turtle`")
        loaded: dict[str, Any] = orjson.loads(b"".join(self.write(RESULTS_JSON)))
        return loaded

    @property
    def variables(self) -> list[str]:
        """Return the names of the variables, in the order of the query."""
        return list(self._results["head"].get("vars", ()))

    @property
    def bindings(self) -> list[dict[str, dict[str, str]]]:
        """Return the solutions as SPARQL Results JSON has them, with types and languages."""
        if self.kind == "boolean":
            raise ValueError("this query gives a boolean: read `boolean`")
        found: list[dict[str, dict[str, str]]] = self._results["results"]["bindings"]
        return found

    @property
    def boolean(self) -> bool:
        """Return the answer of ASK."""
        if self.kind != "boolean":
            raise ValueError(f"this query gives {self.kind}, no boolean")
        return bool(self._results["boolean"])

    @property
    def turtle(self) -> str:
        """Return the triples of CONSTRUCT or DESCRIBE as Turtle."""
        if self.kind != "triples":
            raise ValueError(f"this query gives {self.kind}, no triples")
        return b"".join(self.write(TURTLE)).decode()

    @property
    def triples(self) -> list[str]:
        """Return the triples of CONSTRUCT or DESCRIBE, each a line of N-Triples."""
        if self.kind != "triples":
            raise ValueError(f"this query gives {self.kind}, no triples")
        return b"".join(self.write(N_TRIPLES)).decode().splitlines()

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        names = self.variables
        return [{name: _read(row.get(name)) for name in names} for row in self.bindings]

    def __len__(self) -> int:
        return len(self.triples) if self.kind == "triples" else len(self._rows)

    def __bool__(self) -> bool:
        return self.boolean if self.kind == "boolean" else len(self) > 0

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparqlResult) or self.kind != other.kind:
            return False
        if self.kind == "triples":
            return sorted(self.triples) == sorted(other.triples)
        return bool(self._results == other._results)

    __hash__ = None  # type: ignore[assignment] # equal by content

    def __repr__(self) -> str:
        if self.kind == "boolean":
            return f"<SparqlResult {self.boolean}>"
        what = "triples" if self.kind == "triples" else f"solutions of {', '.join(self.variables)}"
        return f"<SparqlResult: {len(self)} {what}>"

    def to_features(self) -> Features:
        """Return the solutions as features.

        The geometry is the first variable that holds WKT, else that of the first OpenStreetMap
        element; the other variables become properties.
        """
        body = orjson.loads(b"".join(self.write(GEOJSON)))
        members = {k: v for k, v in body.items() if k not in ("type", "features", "results")}
        return Features(body["features"], members)

    def to_geojson(self) -> dict[str, Any]:
        """Return the solutions as a FeatureCollection."""
        return self.to_features().to_geojson()

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table, a column per variable; one of several kinds is text."""
        pa = need("pyarrow")
        return pa.table({name: _to_array(pa, self._column(name)) for name in self.variables})

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame, a column per variable."""
        return need("pandas").DataFrame({name: self._column(name) for name in self.variables})

    def to_polars(self) -> polars.DataFrame:
        """Return a polars DataFrame, a column per variable."""
        return need("polars").from_arrow(self.to_arrow())

    def _column(self, name: str) -> list[Any]:
        return [row[name] for row in self._rows]

    def _repr_html_(self) -> str:
        if self.kind == "triples":
            from html import escape

            return f"<pre>{escape(self.turtle)}</pre>"
        if self.kind == "boolean":
            return f"<b>{self.boolean}</b>"
        from mapyard.library.results.notebook import draw_table

        return draw_table(self.variables, self._rows)


def _read(binding: Mapping[str, str] | None) -> Any:
    if binding is None:
        return None
    value = binding["value"]
    reader = _READERS.get(binding.get("datatype", ""))
    if reader is None:
        return value
    try:
        return reader(value)
    except ValueError:
        return value


def _to_array(pa: Any, values: list[Any]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if v is None else str(v) for v in values], pa.string())
