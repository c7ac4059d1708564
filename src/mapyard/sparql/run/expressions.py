"""Evaluation of expressions over whole tables.

Three ways, the first that fits: comparison and logic on ids and typed vectors; vectorised functions
(geometry); else a scalar function once per distinct combination of its arguments.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from inspect import signature
from typing import Any, Final

import numpy as np
import shapely

from mapyard.errors import Unsupported
from mapyard.sparql.plan.algebra import CHAIN, Aggregate, Call, Exists, Expression, Pattern, Var
from mapyard.sparql.run.functions import SCALAR, replace_matches
from mapyard.sparql.run.operands import are_doubles, as_operand
from mapyard.sparql.run.runtime import Runtime
from mapyard.sparql.run.table import (
    KEPT_VALUE,
    Booleans,
    Column,
    Constant,
    Numbers,
    Shapes,
    Table,
    Value,
    factorize,
    take,
)
from mapyard.sparql.terms.ids import (
    POOL,
    SHIFT,
    Ids,
    Mask,
)
from mapyard.sparql.terms.terms import (
    XSD_DOUBLE,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
    boolean,
)
from mapyard.sparql.terms.values import (
    ExpressionError,
    compare,
    effective_boolean,
    equals,
)

#: Fast ways of scalar functions by name, filled by text_kernels.py; None: take the common way.
FAST: Final[dict[str, Callable[[Evaluator, list[Value], int], Value | None]]] = {}
#: Rows that a vectorised function works on between looks at the deadline.
_KERNEL_ROWS: Final = 16_384
_KERNEL_POSITIONS: Final = 400_000
#: Least length of a position in a text, to guess how many a constant has.
_LETTERS_PER_POSITION: Final = 16
#: Hidden column that numbers the solutions for BNODE.
_SOLUTION: Final = " solution"
#: A vectorised function: (evaluator, values of the arguments, length) → column or constant.
Kernel = Callable[["Evaluator", list[Value], int], Value]
#: Vectorised functions by IRI, filled by geosparql.py.
KERNELS: Final[dict[str, Kernel]] = {}

ExistsTest = Callable[[Pattern, Table], Mask]


_PREDICATES: Final[dict[str, Callable[[Term, Term], bool]]] = {
    "=": equals,
    "!=": lambda a, b: not equals(a, b),
    "<": lambda a, b: compare(a, b) == -1,
    ">": lambda a, b: compare(a, b) == 1,
    "<=": lambda a, b: compare(a, b) in (-1, 0),
    ">=": lambda a, b: compare(a, b) in (0, 1),
}
_VECTOR: Final[dict[str, Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
}
_ARITHMETIC: Final = frozenset("+-*/")
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
#: Built-ins whose result is a boolean.
_TESTS: Final = frozenset(
    (
        "LANGMATCHES", "SAMETERM", "ISIRI", "ISBLANK", "ISLITERAL", "ISNUMERIC", "STRSTARTS",
        "STRENDS", "CONTAINS", "REGEX", "ISTRIPLE", "HASLANG", "HASLANGDIR",
    )
)  # fmt: skip


class Evaluator:
    """Evaluates expressions of one execution; `exists` answers EXISTS for the rows of a table."""

    def __init__(self, runtime: Runtime, exists: ExistsTest) -> None:
        self.runtime = runtime
        self.pool = runtime.pool
        self._exists = exists

    # Doors ---------------------------------------------------------------------------------------

    def column(self, expression: Expression, table: Table) -> Column:
        """Return the values of an expression for each row."""
        value = self.value(expression, table)
        if isinstance(value, Constant):
            return np.full(table.length, self.pool.encode(value.term), np.int64)
        return value

    def mask(self, expression: Expression, table: Table) -> Mask:
        """Return for which rows an expression is true; errors are false."""
        truth = self._truth(self.value(expression, table), table.length)
        return truth.values & truth.valid

    def ids(self, value: Value, length: int) -> Ids:
        """Return a value as term ids."""
        if isinstance(value, Constant):
            return np.full(length, self.pool.encode(value.term), np.int64)
        return value if isinstance(value, np.ndarray) else value.to_ids(self.pool)

    # Expressions ---------------------------------------------------------------------------------

    def value(self, expression: Expression, table: Table) -> Value:
        """Return the values of an expression for each row, or a constant."""
        match expression:
            case Var(name):
                column = table.columns.get(name)
                return np.zeros(table.length, np.int64) if column is None else column
            case Iri() | Literal() | TripleTerm():
                return Constant(expression)
            case Call():
                return self._call(expression, table)
            case Exists(pattern, negated):
                found = self._exists(pattern, table)
                return Booleans(found ^ negated, np.ones(table.length, np.bool_))
            case Aggregate():
                raise AssertionError("aggregates are lifted by the parser")

    def _call(self, call: Call, table: Table) -> Value:
        name, length = call.name, table.length
        self.runtime.deadline.check()
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, call, table)
        kernel = KERNELS.get(name)
        if kernel is not None:
            return self._call_kernel(kernel, call, table)
        args = [self.value(arg, table) for arg in call.args]
        if name in _PREDICATES:
            return self._compare(name, args[0], args[1], length)
        if name in _ARITHMETIC:
            return self._calculate(name, args, length)
        fast = FAST.get(name)
        if fast is not None and (result := fast(self, args, length)) is not None:
            return result
        function = SCALAR.get(name)
        if function is None:
            raise Unsupported(f"the function <{name}> is not known", details={"function": name})
        if not _may_call(function, len(args)):
            raise Unsupported(
                f"the function <{name}> does not take {len(args)} arguments",
                details={"function": name, "count": len(args)},
            )
        return self.apply(function, args, length, name in _TESTS)

    def _call_kernel(self, kernel: Kernel, call: Call, table: Table) -> Value:
        """Call a geometry function; numbers stay in the table, where BIND finds them again."""
        names: dict[Call, str] = self.runtime.made.setdefault("values", {})
        hidden = names.get(call)
        if hidden is None:
            hidden = names[call] = f"{KEPT_VALUE}{len(names)}"
        known = table.columns.get(hidden)
        if known is not None:
            return known
        args = [self._shape_or_value(arg, table) for arg in call.args]
        parts: list[Value] = []
        for start, stop in self._kernel_chunks(args, table.length):
            self.runtime.deadline.check()
            part: Any = slice(start, stop)
            length = stop - start
            chosen = [a if isinstance(a, Constant) else take(a, part) for a in args]
            try:
                parts.append(kernel(self, chosen, length))
            except shapely.errors.GEOSException:
                parts.append(self._kernel_by_row(kernel, chosen, length))
            except IndexError:
                raise Unsupported(
                    f"the function <{call.name}> takes more than {len(args)} arguments",
                    details={"function": call.name, "count": len(args)},
                ) from None
        value = parts[0] if len(parts) == 1 else self._join_parts(parts)
        if isinstance(value, Numbers):
            table.columns[hidden] = value
        return value

    def _kernel_by_row(self, kernel: Kernel, args: list[Value], length: int) -> Value:
        """Call a kernel for each row; rows whose shapes GEOS cannot cope with have no value."""
        found: list[Value | None] = []
        for row in range(length):
            self.runtime.deadline.check()
            one: Any = slice(row, row + 1)
            chosen = [a if isinstance(a, Constant) else take(a, one) for a in args]
            try:
                found.append(kernel(self, chosen, 1))
            except shapely.errors.GEOSException:
                found.append(None)
        missing = _unbound_like(next((v for v in found if v is not None), None))
        return self._join_parts([missing if v is None else v for v in found])

    def _kernel_chunks(self, args: list[Value], length: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that GEOS is done with soon: few where shapes are large."""
        fixed = 0
        sizes = np.zeros(length, np.int64)
        for arg in args:
            if isinstance(arg, Shapes):
                sizes = sizes + shapely.get_num_coordinates(arg.values)
            elif isinstance(arg, Constant):
                fixed += len(arg.term[0]) // _LETTERS_PER_POSITION
        if length <= _KERNEL_ROWS and int(sizes.sum()) + fixed * length <= _KERNEL_POSITIONS:
            yield 0, length
            return
        ends = np.cumsum(sizes + fixed)
        start = 0
        while start < length:
            done = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, done + _KERNEL_POSITIONS, side="right"))
            stop = min(max(stop, start + 1), start + _KERNEL_ROWS, length)
            yield start, stop
            start = stop

    def _join_parts(self, parts: list[Value]) -> Value:
        """Return the values of a kernel, which are all of one kind, in one."""
        first = parts[0]
        if isinstance(first, Constant):
            return first
        values: Any = [p if isinstance(p, np.ndarray) else p.values for p in parts]  # type: ignore[union-attr] # no constant
        joined = np.concatenate(values)
        if isinstance(first, np.ndarray):
            return joined
        if isinstance(first, Shapes):
            return Shapes(joined)
        valid = np.concatenate([p.valid for p in parts])  # type: ignore[union-attr] # as the first
        return Numbers(joined, valid) if isinstance(first, Numbers) else Booleans(joined, valid)

    def _shape_or_value(self, expression: Expression, table: Table) -> Value:
        """Return the argument of a geometry function; shapes of the source stay in the table."""
        value = self.value(expression, table)
        if isinstance(expression, Var) and isinstance(value, np.ndarray):
            shapes = self.runtime.source.shapes(value)
            if shapes is not None:
                value = table.columns[expression.name] = Shapes(shapes, value)
        return value

    def apply(
        self,
        function: Callable[..., Term],
        args: Sequence[Value],
        length: int,
        is_test: bool = False,
    ) -> Value:
        """Call a scalar function once per distinct combination of argument terms."""
        columns = [
            (position, self.ids(arg, length))
            for position, arg in enumerate(args)
            if not isinstance(arg, Constant)
        ]
        fixed: list[Any] = [arg.term if isinstance(arg, Constant) else None for arg in args]
        if not columns:
            try:
                return Constant(function(*fixed))
            except ExpressionError:
                return np.zeros(length, np.int64)
        if len(columns) == 1:
            unique, inverse = np.unique(columns[0][1], return_inverse=True)
            distinct = [self.runtime.decode(unique)]
        else:
            inverse, count = factorize([ids for _, ids in columns], length)
            first = np.zeros(count, np.int64)
            first[inverse[::-1]] = np.arange(length)[::-1]
            distinct = [self.runtime.decode(ids[first]) for _, ids in columns]
        results: list[Term | None] = []
        positions = [position for position, _ in columns]
        check = self.runtime.deadline.check
        for number, terms in enumerate(zip(*distinct, strict=True)):
            if not number & 15:  # texts may be long
                check()
            result = None
            if None not in terms:
                for position, term in zip(positions, terms, strict=True):
                    fixed[position] = term
                with suppress(ExpressionError):
                    result = function(*fixed)
            results.append(result)
        if is_test:
            valid = np.array([r is not None for r in results], np.bool_)
            truth = np.array([r is not None and r.lexical == "true" for r in results], np.bool_)  # type: ignore[union-attr] # tests give booleans
            return Booleans(truth[inverse], valid[inverse])
        if results and all(type(r) is Literal and r.datatype == XSD_DOUBLE for r in results):
            numbers = np.array([float(r.lexical) for r in results], np.float64)  # type: ignore[union-attr] # checked
            return Numbers(numbers[inverse], np.ones(length, np.bool_))
        return self.pool.encode_many(results)[inverse]

    # Truth ---------------------------------------------------------------------------------------

    def _truth(self, value: Value, length: int) -> Booleans:
        """Return effective boolean values."""
        if isinstance(value, Booleans):
            return value
        if isinstance(value, Constant):
            try:
                truth, valid = effective_boolean(value.term), True
            except ExpressionError:
                truth, valid = False, False
            return Booleans(np.full(length, truth), np.full(length, valid))
        if isinstance(value, Numbers):
            with np.errstate(invalid="ignore"):
                return Booleans((value.values != 0) & (value.values == value.values), value.valid)
        if isinstance(value, Shapes):
            return Booleans(np.zeros(length, np.bool_), np.zeros(length, np.bool_))
        unique, inverse = np.unique(value, return_inverse=True)
        truths = np.zeros(len(unique), np.bool_)
        valids = np.zeros(len(unique), np.bool_)
        for index, term in enumerate(self.runtime.decode(unique)):
            if term is not None:
                with suppress(ExpressionError):
                    truths[index] = effective_boolean(term)
                    valids[index] = True
        return Booleans(truths[inverse], valids[inverse])

    def _and(self, call: Call, table: Table) -> Value:
        a = self._truth(self.value(call.args[0], table), table.length)
        b = self._truth(self.value(call.args[1], table), table.length)
        false = (a.valid & ~a.values) | (b.valid & ~b.values)
        return Booleans(a.values & b.values & a.valid & b.valid, (a.valid & b.valid) | false)

    def _or(self, call: Call, table: Table) -> Value:
        a = self._truth(self.value(call.args[0], table), table.length)
        b = self._truth(self.value(call.args[1], table), table.length)
        true = (a.valid & a.values) | (b.valid & b.values)
        return Booleans(true, (a.valid & b.valid) | true)

    def _not(self, call: Call, table: Table) -> Value:
        a = self._truth(self.value(call.args[0], table), table.length)
        return Booleans(~a.values, a.valid)

    def _bound(self, call: Call, table: Table) -> Value:
        value = self.value(call.args[0], table)
        every = np.ones(table.length, np.bool_)
        if isinstance(value, np.ndarray):
            return Booleans(value != 0, every)
        return Booleans(self.ids(value, table.length) != 0, every)

    def _if(self, call: Call, table: Table) -> Value:
        truth = self._truth(self.value(call.args[0], table), table.length)
        yes = self.ids(self.value(call.args[1], table), table.length)
        no = self.ids(self.value(call.args[2], table), table.length)
        return np.where(truth.valid, np.where(truth.values, yes, no), 0)

    def _coalesce(self, call: Call, table: Table) -> Value:
        result = np.zeros(table.length, np.int64)
        for arg in call.args:
            missing = result == 0
            if not missing.any():
                break
            result = np.where(missing, self.ids(self.value(arg, table), table.length), result)
        return result

    def _in(self, call: Call, table: Table) -> Value:
        left = self.value(call.args[0], table)
        fast = self._is_among(left, call.args[1:])
        if fast is not None:
            return fast
        true = np.zeros(table.length, np.bool_)
        valid = np.ones(table.length, np.bool_)
        for arg in call.args[1:]:
            self.runtime.deadline.check()
            result = self._truth(
                self._compare("=", left, self.value(arg, table), table.length), table.length
            )
            true |= result.values & result.valid
            valid &= result.valid
        return Booleans(true, valid | true)

    def _is_among(self, left: Value, items: Sequence[Expression]) -> Booleans | None:
        """Compare with a list of IRIs and plain texts by id, however long; None: one by one."""
        plain = [i for i in items if isinstance(i, Iri)
                 or (isinstance(i, Literal) and i.datatype == XSD_STRING)]  # fmt: skip
        if not isinstance(left, np.ndarray) or len(plain) != len(items) or not items:
            return None
        wanted = self.pool.encode_many(plain)
        found = np.isin(left, wanted)
        if bool(((left >> SHIFT == POOL) & ~found).any()):
            return None
        return Booleans(found, left != 0)

    # Comparison and arithmetic -------------------------------------------------------------------

    def _compare(self, name: str, left: Value, right: Value, length: int) -> Value:
        a, b = as_operand(left), as_operand(right)
        if a is not None and b is not None and not (a.scalar and b.scalar) and a.kind == b.kind:
            # One side has all rows; numpy compares with NaN in silence.
            truth = _VECTOR[name](a.values, b.values)
            valid = a.valid & b.valid
            return Booleans(truth, valid if valid.shape else np.full(length, valid))
        if isinstance(left, Constant) and not isinstance(right, Constant):
            left, right, name = right, left, _MIRRORED[name]
        if name in ("=", "!=") and isinstance(right, Constant) and isinstance(left, np.ndarray):
            fast = self._equals_constant(left, right.term)
            if fast is not None:
                return Booleans(fast.values ^ (name == "!="), fast.valid)
        test = _PREDICATES[name]

        def apply(x: Term, y: Term) -> Literal:
            return boolean(test(x, y))

        return self.apply(apply, [left, right], length, is_test=True)

    def _equals_constant(self, ids: Ids, term: Term) -> Booleans | None:
        """Compare with an IRI or plain text by id; terms of the pool may need more than that."""
        if isinstance(term, Iri):
            return Booleans(ids == self.pool.encode(term), ids != 0)
        if not (isinstance(term, Literal) and term.datatype == XSD_STRING):
            return None
        wanted = self.pool.encode(term)
        if bool(((ids >> SHIFT == POOL) & (ids != wanted)).any()):
            return None
        return Booleans(ids == wanted, ids != 0)

    def _calculate(self, name: str, args: list[Value], length: int) -> Value:
        if name in _VECTOR and are_doubles(args):
            return self._add(name, args, length)
        return self.apply(SCALAR[name], args, length)

    def _chain(self, call: Call, table: Table) -> Value:
        """Calculate `a + b − c …` from the left."""
        result = self.value(call.args[0], table)
        for operator, operand in zip(call.args[1::2], call.args[2::2], strict=True):
            assert isinstance(operator, Literal)
            args = [result, self.value(operand, table)]
            self.runtime.deadline.check()
            result = self._calculate(operator.lexical, args, table.length)
        return result

    def _replace(self, call: Call, table: Table) -> Value:
        args = [self.value(arg, table) for arg in call.args]
        function = partial(replace_matches, self.runtime.deadline.check)
        return self.apply(function, args, table.length)

    def _add(self, name: str, args: list[Value], length: int) -> Column:
        a, b = as_operand(args[0]), as_operand(args[1])
        assert a is not None and b is not None
        with np.errstate(all="ignore"):
            values = np.broadcast_to(_VECTOR[name](a.values, b.values), (length,))
        return Numbers(values, np.broadcast_to(a.valid & b.valid, (length,)))

    # Functions that are not of their arguments alone ---------------------------------------------

    def _per_row(self, make: Callable[[], Term], table: Table) -> Value:
        return self.pool.encode_many(make() for _ in range(table.length))

    def _rand(self, call: Call, table: Table) -> Value:
        values = np.array([random.random() for _ in range(table.length)])  # noqa: S311 - no secret
        return Numbers(values, np.ones(table.length, np.bool_))

    def _now(self, call: Call, table: Table) -> Value:
        return Constant(self.runtime.now)

    def _uuid(self, call: Call, table: Table) -> Value:
        return self._per_row(lambda: Iri(f"urn:uuid:{uuid.uuid4()}"), table)

    def _struuid(self, call: Call, table: Table) -> Value:
        return self._per_row(lambda: Literal(str(uuid.uuid4())), table)

    def _bnode(self, call: Call, table: Table) -> Value:
        made = self.runtime.made

        def fresh() -> BlankNode:
            made["bnode"] = made.get("bnode", 0) + 1
            return BlankNode(f"b{made['bnode']}")

        if not call.args:
            return self._per_row(fresh, table)
        # Equal labels give one node within a solution, different ones in different solutions.
        solutions = table.columns.get(_SOLUTION)
        if not isinstance(solutions, np.ndarray):
            first = made.setdefault("solutions", 1)
            made["solutions"] += table.length
            solutions = table.columns[_SOLUTION] = np.arange(first, first + table.length)
        labels = self.pool.decode(self.ids(self.value(call.args[0], table), table.length))
        terms: list[Term | None] = []
        for solution, label in zip(solutions.tolist(), labels, strict=True):
            if isinstance(label, Literal) and label.datatype == XSD_STRING:
                key = ("bnode", solution, label.lexical)
                if key not in made:
                    made[key] = fresh()
                terms.append(made[key])
            else:
                terms.append(None)
        return self.pool.encode_many(terms)


@lru_cache(maxsize=512)
def _may_call(function: Callable[..., Term], count: int) -> bool:
    """Return whether a function takes so many arguments."""
    try:
        signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


def _unbound_like(value: Value | None) -> Column:
    """Return one entry without a value, of the kind that a kernel gave elsewhere."""
    nothing = np.zeros(1, np.bool_)
    if isinstance(value, Numbers):
        return Numbers(np.zeros(1), nothing)
    if isinstance(value, Booleans):
        return Booleans(nothing, nothing)
    if isinstance(value, Shapes):
        return Shapes(np.full(1, None, np.object_))
    return np.zeros(1, np.int64)


_SPECIAL: Final[dict[str, Callable[[Evaluator, Call, Table], Value]]] = {
    "&&": Evaluator._and,
    "||": Evaluator._or,
    "!": Evaluator._not,
    "BOUND": Evaluator._bound,
    "IF": Evaluator._if,
    "COALESCE": Evaluator._coalesce,
    "IN": Evaluator._in,
    "RAND": Evaluator._rand,
    "NOW": Evaluator._now,
    "UUID": Evaluator._uuid,
    "STRUUID": Evaluator._struuid,
    "BNODE": Evaluator._bnode,
    "REPLACE": Evaluator._replace,
    CHAIN: Evaluator._chain,
}
