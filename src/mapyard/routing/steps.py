"""Instructions of a route: what to do, what signs say, which lane to take, what to say aloud."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from mapyard.errors import InvalidRequest

#: Languages of instructions, the engine's but Arabic, which is half English and has wrong numbers.
LANGUAGES: Final = (
    "bg-BG", "ca-ES", "cs-CZ", "da-DK", "de-DE", "el-GR", "en-AU", "en-GB", "en-US",
    "es-ES", "et-EE", "fi-FI", "fr-FR", "he-IL", "hi-IN", "hu-HU", "it-IT", "ja-JP", "ko-KR",
    "mn-MN", "nb-NO", "nl-NL", "pl-PL", "pt-BR", "pt-PT", "ro-RO", "ru-RU", "sk-SK", "sl-SI",
    "sv-SE", "tr-TR", "uk-UA", "vi-VN",
)  # fmt: skip
#: Where a language has several countries.
_DEFAULT_COUNTRIES: Final = {"en": "en-US", "pt": "pt-PT", "no": "nb-NO", "iw": "he-IL"}
#: Texts that the engine leaves in English, or without their number.
_ROUNDABOUT: Final = re.compile(
    r"Enter (?:the roundabout|.+?) and take the (\S+) exit onto (.+?)\."
)
_MENDED: Final = {
    "hi-IN": (_ROUNDABOUT, r"गोल चक्कर में प्रवेश करें और \2 पर \1 निकास लें।"),
    "pt-BR": (_ROUNDABOUT, r"Entre na rotatória e pegue a \1 saída para \2."),
}
_NO_NUMBER: Final = "Продължете метра."

#: Of distances in texts; figures are always in meters.
Units = Literal["metric", "imperial"]
_ENGINE_UNITS: Final = {"metric": "kilometers", "imperial": "miles"}
#: Meters of the unit in which the engine answers.
UNIT_M: Final = {"kilometers": 1_000.0, "miles": 1_609.344}

_MANEUVERS: Final = {
    0: "none", 1: "depart", 2: "depart", 3: "depart", 4: "arrive", 5: "arrive", 6: "arrive",
    7: "new name", 8: "continue", 9: "bear right", 10: "turn right", 11: "sharp right",
    12: "uturn right", 13: "uturn left", 14: "sharp left", 15: "turn left", 16: "bear left",
    17: "ramp straight", 18: "ramp right", 19: "ramp left", 20: "exit right", 21: "exit left",
    22: "keep straight", 23: "keep right", 24: "keep left", 25: "merge", 26: "enter roundabout",
    27: "exit roundabout", 28: "board ferry", 29: "leave ferry", 37: "merge right",
    38: "merge left", 39: "elevator", 40: "steps", 41: "escalator", 42: "enter building",
    43: "exit building",
}  # fmt: skip
#: Bits of a lane's arrows, in the words of OSM's turn:lanes.
_ARROWS: Final = (
    "none", "through", "sharp_left", "left", "slight_left", "slight_right", "right", "sharp_right",
    "reverse", "merge_to_left", "merge_to_right",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sign:
    """What a sign at a ramp or a fork says."""

    exit_number: list[str]
    branch: list[str]  #: names and numbers of the road that it leads onto
    toward: list[str]
    name: list[str]  #: of the junction


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane before a maneuver, counted from the left."""

    arrows: list[str]
    is_valid: bool  #: it leads the right way
    active: str | None  #: the arrow to follow on the best lanes


@dataclass(frozen=True, slots=True)
class Voice:
    """Texts to say aloud: well before, right before, and after the maneuver."""

    alert: str | None
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction."""

    instruction: str
    maneuver: str
    name: str | None
    names: list[str]
    distance_m: float
    duration_s: float
    #: First and last index in the route's positions.
    begin: int
    end: int
    toll: bool
    ferry: bool
    rough: bool
    roundabout_exit: int | None
    bearing_before_deg: int | None
    bearing_after_deg: int | None
    travel: str  #: drive, bicycle or pedestrian
    voice: Voice
    sign: Sign | None
    lanes: list[Lane]

    @property
    def banner(self) -> tuple[str, str | None]:
        """Return what to show large and small: signs before road names, names before texts."""
        sign = self.sign
        if sign is not None and (sign.branch or sign.toward or sign.name):
            large = sign.branch or sign.name or sign.toward
            small = sign.toward if large is not sign.toward else []
            return " / ".join(large), " / ".join(small) or None
        if self.names:
            return self.names[0], " / ".join(self.names[1:]) or None
        return self.instruction, None


def ask_for_steps(with_steps: bool, language: str, units: Units) -> dict[str, Any]:
    """Return the members of the engine's request."""
    if not with_steps:
        return {"directions_type": "maneuvers", "language": language}
    return {
        "directions_type": "instructions",
        "language": language,
        "units": _ENGINE_UNITS[units],
        "turn_lanes": True,
    }


def choose_language(lang: str) -> str:
    """Return the language of instructions for "de", "de-AT", "en-GB", …; raise InvalidRequest."""
    wanted = lang.replace("_", "-").lower()
    for language in LANGUAGES:
        if language.lower() == wanted:
            return language
    primary = wanted.partition("-")[0]
    if primary in _DEFAULT_COUNTRIES:
        return _DEFAULT_COUNTRIES[primary]
    for language in LANGUAGES:
        if language.startswith(primary + "-"):
            return language
    known = ", ".join(sorted({language[:2] for language in LANGUAGES}))
    raise InvalidRequest.of("lang", f"no instructions in {lang!r}; one of {known}")


def read_step(row: dict[str, Any], begin: int, unit_m: float, language: str) -> Step:
    """Return a maneuver of the engine; `begin` is where its leg begins in the route."""
    distance_m = round(row["length"] * unit_m, 1)

    def read(name: str) -> str | None:
        text = row.get(name)
        return None if text is None else _mend(text, language, distance_m)

    names = row.get("begin_street_names") or row.get("street_names") or []
    return Step(
        instruction=read("instruction") or "",
        maneuver=_MANEUVERS.get(row["type"], "continue"),
        name=names[0] if names else None,
        names=names,
        distance_m=distance_m,
        duration_s=row["time"],
        begin=begin + row["begin_shape_index"],
        end=begin + row["end_shape_index"],
        toll=row.get("toll", False),
        ferry=row.get("ferry", False),
        rough=row.get("rough", False),
        roundabout_exit=row.get("roundabout_exit_count"),
        bearing_before_deg=row.get("bearing_before"),
        bearing_after_deg=row.get("bearing_after"),
        travel=row.get("travel_mode", ""),
        voice=Voice(
            alert=read("verbal_transition_alert_instruction"),
            before=read("verbal_pre_transition_instruction"),
            after=read("verbal_post_transition_instruction"),
        ),
        sign=_read_sign(row.get("sign")),
        lanes=[_read_lane(lane) for lane in row.get("lanes", ())],
    )


def _mend(text: str, language: str, distance_m: float) -> str:
    if language in _MENDED:
        pattern, written = _MENDED[language]
        return pattern.sub(written, text)
    if text == _NO_NUMBER:
        return f"Продължете {round(distance_m, -1):.0f} метра."
    return text


def _read_sign(row: dict[str, Any] | None) -> Sign | None:
    if not row:
        return None

    def read(*kinds: str) -> list[str]:
        texts = [one["text"] for kind in kinds for one in row.get(f"{kind}_elements", ())]
        return list(dict.fromkeys(texts))

    return Sign(
        exit_number=read("exit_number"),
        branch=read("exit_branch", "guide_branch"),
        toward=read("exit_toward", "guide_toward"),
        name=read("exit_name", "junction_name"),
    )


def _read_lane(row: dict[str, int]) -> Lane:
    active = _read_arrows(row.get("active", 0))
    return Lane(
        arrows=_read_arrows(row.get("directions", 0)),
        is_valid=bool(row.get("valid", 0) or row.get("active", 0)),
        active=active[0] if active else None,
    )


def _read_arrows(mask: int) -> list[str]:
    return [arrow for bit, arrow in enumerate(_ARROWS) if mask >> bit & 1]


def write_steps_csv(steps: Iterable[tuple[int, Step]]) -> str:
    """Return steps as a table, each with the index of its leg."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        ("step", "leg", "maneuver", "instruction", "name", "distance_m", "duration_s",
         "geometry_begin", "geometry_end", "bearing_after", "exit_number", "toward")
    )  # fmt: skip
    for number, (leg, step) in enumerate(steps):
        sign = step.sign
        rows.writerow(
            (number, leg, step.maneuver, step.instruction, step.name or "", step.distance_m,
             round(step.duration_s, 1), step.begin, step.end,
             "" if step.bearing_after_deg is None else step.bearing_after_deg,
             "" if sign is None else ";".join(sign.exit_number),
             "" if sign is None else ";".join(sign.toward))
        )  # fmt: skip
    return text.getvalue()
