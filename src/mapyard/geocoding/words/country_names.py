"""Countries as people write them: names in all languages, official ones, codes.

The names are CLDR's (data/README.md), and those that the extract itself has for its countries.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

from mapyard.text.folding import fold, is_spaceless, split_words
from mapyard.text.words import LITTLE_WORDS

Phrases = Mapping[tuple[str, ...], str]

#: Longest name of a country, in words.
MAX_COUNTRY_WORDS: Final = 6
_GOVERNMENT: Final = """
republic kingdom principality federation federal state states united union commonwealth duchy grand
sultanate emirates democratic peoples people's islamic arab plurinational bolivarian co-operative
republik konigreich furstentum bundesrepublik furstentums herzogtum grossherzogtum vereinigte
vereinigtes vereinigten staaten staat eidgenossenschaft schweizerische osterreichische freistaat
republique royaume principaute confederation federale etats unis uni etat
republica reino principado federativa federal estados unidos unido confederacion
repubblica regno principato granducato stati uniti unito confederazione
republiek koninkrijk vorstendom verenigde staten verenigd koninkrijk
republica regne principat estats units regne unit
rzeczpospolita republika krolestwo ksiestwo stany zjednoczone zjednoczone kralovstvi cumhuriyeti
kongeriket kongeriget konungariket furstendomet
республика республики федерация федерации княжество королевство российская соединенные штаты
δημοκρατια ελληνικη βασιλειο
"""
#: Words of official names: "Principality of", "Bundesrepublik".
GOVERNMENT: Final = frozenset(split_words(fold(_GOVERNMENT)))
_ALIASES: Final = """
US: united states of america; america; usa; u s a; u s; estados unidos de america; eeuu; ee uu
US: vereinigte staaten von amerika; etats unis d'amerique; stati uniti d'america; сша
GB: uk; u k; great britain; britain; grossbritannien; grande bretagne; gran bretana; gran bretagna
CZ: czech republic; tschechische republik; ceska republika
NL: holland; the netherlands; RU: russian federation; российская федерация; рф
KR: republic of korea; KP: dprk
TW: roc; taiwan roc; republic of china; 中华民国; CN: prc; peoples republic of china; AE: uae; u a e
CI: ivory coast; CV: cape verde; SZ: swaziland; MM: burma; TR: turkey; MK: macedonia
LI: fl; DE: brd; CH: helvetia
"""
#: The codes of ISO 3166-1, of two and of three letters together.
_CODES: Final = """
ADAND AEARE AFAFG AGATG AIAIA ALALB AMARM AOAGO AQATA ARARG ASASM ATAUT AUAUS AWABW AXALA AZAZE
BABIH BBBRB BDBGD BEBEL BFBFA BGBGR BHBHR BIBDI BJBEN BLBLM BMBMU BNBRN BOBOL BQBES BRBRA BSBHS
BTBTN BVBVT BWBWA BYBLR BZBLZ CACAN CCCCK CDCOD CFCAF CGCOG CHCHE CICIV CKCOK CLCHL CMCMR CNCHN
COCOL CRCRI CUCUB CVCPV CWCUW CXCXR CYCYP CZCZE DEDEU DJDJI DKDNK DMDMA DODOM DZDZA ECECU EEEST
EGEGY EHESH ERERI ESESP ETETH FIFIN FJFJI FKFLK FMFSM FOFRO FRFRA GAGAB GBGBR GDGRD GEGEO GFGUF
GGGGY GHGHA GIGIB GLGRL GMGMB GNGIN GPGLP GQGNQ GRGRC GSSGS GTGTM GUGUM GWGNB GYGUY HKHKG HMHMD
HNHND HRHRV HTHTI HUHUN IDIDN IEIRL ILISR IMIMN ININD IOIOT IQIRQ IRIRN ISISL ITITA JEJEY JMJAM
JOJOR JPJPN KEKEN KGKGZ KHKHM KIKIR KMCOM KNKNA KPPRK KRKOR KWKWT KYCYM KZKAZ LALAO LBLBN LCLCA
LILIE LKLKA LRLBR LSLSO LTLTU LULUX LVLVA LYLBY MAMAR MCMCO MDMDA MEMNE MFMAF MGMDG MHMHL MKMKD
MLMLI MMMMR MNMNG MOMAC MPMNP MQMTQ MRMRT MSMSR MTMLT MUMUS MVMDV MWMWI MXMEX MYMYS MZMOZ NANAM
NCNCL NENER NFNFK NGNGA NINIC NLNLD NONOR NPNPL NRNRU NUNIU NZNZL OMOMN PAPAN PEPER PFPYF PGPNG
PHPHL PKPAK PLPOL PMSPM PNPCN PRPRI PSPSE PTPRT PWPLW PYPRY QAQAT REREU ROROU RSSRB RURUS RWRWA
SASAU SBSLB SCSYC SDSDN SESWE SGSGP SHSHN SISVN SJSJM SKSVK SLSLE SMSMR SNSEN SOSOM SRSUR SSSSD
STSTP SVSLV SXSXM SYSYR SZSWZ TCTCA TDTCD TFATF TGTGO THTHA TJTJK TKTKL TLTLS TMTKM TNTUN TOTON
TRTUR TTTTO TVTUV TWTWN TZTZA UAUKR UGUGA UMUMI USUSA UYURY UZUZB VAVAT VCVCT VEVEN VGVGB VIVIR
VNVNM VUVUT WFWLF WSWSM YEYEM YTMYT ZAZAF ZMZMB ZWZWE
"""


@lru_cache(maxsize=1)
def _aliases() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    code = ""
    for part in _ALIASES.replace("\n", ";").split(";"):
        head, colon, tail = part.strip().partition(": ")
        code, name = (head, tail) if colon else (code, head)
        if name:
            found.setdefault(code, []).append(name)
    return found


@lru_cache(maxsize=1)
def read_long_codes() -> dict[str, str]:
    """Return ISO 3166-1 code of two letters → of three letters."""
    return {pair[:2]: pair[2:] for pair in _CODES.split()}


@lru_cache(maxsize=1)
def read_short_codes() -> dict[str, str]:
    """Return ISO 3166-1 code of three letters → of two letters."""
    return {pair[2:]: pair[:2] for pair in _CODES.split()}


@lru_cache(maxsize=16)
def read_country_names(codes: tuple[str, ...]) -> dict[tuple[str, ...], str]:
    """Return folded words → code, for these countries: names and codes of three letters."""
    packed = resources.files("mapyard.geocoding").joinpath("data/country_names.txt.xz").read_bytes()
    found: dict[tuple[str, ...], str] = {}
    for line in lzma.decompress(packed).decode().splitlines():
        code, _, names = line.partition("\t")
        if code in codes:
            found |= {tuple(name.split(" ")): code for name in names.split("|")}
    for code in codes:
        found |= {tuple(split_words(fold(name))): code for name in _aliases().get(code, ())}
    return found


def is_name(text: str) -> bool:
    """Return whether a folded text is long enough for a name: li is a code, 日本 is one."""
    return len(text) > 2 or (len(text) == 2 and is_spaceless(text))


def add_names(phrases: dict[tuple[str, ...], str], code: str, names: Iterable[str]) -> None:
    """Add further names of a country."""
    for name in names:
        words = tuple(split_words(fold(name)))
        if words and is_name("".join(words)):
            phrases.setdefault(words, code)


def find_countries(
    words: list[str], codes: tuple[str, ...], phrases: Phrases, firsts: frozenset[str]
) -> list[str]:
    """Return for each word the code of the country that it is (part of) the name of, else "".

    `firsts` are the first words of the phrases. A code of two letters counts at the end, and before
    a postcode ("LI-9490").
    """
    found = [""] * len(words)
    start = 0
    while start < len(words):
        longest = start + MAX_COUNTRY_WORDS if words[start] in firsts else start
        for stop in range(min(len(words), longest), start, -1):
            code = phrases.get(tuple(words[start:stop]))
            if code:
                found[start:stop] = [code] * (stop - start)
                _take_government(words, found, start, stop, code)
                start = stop
                break
        else:
            start += 1
    last = len(words) - 1
    for i, word in enumerate(words):
        before_postcode = i < last and words[i + 1].isdigit() and len(words[i + 1]) >= 4
        if not found[i] and len(word) == 2 and (i == last or before_postcode):
            code = word.upper()
            found[i] = code if code in codes else ""
    return found


def _take_government(words: list[str], found: list[str], start: int, stop: int, code: str) -> None:
    """Count "Principality of" before a name, and "Republika" behind it, as parts of the name."""
    first = start
    while first > 0 and not found[first - 1] and words[first - 1] in GOVERNMENT | LITTLE_WORDS:
        first -= 1
    while first < start and words[first] not in GOVERNMENT:
        first += 1
    while stop < len(words) and words[stop] in GOVERNMENT:
        stop += 1
    found[first:stop] = [code] * (stop - first)
