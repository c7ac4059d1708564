"""SPARQL: a query in; solutions, a boolean or triples out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.solutions import GEOJSON, Kind, SparqlResult
from mapyard.library.snapshot import Snapshot, register_part
from mapyard.params.parser import Params
from mapyard.results.pages import open_collection
from mapyard.results.plan import QueryPlan
from mapyard.sparql.engine import Engine, Result, Solutions, Triples, Truth
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.remote.joins import Federation
from mapyard.sparql.run.runtime import Limits
from mapyard.sparql.run.table import Table, slice_tables
from mapyard.sparql.write.features import FeatureWriter
from mapyard.sparql.write.solutions import (
    CSV_TYPE,
    JSON_TYPE,
    TSV_TYPE,
    XML_TYPE,
    write_csv,
    write_json,
    write_json_boolean,
    write_tsv,
    write_xml,
    write_xml_boolean,
)
from mapyard.sparql.write.triples import (
    JSON_LD_TYPE,
    N_TRIPLES_TYPE,
    RDF_XML_TYPE,
    TURTLE_TYPE,
    write_json_ld,
    write_n_triples,
    write_rdf_xml,
    write_turtle,
)

#: Media types by the kind of answer, the preferred one first.
SOLUTION_WRITERS: Final[dict[str, Callable[[Solutions], Iterator[bytes]]]] = {
    JSON_TYPE: write_json,
    XML_TYPE: write_xml,
    CSV_TYPE: write_csv,
    TSV_TYPE: write_tsv,
}
BOOLEAN_WRITERS: Final[dict[str, Callable[[bool], bytes]]] = {
    JSON_TYPE: write_json_boolean,
    XML_TYPE: write_xml_boolean,
}
TRIPLE_WRITERS: Final[dict[str, Callable[[Triples], Iterator[bytes]]]] = {
    TURTLE_TYPE: write_turtle,
    N_TRIPLES_TYPE: write_n_triples,
    RDF_XML_TYPE: write_rdf_xml,
    JSON_LD_TYPE: write_json_ld,
}


def open_engine(snapshot: Snapshot) -> Engine:
    """Return the engine of a snapshot, which keeps its plans."""
    limits = Limits(max_bytes=snapshot.settings.query_bytes)
    source = OsmSource(snapshot.store, lambda: snapshot.part("text"))
    return Engine(source, limits, Federation.of(snapshot.settings.sparql_services))


register_part("sparql", open_engine)


class SparqlQuestion(Params, kw_only=True):
    """A query."""

    query: Annotated[
        str,
        Meta(
            description="SPARQL 1.1 query; the prefixes of osm2rdf/QLever and Sophox are declared",
            examples=['SELECT ?s ?name WHERE { ?s osm:amenity "cafe" . ?s osm:name ?name }'],
        ),
    ]


@question("sparql", path="/api/v1/sparql", leading=("query",))
def sparql(call: Call, params: SparqlQuestion) -> SparqlResult:
    """Run a SPARQL query; a sequence of solutions, a boolean, or triples.

    The prefixes of osm2rdf/QLever and Sophox are declared.
    """
    return LocalResult(call, run(call, params.query))


@question("explain_sparql", path="/api/v1/sparql", leading=("query",), fixed={"explain": True})
def explain_sparql(call: Call, params: SparqlQuestion) -> QueryPlan:
    """Run a SPARQL query and show its steps: rows expected and found, and time.

    The query runs whole; its answer is not written.
    """
    engine: Engine = call.part("sparql")
    return engine.explain(params.query, call.deadline)


def run(call: Call, query: str) -> Result:
    """Return the engine's answer; solutions and triples are found while they are read."""
    engine: Engine = call.part("sparql")
    return engine.query(query, call.deadline)


def warnings(call: Call, query: str) -> list[str]:
    """Return what the query's author should know: predicates that no triple has."""
    engine: Engine = call.part("sparql")
    return engine.warnings(engine.prepare(query))


class LocalResult(SparqlResult):
    """An answer of this process's engine, found while it is read and kept for reading again."""

    def __init__(self, call: Call, result: Result) -> None:
        kind: Kind = "solutions"
        if isinstance(result, Truth):
            kind = "boolean"
        elif isinstance(result, Triples):
            kind = "triples"
        super().__init__(kind, self._write)
        self._call = call
        self._result = result
        self._kept: list[Any] | None = None

    def _write(self, media_type: str) -> Iterator[bytes]:
        if self._kept is None and not isinstance(self._result, Truth):
            source: Any = self._result
            self._kept = list(source.tables if self.kind == "solutions" else source.triples)
        return write(self._call, self._again(), media_type)

    def _again(self) -> Result:
        if isinstance(self._result, Solutions):
            tables: list[Table] = self._kept or []
            return replace(self._result, tables=iter(tables))
        if isinstance(self._result, Triples):
            return replace(self._result, triples=iter(self._kept or []))
        return self._result


def write(call: Call, result: Result, media_type: str) -> Iterator[bytes]:
    """Yield an answer in a media type; it is read while it is written."""
    if isinstance(result, Truth):
        if media_type in BOOLEAN_WRITERS:
            return iter((BOOLEAN_WRITERS[media_type](result.value),))
    elif isinstance(result, Triples):
        if media_type in TRIPLE_WRITERS:
            return TRIPLE_WRITERS[media_type](result)
    elif media_type == GEOJSON:
        return stream_features(FeatureWriter(result, call.store))
    elif media_type in SOLUTION_WRITERS:
        return SOLUTION_WRITERS[media_type](result)
    raise InvalidRequest.of("format", f"this query cannot be answered as {media_type}")


def stream_features(writer: FeatureWriter) -> Iterator[bytes]:
    """Yield solutions as one FeatureCollection."""
    yield open_collection()
    separator = b""
    for features in writer.write():
        yield separator + b",".join(features)
        separator = b","
    yield b"]}"


def write_solution_features(
    call: Call, result: Solutions, start: int = 0, count: int | None = None
) -> list[bytes]:
    """Return solutions as features, JSON each, all or a range of them."""
    if count is not None:
        result.tables = slice_tables(result.tables, start, count)
    writer = FeatureWriter(result, call.store)
    return [feature for chunk in writer.write() for feature in chunk]
