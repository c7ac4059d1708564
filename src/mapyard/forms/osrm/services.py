"""What OSRM's services share: how they are declared, and parameters that two of them read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mapyard.errors import InvalidRequest
from mapyard.forms.osrm.answers import JSON, make_error_writer
from mapyard.forms.osrm.params import BadOptions, BadValue, read_indexes
from mapyard.http.context import Context
from mapyard.http.endpoints import ErrorWriter, Example, Handler, endpoint

TAG: Final = "OSRM"
MONACO: Final = {"profile": "driving", "coordinates": "7.4246,43.7384;7.4197,43.7314"}
no_route: Final = make_error_writer("NoRoute", "InvalidValue")


def service(
    name: str, summary: str, example: dict[str, Any], *, write_error: ErrorWriter, **options: Any
) -> Callable[[Handler], Handler]:
    """Declare a service: premium, answered in JSON, with errors of its own."""
    return endpoint(
        f"/osrm/{name}/v1/{{profile}}/{{coordinates}}",
        summary=summary,
        tag=TAG,
        premium=True,
        media_types=(JSON,),
        write_error=write_error,
        examples=[Example(example)],
        **options,
    )


def refuse_unknown(ctx: Context) -> None:
    """OSRM refuses parameters that it does not know."""
    if ctx.ignored:
        raise InvalidRequest(f"query string malformed: there is no parameter {ctx.ignored[0]!r}")


def read_waypoints(text: str, count: int) -> list[int]:
    """Return the indexes of coordinates that end legs, the first and last among them."""
    stops = read_indexes("waypoints", text, count)
    if sorted(set(stops)) != stops:
        raise BadOptions("waypoints: are ascending")
    if stops[0] != 0 or stops[-1] != count - 1:
        raise BadValue("waypoints: first and last coordinates must be specified as waypoints")
    return stops
