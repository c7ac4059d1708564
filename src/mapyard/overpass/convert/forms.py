"""From a query in any form to the form that is asked for."""

from __future__ import annotations

from typing import Final

from mapyard.overpass.convert.ql import write_program
from mapyard.overpass.convert.xml import write_xml
from mapyard.overpass.parse.parser import parse
from mapyard.overpass.parse.text import Source
from mapyard.overpass.parse.xmlform import is_xml, write_ql

#: `mapql` and `compact` are what the original's own converter calls the two ways to write QL.
FORMS: Final = ("mapql", "compact", "xml")


def convert(text: str, form: str) -> str:
    """Return a query of either form as `mapql`, `compact` or `xml`.

    Raises InvalidQuery where it does not parse, and Unsupported for what the form cannot say.
    """
    source = Source(write_ql(text) if is_xml(text) else text)
    program = parse(source)
    if form == "xml":
        return write_xml(source, program)
    return write_program(program, compact=form == "compact")
