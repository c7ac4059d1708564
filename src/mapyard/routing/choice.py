"""What areas and matrices may be asked beyond positions and a mode."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from mapyard.routing.costing import CostingOptions
from mapyard.routing.modes import ASSUMED_TIME, Mode, make_costing
from mapyard.routing.profiles import find_profile
from mapyard.routing.times import Travel


@dataclass(frozen=True, slots=True)
class Choice:
    """Which roads are taken, and when."""

    options: CostingOptions | None = None
    exclude: Collection[str] = ()
    #: Of `avoid.write_avoided`.
    avoided: dict[str, Any] = field(default_factory=dict)
    travel: Travel | None = None

    def find_profile(self, mode: Mode) -> str | None:
        """Return the profile that is exactly this, of those that can be prepared."""
        if self.avoided or self.travel:
            return None
        return find_profile(mode, self.options, self.exclude)

    def write(self, mode: Mode) -> dict[str, Any]:
        """Return the members of the engine's request."""
        when = ASSUMED_TIME if self.travel is None else self.travel.write()
        return make_costing(mode, self.exclude, self.options) | self.avoided | when


USUAL: Final = Choice()
