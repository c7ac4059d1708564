"""Reads the manifests of the W3C suite and compares answers; Turtle and results by pyoxigraph."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from mapyard.deadline import no_deadline
from mapyard.errors import MapyardError
from mapyard.sparql.engine import Engine, Solutions, Triples, Truth, prepare_query
from mapyard.sparql.parse.parser import parse_query
from mapyard.sparql.plan.algebra import Distinct, OrderBy, Pattern, Project, Slice
from mapyard.sparql.sources.graph import TripleGraph
from mapyard.sparql.terms.terms import BlankNode, Iri, Literal, Term, TripleTerm
from mapyard.sparql.terms.values import find_number
from mapyard.sparql.write.solutions import write_csv, write_json, write_tsv, write_xml

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

#: Not the query language: entailment regimes, federation, update, protocols.
LEFT_OUT = frozenset(
    (
        "entailment", "service", "syntax-fed", "protocol", "service-description",
        "graph-store-protocol",
    )
)  # fmt: skip


Row = tuple[Any, ...]


@dataclass
class Case:
    name: str
    kind: str
    query: Path
    result: Path | None = None
    data: list[Path] = field(default_factory=list)
    named: list[Path] = field(default_factory=list)


def iter_cases(folder: Path) -> Iterator[Case]:
    for version in ("sparql10", "sparql11"):
        for manifest in sorted((folder / version).glob("*/manifest.ttl")):
            if manifest.parent.name not in LEFT_OUT:
                yield from _cases_of(manifest, f"{version}/{manifest.parent.name}")


def _cases_of(manifest: Path, group: str) -> Iterator[Case]:
    store = ox.Store()
    store.load(path=str(manifest), format=ox.RdfFormat.TURTLE, base_iri=manifest.as_uri())

    def objects(subject: Any, predicate: str) -> list[Any]:
        found = store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return [quad.object for quad in found]

    def path(node: Any) -> Path:
        return Path(node.value.removeprefix("file://"))

    listed: set[Any] = set()
    for start in objects(None, MF + "entries"):
        node = start
        while node.value != RDF + "nil":
            listed |= set(objects(node, RDF + "first"))
            (node,) = objects(node, RDF + "rest")
    for quad in store.quads_for_pattern(None, ox.NamedNode(RDF + "type"), None):
        # Some manifests describe tests that they leave out of their list.
        if quad.subject not in listed:
            continue
        kind = quad.object.value.rpartition("#")[2]
        if "Update" in kind or not ("Syntax" in kind or kind == "QueryEvaluationTest"
                                    or kind == "CSVResultFormatTest"):  # fmt: skip
            continue
        action = objects(quad.subject, MF + "action")[0]
        name = f"{group}/{quad.subject.value.rpartition('#')[2]}"
        if "Syntax" in kind:
            yield Case(name, kind, path(action))
            continue
        yield Case(
            name,
            kind,
            path(objects(action, QT + "query")[0]),
            path(objects(quad.subject, MF + "result")[0]),
            [path(node) for node in objects(action, QT + "data")],
            [path(node) for node in objects(action, QT + "graphData")],
        )


def run_case(case: Case) -> str:
    """Return what is wrong, "" when the test passes."""
    text = case.query.read_bytes().decode()
    try:
        query = parse_query(text, case.query.as_uri())
        if "Syntax" in case.kind:
            return "accepted, should be refused" if "Negative" in case.kind else ""
        default = [t for p in case.data for t in read_graph(p)]
        named: dict[Term, list[Any]] = {Iri(p.as_uri()): read_graph(p) for p in case.named}
        for iri in (*query.from_graphs, *query.from_named):
            named.setdefault(iri, read_graph(Path(iri.value.removeprefix("file://"))))
        result = Engine(TripleGraph(default, named)).run(prepare_query(query), no_deadline())
        has_order = isinstance(outermost(query.pattern), OrderBy)
        return compare(result, case, "REDUCED" in text.upper(), has_order)
    except MapyardError as error:
        if "Syntax" in case.kind and "Negative" in case.kind:
            return ""
        return f"{type(error).__name__}: {error.message}"


def _term(node: Any) -> Term:
    if isinstance(node, ox.NamedNode):
        return Iri(node.value)
    if isinstance(node, ox.BlankNode):
        return BlankNode(node.value)
    if isinstance(node, ox.Triple):
        return TripleTerm(_term(node.subject), _term(node.predicate), _term(node.object))  # type: ignore[arg-type] # as parsed
    language = (node.language or "").lower()
    if node.direction is not None:
        language += f"--{node.direction}"
    return Literal(node.value, node.datatype.value, language)


def read_graph(path: Path) -> list[tuple[Term, Term, Term]]:
    formats = {
        ".ttl": ox.RdfFormat.TURTLE,
        ".nt": ox.RdfFormat.N_TRIPLES,
        ".rdf": ox.RdfFormat.RDF_XML,
    }
    quads = ox.parse(path=str(path), format=formats[path.suffix], base_iri=path.as_uri())

    # Blank nodes of one file are not those of another.
    def term(node: Any) -> Term:
        result = _term(node)
        if isinstance(result, BlankNode):
            return BlankNode(f"{path.stem}-{result.label}")
        return result

    return [(term(q.subject), term(q.predicate), term(q.object)) for q in quads]


def outermost(pattern: Pattern) -> Pattern:
    """Return the pattern below what keeps the order of its rows."""
    while isinstance(pattern, Project | Slice | Distinct):
        pattern = pattern.pattern
    return pattern


def compare(result: Any, case: Case, reduced: bool, has_order: bool = False) -> str:
    """Return what is wrong: other rows, other columns, or another order where one is asked for."""
    path = case.result
    assert path is not None
    if isinstance(result, Truth):
        wanted = _read_results(path)
        return "" if wanted is result.value else f"{result.value}, not {wanted}"
    if isinstance(result, Triples):
        got = [tuple(map(_value, t)) for t in result.triples]
        want = [tuple(map(_value, t)) for t in read_graph(path)]
        return (
            ""
            if same_rows(got, want)
            else f"{len(got)} triples, wanted {len(want)}: {got[:5]} {want[:5]}"
        )
    assert isinstance(result, Solutions)
    rows = written_rows(result, path.suffix)
    wanted = _read_results(path)
    if isinstance(wanted, bool):
        return "wanted a boolean"
    variables, want_rows = wanted
    if set(variables) != set(result.variables):
        return f"columns {sorted(result.variables)}, wanted {sorted(variables)}"
    order = [result.variables.index(v) if v in result.variables else -1 for v in variables]
    got_rows = [tuple(None if i < 0 else _value(row[i]) for i in order) for row in rows]
    plain = case.kind == "CSVResultFormatTest"
    if plain:
        got_rows = [tuple(_plain(t) for t in row) for row in got_rows]
    want_rows = [tuple(map(_plain if plain else _value, row)) for row in want_rows]
    if reduced:
        got_rows, want_rows = list(dict.fromkeys(got_rows)), list(dict.fromkeys(want_rows))
    if same_rows(got_rows, want_rows):
        if has_order and not all(map(same_row, got_rows, want_rows)):
            return f"the order is {got_rows[:8]}, wanted {want_rows[:8]}"
        return ""
    got_texts, want_texts = sorted(map(str, got_rows))[:8], sorted(map(str, want_rows))[:8]
    return f"got {len(got_rows)}: {got_texts}, wanted {len(want_rows)}: {want_texts}"


#: How an answer is written where the expected one is in that format, so that writers count too.
WRITERS = {
    ".srx": (write_xml, ox.QueryResultsFormat.XML),
    ".srj": (write_json, ox.QueryResultsFormat.JSON),
    ".tsv": (write_tsv, ox.QueryResultsFormat.TSV),
}


def written_rows(result: Solutions, suffix: str) -> list[Row]:
    """Return the rows of an answer by way of the format of the expected one."""
    if suffix == ".csv":
        found = list(csv.reader(io.StringIO(b"".join(write_csv(result)).decode(), newline="")))
        if tuple(found[0]) != result.variables and result.variables:
            return []
        return [tuple(map(Literal, row)) for row in found[1:]]
    if suffix in WRITERS and result.variables:
        write, format_ = WRITERS[suffix]
        parsed = ox.parse_query_results(b"".join(write(result)), format=format_)
        assert isinstance(parsed, ox.QuerySolutions)
        return [
            tuple(None if s[v] is None else _term(s[v]) for v in result.variables) for s in parsed
        ]
    rows: list[Row] = []
    for table in result.tables:
        columns = [
            result.runtime.decode(table.ids(v, result.runtime.pool)) for v in result.variables
        ]
        rows += list(zip(*columns, strict=True)) if columns else [()] * table.length
    return rows


def same_row(a: Row, b: Row) -> bool:
    """Compare two rows, any blank node with any."""
    return all(
        x == y or (isinstance(x, BlankNode) and isinstance(y, BlankNode))
        for x, y in zip(a, b, strict=True)
    )


def _value(term: Term | None) -> Any:
    """Return a literal's value where only its value counts."""
    if isinstance(term, Literal):
        number = find_number(term)
        if number is not None:
            value = number[0]
            rounded = round(float(value), 9) if value == value else "NaN"
            return ("number", term.datatype, rounded)
    return term


def _plain(term: Any) -> Any:
    if isinstance(term, tuple) and term and term[0] == "number":
        return float(term[2])
    if isinstance(term, str):
        try:
            return float(term)
        except ValueError:
            return BlankNode(term[2:]) if term.startswith("_:") else term
    if isinstance(term, BlankNode):
        return term
    return "" if term is None else _plain(str(term[0]))


def _read_results(path: Path) -> Any:
    if path.suffix in (".ttl", ".rdf"):
        return _read_result_graph(path)
    if path.suffix == ".csv":
        rows = list(csv.reader(io.StringIO(path.read_text())))
        return rows[0], [tuple(row) for row in rows[1:]]
    formats = {
        ".srx": ox.QueryResultsFormat.XML,
        ".srj": ox.QueryResultsFormat.JSON,
        ".tsv": ox.QueryResultsFormat.TSV,
    }
    results = ox.parse_query_results(path=str(path), format=formats[path.suffix])
    if isinstance(results, ox.QueryBoolean):
        return bool(results)
    variables = [v.value for v in results.variables]
    rows = [
        tuple(None if node is None else _term(node) for node in (solution[v] for v in variables))
        for solution in results
    ]
    return variables, rows


def _read_result_graph(path: Path) -> Any:
    triples = read_graph(path)

    def objects(subject: Term, name: str) -> list[Term]:
        return [o for s, p, o in triples if s == subject and p == Iri(RS + name)]

    root = next(s for s, _, o in triples if o == Iri(RS + "ResultSet"))
    if found := objects(root, "boolean"):
        return found[0][0] == "true"
    variables = [str(v[0]) for v in objects(root, "resultVariable")]
    rows = []
    solutions = objects(root, "solution")
    places = {s: int(str(i[0][0])) for s in solutions if (i := objects(s, "index"))}
    for solution in sorted(solutions, key=lambda s: places.get(s, 0)):
        row: dict[str, Term] = {}
        for binding in objects(solution, "binding"):
            row[str(objects(binding, "variable")[0][0])] = objects(binding, "value")[0]
        rows.append(tuple(row.get(v) for v in variables))
    return variables, rows


def same_rows(got: list[Any], want: list[Any]) -> bool:
    """Compare as multisets, with blank nodes renamed."""
    if len(got) != len(want):
        return False

    def shape(row: Any) -> str:
        return str(tuple("_" if isinstance(t, BlankNode) else t for t in row))

    if sorted(map(shape, got)) != sorted(map(shape, want)):
        return False
    if not any(isinstance(t, BlankNode) for row in want for t in row):
        return True
    return _match(got, want, {}, {})


def _match(got: list[Any], want: list[Any], names: dict[Any, Any], back: dict[Any, Any]) -> bool:
    if not got:
        return True
    row = got[0]
    for index, other in enumerate(want):
        forth, reverse = dict(names), dict(back)
        for a, b in zip(row, other, strict=True):
            if isinstance(a, BlankNode) and isinstance(b, BlankNode):
                if forth.setdefault(a, b) != b or reverse.setdefault(b, a) != a:
                    break
            elif a != b:
                break
        else:
            if _match(got[1:], want[:index] + want[index + 1 :], forth, reverse):
                return True
    return False


def main(folder: Path) -> None:
    """Print how the tests of SPARQL 1.2 go, a line per group."""
    for manifest in sorted((folder / "sparql12").glob("*/manifest.ttl")):
        counts: Counter[str] = Counter()
        for case in _cases_of(manifest, manifest.parent.name):
            try:
                problem = run_case(case)
            except KeyError as error:
                problem = f"data in {error}"
            refused = "is not served" in problem
            counts["refused by name" if refused else "not passed" if problem else "passed"] += 1
            if problem and not refused:
                sys.stdout.write(f"  {case.name}: {problem[:200]}\n")
        sys.stdout.write(f"{manifest.parent.name} {dict(counts)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
