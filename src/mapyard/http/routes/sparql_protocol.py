"""The SPARQL 1.1 Protocol for tools: what they send, what they accept, and what this service is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from msgspec import Meta

from mapyard.errors import InvalidRequest, NotAcceptable, Unsupported
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.routes.sparql import answer_whole, warning_headers
from mapyard.library.questions import sparql as library
from mapyard.params.parser import Params
from mapyard.sparql.engine import Triple, Triples, Truth
from mapyard.sparql.terms.prefixes import PREFIXES
from mapyard.sparql.terms.terms import RDF_TYPE, XSD_INTEGER, Iri, Literal
from mapyard.sparql.write.solutions import JSON_TYPE, XML_TYPE
from mapyard.sparql.write.triples import TURTLE_TYPE

_SD: Final = "http://www.w3.org/ns/sparql-service-description#"
_VOID: Final = "http://rdfs.org/ns/void#"
_FORMATS: Final = "http://www.w3.org/ns/formats/"
#: Names that tools use for a format, beside its own.
_SYNONYMS: Final = {
    "application/json": JSON_TYPE, "application/xml": XML_TYPE, "text/xml": XML_TYPE,
    "application/x-turtle": TURTLE_TYPE, "text/plain": "application/n-triples",
}  # fmt: skip
_ONE_GRAPH: Final = "this service has one graph, the map; leave it out"


class ProtocolParams(Params):
    """A query; without one the service describes itself."""

    query: Annotated[
        str | None, Meta(description="SPARQL 1.1 query; none: the service description")
    ] = None
    update: Annotated[str | None, Meta(description="refused: there is nothing to change")] = None


@endpoint(
    "/sparql",
    methods=("GET", "POST"),
    summary="SPARQL 1.1 Protocol, for tools",
    tag="Query languages",
    heavy=True,
    apart=True,
    texts={"application/sparql-query": "query", "text/plain": "query", "*": "query"},
    refused={
        "default-graph-uri": _ONE_GRAPH, "named-graph-uri": _ONE_GRAPH,
    },
    media_types=(*library.SOLUTION_WRITERS, *library.TRIPLE_WRITERS),
    headers={"X-Query-Warning": "predicates that no triple has, in ASCII"},
    errors=("invalid_query", "not_acceptable", "timeout", "too_large", "service_failed"),
    examples=[Example({"query": 'ASK { ?s osmkey:amenity "cafe" }'})],
)  # fmt: skip
def sparql_protocol(ctx: Context, params: ProtocolParams) -> Answer:
    """Return solutions as SPARQL results, triples as RDF, in the form that Accept names.

    `application/json` means SPARQL results here; what no form fits is 406. The key may also come in
    the query string (`?api_key=…`), for tools that send no headers of their own.
    """
    if params.update is not None:
        raise Unsupported("update is not served here; this service only answers queries")
    if params.query is None:
        media_type = choose_form(ctx.accept, tuple(library.TRIPLE_WRITERS))
        described = Triples(iter(describe(ctx)), {**PREFIXES, "sd": _SD, "void": _VOID})
        return answer_whole(library.TRIPLE_WRITERS[media_type](described), media_type)
    if isinstance(ctx.raw.get("query"), list):
        raise InvalidRequest.of("query", "came more than once; send one query")
    result = library.run(ctx, params.query)
    if isinstance(result, Truth):
        offered: Sequence[str] = tuple(library.BOOLEAN_WRITERS)
    elif isinstance(result, Triples):
        offered = tuple(library.TRIPLE_WRITERS)
    else:
        offered = tuple(library.SOLUTION_WRITERS)
    media_type = choose_form(ctx.accept, offered)
    answer = answer_whole(library.write(ctx, result, media_type), media_type)
    answer.headers = {**(answer.headers or {}), **warning_headers(ctx, params.query)}
    return answer


def choose_form(accept: str, offered: Sequence[str]) -> str:
    """Return the offered media type that an Accept header likes best; the first for `*/*`.

    Raises NotAcceptable where none fits.
    """
    best, best_quality = "", 0.0
    for item in accept.lower().split(",") if accept.strip() else ["*/*"]:
        name, *parameters = (part.strip() for part in item.split(";"))
        quality = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    quality = float(parameter[2:])
                except ValueError:
                    raise InvalidRequest.of("Accept", f"{parameter!r} is not a quality") from None
        name = _SYNONYMS.get(name, name)
        fits = [
            form
            for form in offered
            if name in (form, "*/*") or (name.endswith("/*") and form.startswith(name[:-1]))
        ]
        if fits and quality > best_quality:
            best, best_quality = fits[0], quality
    if not best:
        raise NotAcceptable(f"this answer comes as {', '.join(offered)}")
    return best


def describe(ctx: Context) -> Iterator[Triple]:
    """Yield the service description, with the data set in the words of VoID."""
    service, dataset = Iri(ctx.base_url + ctx.path), Iri(f"{ctx.base_url}{ctx.path}#dataset")
    graph = Iri(f"{ctx.base_url}{ctx.path}#graph")
    a = Iri(RDF_TYPE)
    yield service, a, Iri(_SD + "Service")
    yield service, Iri(_SD + "endpoint"), service
    yield service, Iri(_SD + "supportedLanguage"), Iri(_SD + "SPARQL11Query")
    if ctx.settings.sparql_services:
        yield service, Iri(_SD + "feature"), Iri(_SD + "BasicFederatedQuery")
    for name in ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV",
                 "SPARQL_Results_TSV", "Turtle", "N-Triples", "RDF_XML", "JSON-LD"):  # fmt: skip
        yield service, Iri(_SD + "resultFormat"), Iri(_FORMATS + name)
    yield service, Iri(_SD + "defaultDataset"), dataset
    yield dataset, a, Iri(_SD + "Dataset")
    yield dataset, a, Iri(_VOID + "Dataset")
    yield dataset, Iri(_SD + "defaultGraph"), graph
    yield graph, a, Iri(_SD + "Graph")
    store = ctx.store
    yield graph, Iri(_VOID + "entities"), Literal(str(store.row_count), XSD_INTEGER)
    for name in ("osmkey", "osm", "geo", "osm2rdf", "osmmeta", "osmrel", "osmway"):
        yield graph, Iri(_VOID + "vocabulary"), Iri(PREFIXES[name])
    licence = Iri("https://opendatacommons.org/licenses/odbl/1-0/")
    yield graph, Iri("http://purl.org/dc/terms/license"), licence
