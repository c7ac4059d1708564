"""Folding: one spelling for every way to write the same letters, and cutting text into words.

Both sides of the index use it, so only equality matters, not beauty: case, accents, apostrophes,
width, Arabic spelling variants and points go; digits of all scripts become 0–9, traditional and
Japanese characters the simplified ones, hiragana becomes katakana. The vowel signs of Thaana and
the Indic scripts stay, because there they are the vowels.
"""

from __future__ import annotations

import lzma
import re
import unicodedata
from functools import lru_cache
from importlib import resources
from typing import Final

# Letters that Unicode does not decompose.
_LETTERS = str.maketrans(
    {
        "ß": "ss", "ẞ": "ss", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th",
        "ł": "l", "ħ": "h", "ı": "i", "ŋ": "n", "ŧ": "t", "ə": "a",
        # Arabic and Persian: one alef, one yeh, one kaf, one heh; no tatweel.
        "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ئ": "ي", "ؤ": "و",
        "ة": "ه", "ک": "ك", "ھ": "ه", "ہ": "ه", "ـ": None,
        # Apostrophes and the like become one, which words() then treats.
        "’": "'", "‘": "'", "ʼ": "'", "ʻ": "'", "`": "'", "´": "'", "′": "'", "ʹ": "'", "‛": "'",
        # Invisible: direction marks, joiners, soft hyphen, byte order mark.
        "\u200b": None, "\u200c": None, "\u200d": None, "\u200e": None, "\u200f": None,
        "\u202a": None, "\u202b": None, "\u202c": None, "\u202d": None, "\u202e": None,
        "\u2066": None, "\u2067": None, "\u2068": None, "\u2069": None, "\u00ad": None,
        "\ufeff": None,
        # Half rings of Arabic transliteration.
        "ʿ": None, "ʾ": None,
    }
)  # fmt: skip
_HIRAGANA: Final = {code: code + 0x60 for code in range(0x3041, 0x3097)}
# Numerals of Han in what is counted: 二段 → 2段, 三丁目 → 3丁目, 一百零八號 → 108號.
_NUMERALS: Final = {letter: i for i, letter in enumerate("零一二三四五六七八九")} | {"〇": 0}
_COUNTED = re.compile("([〇零一二三四五六七八九十百]+)(?=丁目|[段番号號巷弄邻鄰之])")
_NUMERAL = re.compile(
    "(?:(?P<hundreds>[一二三四五六七八九]?)(?P<hundred>百))?零?"
    "(?:(?P<tens>[一二三四五六七八九]?)(?P<ten>十))?(?P<ones>[一二三四五六七八九]?)"
)
# Points and accents of the scripts where a reader writes the same word without them.
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)


@lru_cache(maxsize=1)
def _letters() -> dict[int, str | int | None]:
    """Return what single characters become; read when the first text needs it."""
    packed = resources.files("mapyard.text").joinpath("data/han.txt.xz").read_bytes()
    one, other = lzma.decompress(packed).decode().split()
    digits = {
        ord(letter): str(unicodedata.digit(letter))
        for letter in map(chr, range(0x660, 0x20000))
        if letter.isdecimal()
    }
    return {**str.maketrans(one, other), **digits, **_HIRAGANA, **_LETTERS}


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})

# A word: letters and digits, with the vowel signs and apostrophes inside.
_SIGNS = "\u0780-\u07b1\u0900-\u0fff\u1000-\u109f\u1780-\u17ff\ua980-\ua9df"
_WORD = re.compile(f"[^\\W_](?:[^\\W_{_SIGNS}]|[{_SIGNS}]|'(?=[^\\W_]))*")
_SPACELESS = re.compile(
    "[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f"
    "\u1780-\u17ff\U00020000-\U0003ffff]+"
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_ELISION = re.compile(r"^(?:[a-z]|qu|dell|nell|sull|dall|all|degl|un|sant|gl)'(?=.{3})")


@lru_cache(maxsize=65_536)
def fold(text: str) -> str:
    """Return `text` in its folded spelling; word separators are kept as they are."""
    if text.isascii():
        return text.lower().replace("`", "'")
    letters = _letters()
    # Twice, because small letters appear under compatibility forms and the reverse.
    for _ in range(2):
        text = unicodedata.normalize("NFKD", text).casefold().translate(letters)
    text = unicodedata.normalize("NFC", _MARKS.sub("", text)).translate(letters)
    return spell_numerals(text)


def spell_numerals(text: str) -> str:
    """Return a text with the Han numerals of what is counted in digits: 八號 → 8號."""
    return _COUNTED.sub(_write_numeral, text) if _COUNTED.search(text) else text


def _write_numeral(match: re.Match[str]) -> str:
    word = match[1]
    if match.string.startswith("段", match.end()) and "十" not in word:
        # Streets have few sections: 二二段 is a letter too many.
        return word[:-1] + (read_numeral(word[-1]) or word[-1])
    return read_numeral(word) or word


def read_numeral(word: str) -> str:
    """Return the number below a thousand that a word of Han numerals stands for, "" for none.

    In words (一百零八) or figure by figure (一〇八).
    """
    if len(word) > 1 and all(letter in _NUMERALS for letter in word):
        return "".join(str(_NUMERALS[letter]) for letter in word)
    match = _NUMERAL.fullmatch(word)
    if not word or match is None:
        return ""
    number = _NUMERALS.get(match["ones"], 0)
    for count, unit, value in (("tens", "ten", 10), ("hundreds", "hundred", 100)):
        if match[unit]:
            number += _NUMERALS.get(match[count], 1) * value
    return str(number) if number else ""


def fold_umlauts(text: str) -> str:
    """Return the folded spelling with ä, ö, ü, å and ø written ae, oe, ue, aa, oe."""
    return fold(unicodedata.normalize("NFC", text).casefold().translate(_UMLAUTS))


def is_spaceless(word: str) -> bool:
    """Return whether a word is of a script written without spaces (Han, Kana, Thai, …)."""
    return _SPACELESS.match(word) is not None


def is_han(word: str) -> bool:
    """Return whether a word is of Chinese characters only."""
    return _HAN.fullmatch(word) is not None


def split_words(folded: str) -> list[str]:
    """Return the words of a folded text in order; runs of spaceless scripts stand alone.

    Apostrophes may still be inside a word: see `split_apostrophe`.
    """
    found = []
    for match in _WORD.finditer(folded):
        word = match.group()
        if word.isascii() or not _SPACELESS.search(word):
            found.append(word)
            continue
        start = 0
        for run in _SPACELESS.finditer(word):
            found += [part for part in (word[start : run.start()], run.group()) if part]
            start = run.end()
        if word[start:]:
            found.append(word[start:])
    return found


def split_apostrophe(word: str) -> tuple[str, str]:
    """Return (bare word, joined word): d'italie → (italie, ditalie), john's → (johns, johns)."""
    if "'" not in word:
        return word, word
    joined = word.replace("'", "")
    bare = _ELISION.sub("", word).replace("'", "")
    # Nothing is left of an article alone (d'), or before a word of a script without spaces.
    return bare or joined or word, joined or word


def split_grams(run: str) -> list[str]:
    """Return the letter pairs of a run of a spaceless script, or its single letter."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
