"""Profiles: modes at some options, which a build may prepare as it does modes at their defaults."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from mapyard.routing.costing import CostingOptions
from mapyard.routing.modes import TABLE_MODES, Mode, make_costing
from mapyard.settings import PreparedProfile


@dataclass(frozen=True, slots=True)
class Profile:
    """A mode, and what is asked of it."""

    mode: Mode
    options: CostingOptions | None = None
    exclude: frozenset[str] = frozenset()

    def write(self) -> dict[str, Any]:
        """Return the members of the engine's request, as `make_costing` does."""
        return make_costing(self.mode, self.exclude, self.options)


_SHORTEST: Final = CostingOptions(shortest=True)
#: What a build prepares where `Settings.prepared_profiles` names it.
_CHOSEN: Final[dict[PreparedProfile, Profile]] = {
    "auto-shortest": Profile("auto", _SHORTEST),
    "auto-no-tolls": Profile("auto", exclude=frozenset({"toll"})),
    "auto-no-motorways": Profile("auto", exclude=frozenset({"motorway"})),
    "foot-shortest": Profile("foot", _SHORTEST),
    "bicycle-shortest": Profile("bicycle", _SHORTEST),
    "truck": Profile("truck"),
}
#: All that can be prepared; a mode at its defaults is called as the mode is, and comes first.
PROFILES: Final[dict[str, Profile]] = dict(
    [*((mode, Profile(mode)) for mode in TABLE_MODES), *_CHOSEN.items()]
)
_NAMES: Final = {profile: name for name, profile in PROFILES.items()}


def find_profile(
    mode: Mode, options: CostingOptions | None = None, exclude: Collection[str] = ()
) -> str | None:
    """Return the name of the profile that is exactly this, None where none is."""
    if options == CostingOptions():
        options = None
    return _NAMES.get(Profile(mode, options, frozenset(exclude)))
