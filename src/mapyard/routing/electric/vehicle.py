"""An electric car: its battery, what moves it, how it charges."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta


class ElectricVehicle(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters `ev[…]`; the defaults are those of a middle-sized car."""

    #: A car whose range is not read would end beside the road.
    refuses_unknown: ClassVar[bool] = True

    battery_capacity_wh: Annotated[float, Meta(ge=1_000, le=1_000_000, description="usable, Wh")]
    connector_types: Annotated[
        tuple[str, ...],
        Meta(
            description="plugs that fit: type2, type2_combo (or ccs), chademo, type1, "
            "type1_combo, tesla, schuko; all where none are given",
            max_length=10,
        ),
    ] = ()
    initial_charge_pct: Annotated[
        float, Meta(ge=0, le=1, description="charge at the origin, 0 to 1")
    ] = 0.8
    min_charge_pct: Annotated[
        float, Meta(ge=0, lt=1, description="charge that is never gone below, 0 to 1")
    ] = 0.10
    min_power_kw: Annotated[
        float, Meta(ge=0, le=1_000, description="leave out stations with less")
    ] = 0.0
    max_power_kw: Annotated[
        float, Meta(gt=0, le=1_000, description="with which the car charges at most")
    ] = 100.0
    mass_kg: Annotated[float, Meta(ge=100, le=50_000, description="with load")] = 1_900.0
    drag_area_m2: Annotated[
        float, Meta(ge=0.05, le=10, description="drag coefficient times frontal area")
    ] = 0.65
    rolling_resistance: Annotated[float, Meta(ge=0.001, le=0.1)] = 0.010
    auxiliary_w: Annotated[
        float, Meta(ge=0, le=20_000, description="heating, cooling, electronics")
    ] = 500.0
    efficiency: Annotated[float, Meta(gt=0, le=1, description="from the battery to the wheels")] = (
        0.88
    )
    regeneration: Annotated[
        float, Meta(ge=0, le=1, description="share of braking energy that is regained")
    ] = 0.65
