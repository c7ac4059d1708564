"""Make the fonts of the map's labels out of Debian's fonts-noto-core (SIL Open Font License).

    apt-get download fonts-noto-core && dpkg-deb -x fonts-noto-core_*.deb noto
    uv run --with fonttools python scripts/make_fonts.py noto/usr/share/fonts/truetype/noto

Only the characters of a script are kept, without hints and tables of layout: labels are drawn
character by character. NotoSans-Regular.ttf stays a file of its own, since pictures are labeled
with it; the others are packed together.
"""

from __future__ import annotations

import io
import lzma
import sys
import tarfile
from pathlib import Path
from typing import Final

from fontTools import subset

TARGET: Final = Path(__file__).parent.parent / "src/mapyard/tiles/fonts"
#: Latin, Greek and Cyrillic.
LATIN: Final = "20-52F,1E00-1EFF,2000-209C,20A0-20BF,2100-218B,FB00-FB06,FFFD"
#: Script → family and characters. These have a bold font, too,
WITH_BOLD: Final = {
    "Thaana": ("NotoSansThaana", "60C,61B,61F,660-66C,780-7B1,FDF2,FDFD"),
    "Arabic": ("NotoSansArabic", "600-6FF,750-77F,FB50-FBFF,FD3E-FDFF,FE70-FEFC"),
    "Hebrew": ("NotoSansHebrew", "590-5F4,FB1D-FB4F"),
    "Armenian": ("NotoSansArmenian", "531-58F,FB13-FB17"),
    "Georgian": ("NotoSansGeorgian", "589,10A0-10FF,1C90-1CBF,2D00-2D2D"),
    "Thai": ("NotoSansThai", "E01-E5B"),
}
#: the others are drawn bolder out of their regular one.
REGULAR: Final = {
    "Devanagari": ("NotoSansDevanagari", "900-97F"),
    "Bengali": ("NotoSansBengali", "980-9FF"),
    "Gurmukhi": ("NotoSansGurmukhi", "A00-A7F"),
    "Gujarati": ("NotoSansGujarati", "A80-AFF"),
    "Oriya": ("NotoSansOriya", "B00-B7F"),
    "Tamil": ("NotoSansTamil", "B80-BFF"),
    "Telugu": ("NotoSansTelugu", "C00-C7F"),
    "Kannada": ("NotoSansKannada", "C80-CFF"),
    "Malayalam": ("NotoSansMalayalam", "D00-D7F"),
    "Sinhala": ("NotoSansSinhala", "D80-DFF"),
    "Lao": ("NotoSansLao", "E80-EFF"),
    "Tibetan": ("NotoSerifTibetan", "F00-FFF"),
    "Myanmar": ("NotoSansMyanmar", "1000-109F"),
    "Ethiopic": ("NotoSansEthiopic", "1200-137F"),
    "Khmer": ("NotoSansKhmer", "1780-17FF"),
    "Tifinagh": ("NotoSansTifinagh", "2D30-2D7F"),
}


def make(source: Path, characters: str) -> bytes:
    """Return a font with some characters only, as TrueType."""
    options = subset.Options()
    options.hinting = False
    options.layout_features = []
    options.name_IDs = [0, 1, 2, 13, 14]
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "meta"]
    options.notdef_outline = True
    font = subset.load_font(source, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=subset.parse_unicodes(characters))
    subsetter.subset(font)
    made = io.BytesIO()
    subset.save_font(font, made, options)
    return made.getvalue()


def main(folder: Path) -> None:
    """Make all fonts of the map."""
    fonts = {
        f"NotoSans-{style}.ttf": make(folder / f"NotoSans-{style}.ttf", LATIN)
        for style in ("Regular", "Bold", "Italic")
    }
    for scripts, styles in ((WITH_BOLD, ("Regular", "Bold")), (REGULAR, ("Regular",))):
        for script, (family, characters) in scripts.items():
            for style in styles:
                made = make(folder / f"{family}-{style}.ttf", characters)
                fonts[f"NotoSans{script}-{style}.ttf"] = made
    (TARGET / "NotoSans-Regular.ttf").write_bytes(fonts.pop("NotoSans-Regular.ttf"))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in fonts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]
    (TARGET / "fonts.tar.xz").write_bytes(lzma.compress(packed.getvalue(), filters=filters))
    print(f"{len(fonts) + 1} fonts in {TARGET}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
