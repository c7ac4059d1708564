"""How long charging takes: at full power up to 80 %, then less and less."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Up to this charge a battery takes all that it is given.
TAPER_FROM: Final = 0.8
#: Power at a full battery, as share of the full power; in between it falls evenly.
TAPER_TO: Final = 0.2
#: To leave the road, plug in and pay, seconds.
PLUG_IN_S: Final = 300.0


def charging_times_s(capacity_wh: float, power_kw: float, charges: NDArray[np.float64]) -> (
    NDArray[np.float64]
):  # fmt: skip
    """Return the seconds from an empty battery to each charge, 0 to 1."""
    full_s = capacity_wh / (power_kw * 1_000.0) * 3_600.0
    even = np.minimum(charges, TAPER_FROM)
    # Beyond, power is linear in the charge, so that time grows with its logarithm.
    slope = (1.0 - TAPER_TO) / (1.0 - TAPER_FROM)
    share = 1.0 - slope * np.maximum(charges - TAPER_FROM, 0.0)
    return np.asarray(full_s * (even - np.log(share) / slope))
