"""Catalogs of the map page: whole, of the page's texts, and compiled."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from babel.messages.catalog import Message

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import words  # noqa: E402  # a script

LANGUAGES = sorted(path.stem for path in words.CATALOGS.glob("*.po"))


def forms(text: str | tuple[str, ...] | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


def read_messages(language: str) -> dict[object, Message]:
    catalog = words.read_catalog(words.CATALOGS / f"{language}.po")
    return {message.id: message for message in catalog if message.id}


def test_page_offers_the_languages_that_have_catalogs() -> None:
    script = (words.WEB / "playground/js/words.js").read_text(encoding="utf-8")
    offered = re.findall(r'\["(\w\w)", "', script)
    assert sorted(offered) == sorted(["en", *LANGUAGES])
    assert {"de", "es", "fr"} <= set(LANGUAGES)
    assert sorted(path.stem for path in words.WORDS.glob("*.json")) == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_of_the_page_is_translated(language: str) -> None:
    texts = {message.id for message in words.read_texts() if message.id}
    assert len(texts) > 300
    messages = read_messages(language)
    assert texts == set(messages), "run `make words` and translate what it names"
    assert [id for id, message in messages.items() if not all(forms(message.string))] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_values_of_the_text(language: str) -> None:
    def values(text: str) -> set[str]:
        return set(re.findall(r"\{\w+\}", text))

    for id, message in read_messages(language).items():
        wanted = values(forms(message.id)[-1])
        assert all(values(form) == wanted for form in forms(message.string)), id


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_words_are_of_the_catalog(language: str) -> None:
    catalog = words.read_catalog(words.CATALOGS / f"{language}.po")
    compiled = (words.WORDS / f"{language}.json").read_text(encoding="utf-8")
    assert compiled == words.compile_catalog(catalog), "run `make words`"


def test_forms_for_one_and_for_others() -> None:
    found = json.loads((words.WORDS / "fr.json").read_text(encoding="utf-8"))
    assert found["{n} result"] == ["{n} résultat", "{n} résultats"]


def test_every_name_imported_from_words_is_used() -> None:
    scripts = sorted((words.WEB / "playground/js").rglob("*.js"))
    wrong = []
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        found = re.search(r'import \{ (.*) \} from "\.{1,2}/words\.js";\n', text)
        rest = text.replace(found.group(0), "") if found else text
        imported = set(found.group(1).split(", ")) if found else set()
        called = {
            name for name in ("t", "tn", "number") if re.search(rf"(?<![\w.$]){name}\(", rest)
        }
        if path.name != "words.js":
            wrong += [f"{path.name}: {name} unused" for name in imported if name not in rest]
            wrong += [
                f"{path.name}: {name} not imported" for name in called & {"t", "tn"} - imported
            ]
    assert wrong == []
