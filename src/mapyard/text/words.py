"""What words mean in names and addresses: abbreviations, compounds, ordinals, little words.

Plain tables, folded spelling. An abbreviation lists every full form it may stand for; analysis adds
them on both sides, so that it does not have to know the language of a name.
"""

from __future__ import annotations

from typing import Final

_ABBREVIATIONS: Final = """
# German
str: strasse straat
g: gasse
pl: platz place plaza placa plac plein
al: allee
bhf: bahnhof
hbf: hauptbahnhof
skt: sankt
dr: doktor doctor drive
prof: professor
ob: obere ober
unt: untere unter
gr: grosse gross
kl: kleine klein
# English
st: saint street sankt sint sankta
sts: streets
ste: sainte suite
rd: road
ave: avenue avenida
blvd: boulevard
ln: lane
ct: court
cir: circle
sq: square
pkwy: parkway
pky: parkway
hwy: highway
expy: expressway
fwy: freeway
ter: terrace terrasse
terr: terrace
trl: trail
aly: alley
brg: bridge brug
xing: crossing
cres: crescent
gdns: gardens
mt: mount mont mountain
mtn: mountain
ft: fort
jct: junction
sec: section
ctr: center centre
n: north nord
s: south sud sued
e: east est
w: west
ne: northeast
nw: northwest
se: southeast
sw: southwest
jr: junior
# French
av: avenue avenida avinguda
bd: boulevard
boul: boulevard
bld: boulevard
bvd: boulevard
r: rue rua
ch: chemin
che: chemin
imp: impasse
all: allee
rte: route
rt: route
fg: faubourg
fbg: faubourg
sq: square
qu: quai
res: residence
bat: batiment
pass: passage
pge: passage
cdt: commandant
cmdt: commandant
gal: general
gen: general generale
mal: marechal
col: colonel
dct: docteur
pdt: president
pres: president
pce: prince
pcesse: princesse
psse: princesse
esc: escalier escalera
mgr: monseigneur
chap: chapelle
# Italian
v: via
vle: viale
vl: viale
vic: vicolo
p: piazza
pza: piazza plaza
pzza: piazza
pzle: piazzale
ple: piazzale
cso: corso
lgo: largo
lungom: lungomare
c: corso calle carrer
ss: santissima santi
# Spanish, Catalan, Portuguese
avda: avenida avinguda
avd: avenida avinguda
avgda: avinguda
cl: calle carrer
pza: plaza
plza: plaza
ctra: carretera
cra: carrera
crta: carretera
pso: paseo
pg: passeig
psg: passeig
ptge: passatge
rda: ronda
urb: urbanizacion urbanitzacio
edif: edificio edifici
cno: camino
cami: cami camino
bda: baixada bajada
trav: travessera travesia travessa
tv: travessia travessa
lg: largo
al: alameda
est: estrada
rot: rotunda rotonda
praca: praca
pca: praca
sta: santa
sto: santo
sra: senhora senora
sr: senhor senor
dona: dona
d: dom don
# Dutch
ln: laan
kan: kanaal
wg: weg
brg: brug
burg: burgemeester
# Scandinavian
gt: gate gatan
vn: vagen
v: vag vagen vej vei
g: gatan gata
# Slavic
ул: улица вулиця
ulitsa: ulica
пр: проспект проезд
просп: проспект
прт: проспект
пер: переулок
пл: площадь площа
наб: набережная
ш: шоссе
бул: бульвар
бр: бульвар
туп: тупик
пос: поселок
дер: деревня
обл: область
рн: район
им: имени
акад: академика
ген: генерала
марш: маршала
ul: ulica ulice ulitsa
al: aleja aleje
os: osiedle
pl: placu plac
nam: namesti namestie
tr: trida
nab: nabrezi nabrezie
sv: sveti svaty
# Turkish, Greek, Romanian, Hungarian
cad: caddesi
cd: caddesi
sok: sokak sokagi
sk: sokak sokagi
bul: bulvari
mah: mahallesi
str: strada
bd: bulevardul
sos: soseaua
u: utca
ut: utja
krt: korut
λεωφ: λεωφορος
πλ: πλατεια
"""

# Street words that are written joined to the word before them: suffix → its full form.
_SUFFIXES: Final = """
strasse straße:strasse str:strasse gasse weg wg:weg platz allee ufer damm steig steg pfad markt
brucke bruecke:brucke promenade halde hof park graben tor berg wiese acker feld
straat laan plein kade gracht dijk singel steeg brug
vagen gatan vag gata torget torg vej veien vei gade plads gate
"""

_LITTLE_WORDS: Final = """
    a al am an and at auf bei beim by d da dal das de dei del della delle den der des di die dos du
    e el els en et im in l la las le les lo los near nahe next of on pres prope sur the to und van
    vom von vor y zu zum zur og i
"""
#: Words that hardly tell names apart: worth little when missing, in any language.
LITTLE_WORDS: Final = frozenset(_LITTLE_WORDS.split())

_ORDINAL_WORDS: Final = {
    1: "first erste erster ersten premier premiere primero primera primo prima primeiro primeira",
    2: "second zweite zweiter zweiten deuxieme seconde segundo segunda secondo seconda",
    3: "third dritte dritter dritten troisieme tercero tercera terzo terza terceiro terceira",
    4: "fourth vierte vierter quatrieme cuarto cuarta quarto quarta",
    5: "fifth funfte funfter cinquieme quinto quinta",
    6: "sixth sechste sixieme sexto sexta sesto sesta",
    7: "seventh siebte septieme septimo septima settimo settima",
    8: "eighth achte huitieme octavo octava ottavo ottava",
    9: "ninth neunte neuvieme noveno novena nono nona",
    10: "tenth zehnte dixieme decimo decima",
}
ORDINALS: Final[dict[str, str]] = {
    word: str(number) for number, words in _ORDINAL_WORDS.items() for word in words.split()
}
_ENDINGS: Final = "st nd rd th er ere re e eme ieme nde de do da ro ra to ta mo ma"
ORDINAL_ENDINGS: Final = tuple(_ENDINGS.split())
_ROMAN: Final = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
ROMAN: Final[dict[str, str]] = {
    roman: str(number) for number, roman in enumerate(_ROMAN.split(), start=1) if len(roman) > 1
} | {"ier": "1", "1ier": "1"}


def _read_abbreviations() -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for line in _ABBREVIATIONS.strip().splitlines():
        if line.startswith("#"):
            continue
        short, _, full = line.partition(":")
        forms = table.setdefault(short, [])
        forms += [form for form in full.split() if form not in forms]
    return {short: tuple(forms) for short, forms in table.items()}


def _group_words() -> dict[str, str]:
    """Return word → one representative of all words linked by abbreviations (union of sets)."""
    representative: dict[str, str] = {}

    def find(word: str) -> str:
        while (parent := representative.setdefault(word, word)) != word:
            word = parent
        return word

    for short, forms in ABBREVIATIONS.items():
        for form in forms:
            one, other = sorted((find(short), find(form)))
            representative[other] = one
    return {word: find(word) for word in representative}


#: Abbreviation → the full forms that it may stand for, all folded.
ABBREVIATIONS: Final[dict[str, tuple[str, ...]]] = _read_abbreviations()
_TRANSLATIONS: Final = """
street улица ulitsa ulica вулиця vulytsya οδος odos شارع sharia ქუჩა kucha 街 jie 通り dori hingun
avenue проспект prospekt λεωφορος leoforos 大道 dadao
lane переулок pereulok provulok 巷 xiang goalhi
road дорога doroga шоссе shosse طريق tariq 路 lu magu
square площадь ploshchad площа ploshcha πλατεια plateia ميدان midan trg namesti
boulevard бульвар bulvar
embankment набережная naberezhnaya
passage проезд proezd
"""
#: Word for a kind of street → words for it in other scripts, and these in Latin letters.
TRANSLATIONS: Final[dict[str, tuple[str, ...]]] = {
    line.split()[i]: tuple(line.split())
    for line in _TRANSLATIONS.strip().splitlines()
    for i in range(len(line.split()))
}
#: Word → representative of its group: "st", "street" and "saint" have the same.
GROUPS: Final[dict[str, str]] = _group_words()
#: (suffix, full form), longest suffix first.
SUFFIXES: Final[tuple[tuple[str, str], ...]] = tuple(
    sorted(
        {(word.partition(":")[0], word.partition(":")[2] or word) for word in _SUFFIXES.split()},
        key=lambda pair: (-len(pair[0]), pair),
    )
)
SUFFIX_FORMS: Final = frozenset(short for short, _ in SUFFIXES) | {full for _, full in SUFFIXES}
_STREET_ABBREVIATIONS: Final = """
str g pl al rd ave blvd ln ct cir sq pkwy hwy ter trl aly brg cres av bd r ch imp rte pass v vle
vic p pza cso lgo c cl ctra pso pg ptge rda cami trav gt vn
"""
#: Words that say what kind of street something is: too common to be a match by themselves.
STREET_WORDS: Final = SUFFIX_FORMS | {
    full
    for short in ("street", *_STREET_ABBREVIATIONS.split())
    for full in (short, *ABBREVIATIONS.get(short, ()))
}
