"""Words of an address that say nothing about where it is on the map: recipients, flats, floors."""

from __future__ import annotations

import re
from typing import Final

_RECIPIENT: Final = (
    r"c/o|℅|attn|attention|a/c|z\.?\s?hd\.?|z\.\s?h\.|zu\s+h[äa]nden(?:\s+von)?|p\.?\s?a\.|"
    r"per\s+adresse|à\s+l[’']attention\s+de|chez|a\.?\s?c\.?\s+di|presso|a\s+la\s+atenci[oó]n\s+de|"
    r"t\.?\s?a\.?\s?v\.?|ter\s+attentie\s+van|кому|для"
)
_RECIPIENTS = re.compile(
    rf"(?:^|(?<=[,;\n]))\s*(?P<who>(?:{_RECIPIENT})(?![^\W_])[\s:.]*[^,;\n]*)(?:[,;\n]|$)",
    re.IGNORECASE,
)
#: "Ospelt c/o Meier, Städtle 32": all of it; "Städtle 32 c/o Meier": what stands behind.
_CARE_OF = (
    re.compile(
        r"(?:^|(?<=[,;\n]))\s*(?P<who>[^,;\n\d]*(?<![^\W_])(?:c/o\s|℅)[^,;\n]*)[,;\n]", re.I
    ),
    re.compile(r"(?<=\w)\s+(?P<who>(?:c/o\s|℅)[^,;\n]*)(?=[,;\n]|$)", re.I),
)
_NUMBER_WORDS: Final = """
nr no num number numero numer nummer n nro hausnummer hausnr hnr haus house дом д строение владение
zip zipcode plz postleitzahl postcode postnummer индекс
№ br cp parcel
"""
#: Words that stand before a house number or a postcode and mean nothing else.
NUMBER_WORDS: Final = frozenset(_NUMBER_WORDS.split())
_UNIT_WORDS: Final = """
flat flats apartment apt unit suite room rm lot shop office door gate block bldg building tower
wing stairs stair entrance intercom wohnung whg tur tuer stiege stg top eingang zimmer aufgang
buro buero
app appartement appt bat batiment escalier esc porte bureau chambre entree hall
piso puerta pta portal escalera oficina local bloque despacho depto departamento interior int dpto
interno scala palazzina appartamento uscio citofono apto apartamento bloco sala andar
appartement bus huis kamer lejlighed lejl leilighet lgh lagenhet asunto rappu
mieszkanie lokal klatka byt vchod apartament scara etaj bloc ap daire kat blok
квартира кв офис оф подъезд помещение пом комната комн кабинет
"""
#: Words that are followed by the number of a flat, a door or an office.
UNIT_WORDS: Final = frozenset(_UNIT_WORDS.split())
_FLOOR_WORDS: Final = """
floor fl level lvl storey story stock stockwerk obergeschoss og etage geschoss eg ug dg erdgeschoss
dachgeschoss untergeschoss etage etg rez de chaussee planta piso piano kat etasje vaning krs kerros
pietro patro emelet этаж эт поверх ground basement links rechts mitte left right stiege
"""
#: Words of floors, with a number before or behind them.
FLOOR_WORDS: Final = frozenset(_FLOOR_WORDS.split()) - {"de"}
_BOX_WORDS: Final = "postfach postbus apartado postboks casilla bp cp pobox postschliessfach"
#: Words of boxes at a post office, followed by a number.
BOX_WORDS: Final = frozenset(_BOX_WORDS.split())
_PLAIN: Final = """
address adresse anschrift direccion indirizzo adres адрес endereco adreca
opposite behind beside gegenuber hinter neben vis-a-vis face derriere frente detras junto enfrente
напротив возле около рядом
gmbh ag ltd llc inc sarl kft sro
eg dg ug erdgeschoss dachgeschoss untergeschoss
"""
#: Words that may stand anywhere and say nothing.
PLAIN: Final = frozenset(_PLAIN.split())
_ORDINAL = re.compile(r"^\d{1,2}(?:st|nd|rd|th|er|re|eme|e|o|a|ª|º|ter|te)?$")
_NUMBER = re.compile(r"^(?:\d{1,5}[a-z]?|[a-z]\d{0,4}|[a-z])$")
# Floors, rooms and neighborhoods of Chinese and Japanese addresses; no number at all.
_PARTS = re.compile(
    # "#102 1055 Canada Place": the flat before the house.
    r"#\s*\w{1,5}(?=[\s,]+\d)|(?<!\w)p\.?\s?o\.?\s*box\s*\d+|"
    r"(?:地下)?[一二三四五六七八九十\d]+(?:[、至~-][一二三四五六七八九十\d]+)*(?:樓|楼|階|阶)"
    r"(?:\s*(?:之|-)\s*\d+)?|\d+\s*(?:號室|号室|室|鄰|邻)|[Bb]\d+[樓楼]?$"
    r"|(?<![^\W_])s\s?/\s?n(?![^\W_])|(?<![^\W_])б\s?/\s?н(?![^\W_])|(?<![^\W_])s\.\s?n\.",
    re.IGNORECASE,
)


def drop_recipients(text: str) -> tuple[str, list[str]]:
    """Return a text without "c/o Meier," and "5樓", and what was dropped; never all of it."""
    dropped: list[str] = []

    def drop(match: re.Match[str]) -> str:
        dropped.append((match.groupdict().get("who") or match[0]).strip())
        return " "

    kept = _RECIPIENTS.sub(drop, text)
    if "c/o" in kept.lower() or "℅" in kept:
        for pattern in _CARE_OF:
            kept = pattern.sub(drop, kept)
    kept = _PARTS.sub(drop, kept)
    return (kept, dropped) if kept.strip() else (text, [])


def find_fillers(words: list[str], breaks: frozenset[tuple[str, str]] = frozenset()) -> set[int]:
    """Return the places of words that say nothing about where: units, floors, labels of numbers.

    A word is one by what stands beside it: "Top 5" is a door, "Top" may be a shop. `breaks` are
    numbers and the words behind them that a comma parts: "32, étage 2".
    """
    found: set[int] = set()
    last = len(words) - 1
    for i, word in enumerate(words):
        has_number = i < last and _NUMBER.match(words[i + 1]) is not None
        is_digits = has_number and words[i + 1][0].isdigit()
        if word in NUMBER_WORDS and (is_digits or (i < last and words[i + 1].isdigit())):
            found.add(i)
        if word in UNIT_WORDS and has_number:
            found |= {i, i + 1}
        if word in BOX_WORDS and is_digits:
            found |= {i, i + 1}
        before_postcode = is_digits and len(words[i + 1]) >= 4
        if word in FLOOR_WORDS and not before_postcode:
            if i and _ORDINAL.match(words[i - 1]) and (words[i - 1], word) not in breaks:
                found |= {i - 1, i}
            elif is_digits and len(words[i + 1]) <= 2:
                found |= {i, i + 1}
            elif i - 1 in found:
                found.add(i)
        if word in ("po", "post") and i + 2 <= last and words[i + 1] in ("box", "office"):
            found |= {i, i + 1} | ({i + 2} if words[i + 2].isdigit() else set())
        if word in PLAIN and last:
            found.add(i)
    return found if len(found) <= last else set()
