"""`make bench`: list the benchmarks with what they need; `python bench/NAME.py …` runs one."""

from __future__ import annotations

import ast
from pathlib import Path


def main() -> None:
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = path.read_text()
        if "def main(" in text and path.name != "__main__.py":
            first, _, rest = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
            usage = next((line.strip() for line in rest.splitlines() if "python " in line), "")
            print(f"{path.stem:16} {first}\n{'':16} {usage}")


if __name__ == "__main__":
    main()
