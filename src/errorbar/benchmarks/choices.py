"""Letters as answers: the choice that a completion gives."""

from __future__ import annotations

import re

from errorbar.benchmarks.statement import stated

__all__ = ["extract_choice"]

_ALONE = re.compile(r"[\s*_\"'`$(\[]*([A-Za-z])[\s*_\"'`$)\].:!]*")
_LEADING = re.compile(r"\s*\**\(?([A-Z])(?:[).:]|\*\*)[)*]*\s")
_LETTER = re.compile(r"(?<![\w'’])([A-Z])(?![\w'’])")
_DENIED = re.compile(r"(?:\bnot|\bnor|\bneither|n['’]t(?: be)?|\brather than|\binstead of)\s+[*(\"']*$", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|as|when|given|if)\b", re.IGNORECASE)


def extract_choice(text: str) -> str | None:
    """The letter of the choice that a completion gives, in upper case; None when it gives none, or several.

    In this order: a last line that is only a letter; the last explicit statement (`statement.stated`); a completion of
    one line that starts with a marked letter, such as "B) Paris". Any other letter is a word ("A", "I") or a mention.

    >>> extract_choice("Paris is the capital. The answer is (B)."), extract_choice("A or B")
    ('B', None)
    """
    lines = text.strip().rsplit("\n", 1)
    if len(lines[-1]) < 40 and (only := _ALONE.fullmatch(lines[-1])):
        return only[1].upper()
    statement = stated(text)
    if statement is not None:
        if only := _ALONE.fullmatch(statement):
            return only[1].upper()
        said = _REASON.split(statement, maxsplit=1)[0]
        letters = {m[1] for m in _LETTER.finditer(said) if not _DENIED.search(said, 0, m.start())}
        return letters.pop() if len(letters) == 1 else None
    leading = _LEADING.match(text)
    return leading[1] if leading and len(lines) == 1 else None
