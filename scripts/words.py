"""Keep the catalogs of the map page: `make words` reads its texts, updates and compiles them.

The scripts of the page say `t("text")` and `tn(count, "one", "many")`. Babel reads these into
src/mapyard/web/catalogs/de.po and so on, where people translate; what a browser loads is made of
them: src/mapyard/web/playground/words/de.json, from the English text to the translated one, or to
a list of two forms.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

WEB: Final = Path(__file__).parent.parent / "src/mapyard/web"
CATALOGS: Final = WEB / "catalogs"
WORDS: Final = WEB / "playground/words"
_SCRIPTS: Final = WEB / "playground/js"
# Where the texts stand in a call: tn(count, "one", "many").
_CALLS: Final = {"t": None, "tn": (2, 3)}


def read_texts() -> Catalog:
    """Return the texts of all scripts of the page, without places: these change too often."""
    found = Catalog(fuzzy=False)
    texts = extract_from_dir(
        _SCRIPTS,
        method_map=[("**.js", "javascript")],
        options_map={"**.js": {"parse_template_string": "true"}},
        keywords=_CALLS,
    )
    for _, _, message, _, _ in texts:
        found.add(message)
    return found


def read_catalog(path: Path) -> Catalog:
    """Return a catalog of translations; its name is the language."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def format_catalog(catalog: Catalog) -> bytes:
    """Return a catalog as it lies in a file: sorted, without dates."""
    out = io.BytesIO()
    write_po(out, catalog, sort_output=True, omit_header=True, width=100)
    return out.getvalue()


def compile_catalog(catalog: Catalog) -> str:
    """Return what the page loads: each text or pair of forms by its English (first) form."""
    words = {}
    for message in catalog:
        if message.id and message.string and not message.fuzzy:
            key = message.id if isinstance(message.id, str) else message.id[0]
            words[key] = (
                message.string if isinstance(message.string, str) else _ends(message.string)
            )
    return json.dumps(words, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


def _ends(forms: tuple[str, ...]) -> list[str]:
    """Return the forms for one and for others: French and Spanish have one more, for millions."""
    return [forms[0], forms[-1]]


def main() -> int:
    """Update and compile all catalogs; say what still has no translation."""
    texts = read_texts()
    WORDS.mkdir(exist_ok=True)
    missing = 0
    for path in sorted(CATALOGS.glob("*.po")):
        catalog = read_catalog(path)
        catalog.update(texts, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        path.write_bytes(format_catalog(catalog))
        (WORDS / f"{path.stem}.json").write_text(compile_catalog(catalog), encoding="utf-8")
        for message in catalog:
            strings = message.string if isinstance(message.string, tuple) else (message.string,)
            if message.id and not all(strings):
                missing += 1
                print(f"{path.name}: not translated: {message.id!r}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
