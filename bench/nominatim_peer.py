"""Answers questions with Nominatim's own library, for bench/geocoding.py.

Runs under the Python that has nominatim-api, with a project folder whose database is imported:

    python nominatim_peer.py PROJECT < questions.json > answers.json

Questions are a list of texts (forward) or [lon, lat] (reverse). CPU is that of this process and of
the PostgreSQL backends of the database.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import nominatim_api

TICKS = os.sysconf("SC_CLK_TCK")


def backend_cpu_s() -> float:
    """Return the CPU seconds so far of all PostgreSQL backends of a database named nominatim."""
    total = 0.0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            title = (folder / "cmdline").read_text()
            if title.startswith("postgres") and " nominatim " in title.replace("\0", " "):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / TICKS
        except OSError:
            continue
    return total


def ask(api: nominatim_api.NominatimAPI, question: Any) -> list[dict[str, Any]]:
    if isinstance(question, str):
        results = api.search(question, max_results=5, address_details=True)
    else:
        result = api.reverse((question[0], question[1]), address_details=True)
        results = [result] if result else []
    found = []
    for result in results:
        address = {
            part.category[1] if part.rank_address != 26 else "road": part.local_name
            for part in (result.address_rows or [])
            if part.isaddress
        }
        found.append(
            {
                "lon": result.centroid.x,
                "lat": result.centroid.y,
                "house_number": result.housenumber,
                "names": list((result.names or {}).values()),
                "street": address.get("road"),
            }
        )
    return found


def main() -> None:
    questions = json.load(sys.stdin)
    with nominatim_api.NominatimAPI(Path(sys.argv[1])) as api:
        ask(api, "warm up")
        before_s = time.process_time() + backend_cpu_s()
        answers = [ask(api, question) for question in questions]
        cpu_s = time.process_time() + backend_cpu_s() - before_s
    json.dump({"answers": answers, "cpu_s": cpu_s}, sys.stdout)


if __name__ == "__main__":
    main()
