"""Write src/mapyard/osm/data/countries.json.xz from npm's @rapideditor/country-coder.

    npm pack @rapideditor/country-coder && tar xzf rapideditor-country-coder-*.tgz
    python scripts/update_countries.py package

The file is part of the source tree, so that neither set-up nor use needs npm.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

DATA = Path(__file__).parent.parent / "src/mapyard/osm/data"
#: Four decimals are 11 m; the source is generalized to about a kilometer away from neighbors.
DECIMALS = 4


def _code_of(properties: dict) -> str:
    """Return the ISO code that an address has: the own official one, else the country's."""
    own, country = properties.get("iso1A2"), properties.get("country")
    is_official = properties.get("isoStatus", "official") == "official"
    return str(own if own and (is_official or not country) else country or "")


def _rounded(polygons: list) -> list:
    return [
        [[[round(lon, DECIMALS), round(lat, DECIMALS)] for lon, lat in ring] for ring in polygon]
        for polygon in polygons
    ]


def main() -> None:
    """Read the unpacked npm package named on the command line and write the packed data."""
    package = Path(sys.argv[1])
    version = json.loads((package / "package.json").read_text())["version"]
    source = json.loads((package / "src/data/borders.json").read_text())
    names: dict[str, str] = {}
    regions = []
    for feature in source["features"]:
        properties, geometry = feature["properties"], feature["geometry"]
        code = _code_of(properties)
        if code and code == properties.get("iso1A2"):
            names[code] = properties["nameEn"]
        if geometry is None or not code:
            continue
        regions.append(
            {
                "code": code,
                "name": properties["nameEn"],
                "left": properties.get("driveSide") == "left",
                "miles": properties.get("roadSpeedUnit") == "mph",
                "polygons": _rounded(geometry["coordinates"]),
            }
        )
    used = {region["code"] for region in regions}
    content = {
        "source": f"@rapideditor/country-coder {version}",
        "names": {code: name for code, name in sorted(names.items()) if code in used},
        "regions": regions,
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    target = DATA / "countries.json.xz"
    target.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    license_text = (package / "LICENSE.md").read_text().replace("## ISC License", "").strip()
    (DATA / "README.md").write_text(
        "# countries.json.xz\n\n"
        "Borders, driving side and speed unit of the world's countries, from country-coder\n"
        f"{version} (github.com/rapideditor/country-coder), made by scripts/update_countries.py,\n"
        f"coordinates rounded to {DECIMALS} decimals. License: ISC.\n\n{license_text}\n"
    )
    missing = used - set(content["names"])
    print(f"{len(regions)} regions, {target.stat().st_size} bytes, codes without a name: {missing}")


if __name__ == "__main__":
    main()
