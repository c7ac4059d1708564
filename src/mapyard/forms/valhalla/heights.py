"""Heights along the ways of an answer, out of our rasters: the road graph has grades alone."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.profile import MAX_POINTS, find_heights
from mapyard.errors import InvalidRequest
from mapyard.forms.roads import measure
from mapyard.forms.valhalla.params import Directed
from mapyard.library.call import Call
from mapyard.library.ways import get_rasters
from mapyard.routing.polyline import decode_polyline

MILES: Final = ("miles", "mi")
_FEET: Final = 3.28084
_DIGITS: Final = {None: 6, "polyline6": 6, "polyline5": 5}


def add_heights(call: Call, body: dict[str, Any], params: Directed) -> None:
    """Give each leg of an answer, or a matched trace, its heights at `elevation_interval`.

    Meters, or feet where lengths are miles; null where no raster has the place. Raises
    `NoElevation`, and `NotInstalled` where there are no rasters.
    """
    digits = _DIGITS.get(params.shape_format)
    if digits is None:
        raise InvalidRequest("elevation_interval: goes with shapes as polylines")
    interval_m = max(10.0, params.elevation_interval or 0.0)
    feet = _FEET if params.units in MILES else 1.0
    answers = [body, *body.get("alternates", ())]
    parts = [leg for answer in answers for leg in answer.get("trip", {}).get("legs", ())]
    for part in parts or [body]:
        call.deadline.check()
        line = _resample(decode_polyline(part["shape"], digits), interval_m)
        heights = find_heights(get_rasters(call), line).heights_m * feet
        part["elevation"] = [
            None if np.isnan(height) else round(height, 1) for height in heights.tolist()
        ]
        part["elevation_interval"] = round(interval_m * feet, 1)


def _resample(line: NDArray[np.float64], interval_m: float) -> NDArray[np.float64]:
    """Return the places on a line at each interval from its start, and its end."""
    along_m = measure(line)
    count = int(along_m[-1] // interval_m) + 2
    if count > MAX_POINTS:
        raise InvalidRequest(
            f"elevation_interval: makes {count} heights of a leg, at most {MAX_POINTS}"
        )
    at_m = np.append(np.arange(count - 1) * interval_m, along_m[-1])
    return np.column_stack([np.interp(at_m, along_m, line[:, axis]) for axis in (0, 1)])
