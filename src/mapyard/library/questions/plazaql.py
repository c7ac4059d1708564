"""PlazaQL: a query in, features and values out."""

from __future__ import annotations

from typing import Annotated

from mapyard.library.call import Call
from mapyard.library.plaza_services import make_services
from mapyard.library.question import question
from mapyard.library.results.plaza import PlazaFeatures, PlazaResult
from mapyard.params.parser import Params, spelled
from mapyard.plazaql.run.engine import run_text
from mapyard.plazaql.run.outputs import Outputs


class PlazaQuestion(Params, kw_only=True):
    """A query."""

    data: Annotated[
        str,
        spelled(
            "PlazaQL (docs/plazaql.md)",
            "query",
            examples=['search(node, amenity: "cafe").limit(10);'],
        ),
    ]


@question(
    "plazaql",
    path="/api/v1/query",
    leading=("data",),
    fixed={"format": "geojson"},
    result=PlazaFeatures,
)
def plazaql(call: Call, params: PlazaQuestion) -> PlazaResult:
    """Run a PlazaQL query; the features of all its outputs, each with the name of its output.

    Values such as `.count()` are in `result`, or by name in `outputs`.
    """
    services = make_services(call)
    outputs = run_text(call.store, params.data, services, call.deadline)
    return PlazaResult(Outputs(outputs, services))
