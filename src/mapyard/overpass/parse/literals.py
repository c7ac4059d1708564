"""What a regular expression must contain: texts to look for before trying the pattern itself."""

from __future__ import annotations

from typing import Final

#: Shortest text worth looking for, in characters, and the most texts.
_MIN_LENGTH: Final = 2
_MAX_TEXTS: Final = 32
_SPECIAL: Final = frozenset(".^$*+?{}[]()|\\")

type Texts = list[str] | None


class _UnreadableError(Exception):
    """The pattern uses something that this reader does not follow."""


def find_required_texts(pattern: str) -> Texts:
    """Return texts of which every match contains at least one, or None when none are certain."""
    reader = _Reader(pattern)
    try:
        texts = reader.read_alternatives()
        if reader.index < len(pattern):
            return None
    except (_UnreadableError, RecursionError):
        return None
    return texts if _is_better(texts, None) else None


def find_anchored_text(pattern: str) -> tuple[bool, str, bool] | None:
    """Return (from the start, text, to the end) of `^text`, `text$` or `^text$`, else None."""
    from_start, to_end = pattern.startswith("^"), pattern.endswith("$")
    text = pattern[1 if from_start else 0 : -1 if to_end else None]
    if not (from_start or to_end) or not text or _SPECIAL & set(text):
        return None
    return from_start, text, to_end


def _is_better(a: Texts, b: Texts) -> bool:
    """Return whether looking for a excludes more than looking for b."""
    if a is None or not a or len(a) > _MAX_TEXTS or min(map(len, a)) < _MIN_LENGTH:
        return False
    return b is None or min(map(len, a)) > min(map(len, b))


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.index = 0

    def peek(self) -> str:
        return self.pattern[self.index : self.index + 1]

    def read_alternatives(self) -> Texts:
        """Read `a|b|…`: every branch has to require something."""
        found: Texts = []
        while True:
            branch = self.read_sequence()
            found = None if found is None or branch is None else found + branch
            if self.peek() != "|":
                return found
            self.index += 1

    def read_sequence(self) -> Texts:
        """Read what stands side by side; the best of its required texts will do."""
        best: Texts = None
        run = ""
        while (character := self.peek()) and character not in "|)":
            literal, group = self._read_atom(character)
            optional, repeated = self._read_quantifier()
            if literal and not optional and not repeated:
                run += literal
                continue
            if literal and repeated and not optional:
                run += literal
            if _is_better([run], best):
                best = [run]
            run = ""
            if not optional and _is_better(group, best):
                best = group
        return [run] if _is_better([run], best) else best

    def _read_atom(self, character: str) -> tuple[str, Texts]:
        """Return the atom as a literal, or what a group requires."""
        self.index += 1
        if character == "(":
            if self.peek() == "?":
                if self.pattern[self.index : self.index + 2] != "?:":
                    raise _UnreadableError
                self.index += 2
            group = self.read_alternatives()
            if self.peek() != ")":
                raise _UnreadableError
            self.index += 1
            return "", group
        if character == "[":
            self._skip_class()
            return "", None
        if character == "\\":
            escaped = self.peek()
            self.index += 1
            if not escaped or escaped in "QExpP" or escaped.isdigit():
                raise _UnreadableError
            return ("" if escaped.isalnum() else escaped), None
        if character in _SPECIAL:
            return "", None
        return character, None

    def _skip_class(self) -> None:
        if self.peek() == "^":
            self.index += 1
        if self.peek() == "]":
            self.index += 1
        while (character := self.peek()) != "]":
            if not character:
                raise _UnreadableError
            if self.pattern.startswith("[:", self.index):
                end = self.pattern.find(":]", self.index)
                if end < 0:
                    raise _UnreadableError
                self.index = end + 2
            else:
                self.index += 2 if character == "\\" else 1
        self.index += 1

    def _read_quantifier(self) -> tuple[bool, bool]:
        """Return whether the atom before may be absent, and whether it may be repeated."""
        optional = repeated = False
        while (character := self.peek()) in ("*", "+", "?", "{") and character:
            self.index += 1
            repeated = True
            if character in "*?":
                optional = True
            elif character == "{":
                end = self.pattern.find("}", self.index)
                if end < 0 or not self.pattern[self.index : self.index + 1].isdigit():
                    raise _UnreadableError
                optional |= self.pattern[self.index : end].startswith("0")
                self.index = end + 1
        return optional, repeated
