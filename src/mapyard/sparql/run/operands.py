"""Numbers and points in time as plain arrays: what numpy compares and adds without terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.run.table import Constant, Numbers, Value
from mapyard.sparql.terms.ids import DATETIME, INTEGER, in_space, integer_values
from mapyard.sparql.terms.terms import XSD_DATETIME, Literal
from mapyard.sparql.terms.values import ExpressionError, find_number, get_datetime


class Operand:
    """Plain numbers or points in time of a value: what numpy can compare."""

    __slots__ = ("kind", "scalar", "valid", "values")

    def __init__(self, values: Any, valid: Any, kind: str, scalar: bool = False) -> None:
        self.values: NDArray[Any] = values
        self.valid = valid
        self.kind = kind
        self.scalar = scalar


def as_operand(value: Value) -> Operand | None:
    """Return a value as plain numbers or times; None where that would lose something."""
    if isinstance(value, Numbers):
        return Operand(value.values, value.valid, "number")
    if isinstance(value, Constant):
        found = find_number(value.term)
        if found is not None:
            return Operand(np.float64(found[0]), np.True_, "number", scalar=True)
        if isinstance(value.term, Literal) and value.term.datatype == XSD_DATETIME:
            try:
                when = get_datetime(value.term)
            except ExpressionError:
                return None
            if when.zone:
                epoch_s = float(when.timeline_s() - 62135596800 - 86400)
                return Operand(np.float64(epoch_s), np.True_, "time", scalar=True)
        return None
    if isinstance(value, np.ndarray):
        for space, kind in ((INTEGER, "number"), (DATETIME, "time")):
            if in_space(value, space):
                return Operand(integer_values(value).astype(np.float64), np.True_, kind)
    return None


def are_doubles(args: Sequence[Value]) -> bool:
    """Return whether an arithmetic result is a double and numpy may calculate it."""
    if not any(isinstance(arg, Numbers) for arg in args):
        return False
    return all(
        isinstance(arg, Numbers)
        or (isinstance(arg, Constant) and find_number(arg.term) is not None)
        for arg in args
    )
