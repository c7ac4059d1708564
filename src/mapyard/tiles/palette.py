"""The colors of the two styles."""

from __future__ import annotations

from typing import Final, NamedTuple


class Road(NamedTuple):
    """Colors of a class of roads."""

    fill: str
    casing: str


class Palette(NamedTuple):
    """All colors of a style, by what they are for."""

    name: str
    sprite: str
    background: str
    #: Where the data does not reach.
    outside: str
    water: str
    water_line: str
    water_label: str
    glacier: str
    residential: str
    industrial: str
    commercial: str
    farmland: str
    grass: str
    forest: str
    scrub: str
    vineyard: str
    sand: str
    rock: str
    wetland: str
    park: str
    sport: str
    cemetery: str
    quarry: str
    site_school: str
    site_health: str
    site_parking: str
    site_danger: str
    building: str
    building_line: str
    shadow: str
    highlight: str
    contour: str
    contour_label: str
    pier: str
    pavement: str
    bridge: str
    motorway: Road
    trunk: Road
    primary: Road
    secondary: Road
    minor: Road
    tunnel: Road
    path: str
    track: str
    cycleway: str
    runway: str
    rail: str
    rail_gap: str
    ferry: str
    aerialway: str
    boundary: str
    boundary_halo: str
    label: str
    label_soft: str
    label_halo: str
    street_label: str
    shield_light_text: str
    shield_dark_text: str
    house_number: str
    food: str
    shop: str
    health: str
    culture: str
    transport: str
    leisure: str
    lodging: str
    civic: str


LIGHT: Final = Palette(
    name="Mapyard Light", sprite="sprite",
    background="#f5f3ee", outside="#edeae4",
    water="#aad0e6", water_line="#9cc6df", water_label="#3f7ea6",
    glacier="#e9f3f7", residential="#ebe7e0", industrial="#e6e3e6", commercial="#f0e6e2",
    farmland="#f2eedc", grass="#dfeccb", forest="#c7dfb8", scrub="#d6e5c0", vineyard="#e4eac4",
    sand="#f3e9c9", rock="#e3dfd8", wetland="#d3e6dc", park="#cfe8be", sport="#bfe0c0",
    cemetery="#d0dfc8", quarry="#e0dcd7", site_school="#f3ecd0", site_health="#f6e1e0",
    site_parking="#ecebe7", site_danger="#f5d9d5", building="#dcd5ca", building_line="#cbc2b4",
    shadow="#5b5243", highlight="#ffffff", contour="#9a7b52", contour_label="#7a5c36",
    pier="#ece8e0", pavement="#f0eeea", bridge="#e8e4dd",
    motorway=Road("#f4a65e", "#d9823a"), trunk=Road("#f8c384", "#dd9a4c"),
    primary=Road("#fcdc96", "#d9b055"), secondary=Road("#fff2c4", "#d8c88f"),
    minor=Road("#ffffff", "#d5d0c6"), tunnel=Road("#f3efe8", "#cdc7bc"),
    path="#b99f84", track="#b79b6f", cycleway="#6f9ac4", runway="#d9dbe2", rail="#a4a5ae",
    rail_gap="#f5f3ee", ferry="#6fa5c9", aerialway="#8d8f98", boundary="#a184bd",
    boundary_halo="#f1e9f6", label="#2d3640", label_soft="#5d6772", label_halo="#fffdf9",
    street_label="#4a525c", shield_light_text="#ffffff", shield_dark_text="#5c4a1f",
    house_number="#8a8378", food="#a8561a", shop="#4256a8", health="#b02f37", culture="#76497f",
    transport="#24629f", leisure="#317434", lodging="#9c3a7c", civic="#4d5d6e",
)  # fmt: skip

DARK: Final = Palette(
    name="Mapyard Dark", sprite="sprite-dark",
    background="#181d23", outside="#14181d",
    water="#0e2a3b", water_line="#15394f", water_label="#5f9cc0",
    glacier="#26343d", residential="#1d2229", industrial="#20232b", commercial="#251f22",
    farmland="#1d211f", grass="#1d2820", forest="#1a2a20", scrub="#1d2921", vineyard="#222a1d",
    sand="#2c2a20", rock="#24272b", wetland="#182a2a", park="#1b3023", sport="#1b3429",
    cemetery="#1f2b24", quarry="#25272b", site_school="#26251d", site_health="#2a1f22",
    site_parking="#20252c", site_danger="#331f20", building="#262d36", building_line="#323b46",
    shadow="#000000", highlight="#6b7785", contour="#8f8265", contour_label="#b3a583",
    pier="#242b33", pavement="#242a32", bridge="#262d35",
    motorway=Road("#a8683a", "#0f1318"), trunk=Road("#8e6640", "#0f1318"),
    primary=Road("#77613f", "#0f1318"), secondary=Road("#565140", "#0f1318"),
    minor=Road("#39424d", "#12171c"), tunnel=Road("#2a3038", "#3a424c"),
    path="#5d564d", track="#5b523f", cycleway="#44688c", runway="#343b48", rail="#565f6b",
    rail_gap="#181d23", ferry="#2f5d7c", aerialway="#69727e", boundary="#7d669a",
    boundary_halo="#241d2c", label="#d9e0e7", label_soft="#9aa6b2", label_halo="#12161b",
    street_label="#aab4bf", shield_light_text="#f1f5f8", shield_dark_text="#e7d9b0",
    house_number="#76818d", food="#e0a06a", shop="#98a8ec", health="#ea8b90", culture="#c79fd0",
    transport="#7db4e8", leisure="#86c98a", lodging="#e394c9", civic="#a6b4c4",
)  # fmt: skip
