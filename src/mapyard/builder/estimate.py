"""What a build will take on this machine, known before it begins.

The figures are those that the preflight asks for, measured as slopes by the size of the .osm.pbf
(docs/sizing.md). Times are for one core, by a short calibration of this one.
"""

from __future__ import annotations

import re
import time
import zlib
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import numpy as np

from mapyard.addresses import show_address, split_login
from mapyard.builder.download import is_url
from mapyard.builder.pipeline import Step, estimate_source
from mapyard.builder.preflight import Estimate
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.osm.source import list_extracts

#: What `_work` took on the machine that the slopes were measured on, CPU seconds.
_REFERENCE_S: Final = 0.15
#: Elements have numbers of 32 bits; there are about 130 in a thousand bytes.
MOST_BYTES: Final = 32_000_000_000
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)b?", re.IGNORECASE)


class PartEstimate(NamedTuple):
    """What one part takes."""

    name: str
    needs: Estimate


def find_size(source: str) -> int:
    """Return the bytes of an extract: a file, a URL, or a size such as 4.5GB."""
    if is_url(source):
        return _ask_size(source)
    path = Path(source)
    if path.exists():
        return sum(file.stat().st_size for file in list_extracts(path))
    found = _SIZE.fullmatch(source.strip())
    if found is None:
        raise InvalidRequest.of(
            "estimate", f"{source}: no such file, and no size such as 800MB or 4.5GB"
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])


def _ask_size(url: str) -> int:
    url, login = split_login(url)
    shown = show_address(url)
    try:
        answer = httpx.head(url, follow_redirects=True, timeout=30.0, auth=login)
    except httpx.TransportError as error:
        raise MapyardError(f"{shown} cannot be asked for its size: {error}") from None
    length = answer.headers.get("Content-Length", "")
    if answer.status_code != 200 or not length.isdigit():
        raise MapyardError(
            f"{shown} does not say its size (status {answer.status_code}); "
            "give the size instead, such as 4.5GB"
        )
    return int(length)


def estimate_parts(size: int, steps: list[Step]) -> list[PartEstimate]:
    """Return what each part of a build takes."""
    return [
        PartEstimate("source", estimate_source(size)),
        *(PartEstimate(step.name, step.estimate(size)) for step in steps),
    ]


def calibrate() -> float:
    """Return how many times as long as the reference this machine takes; in half a second."""
    return min(_time_work() for _ in range(3)) / _REFERENCE_S


def _time_work() -> float:
    """Return the CPU seconds of work like that of a build: sorting, gathering, unpacking."""
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 1 << 60, 1 << 20)
    packed = zlib.compress(keys[: 1 << 17].tobytes(), 1)
    started_s = time.process_time()
    order = np.argsort(keys, kind="stable")
    np.cumsum(keys[order])
    for _ in range(8):
        zlib.decompress(packed)
    texts = {b"%d" % key: key for key in keys[: 1 << 16].tolist()}
    sorted(texts)
    return time.process_time() - started_s
