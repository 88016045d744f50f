r"""Define the scorer `maths`, which compares a completion with its target by the library math-verify.

The last explicit statement (`statements`) is the answer, with or without dollar signs: right where it equals the target
as a text (spaces and spellings of LaTeX do not matter), as a number, or by math-verify. Without a statement, a
completion of one line is the answer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import metadata, util
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.sandbox.call_pool import CallPool
from howsure.scorers.numerals import canonical_number
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.statements import find_statements

#: Processor time that the comparison of one completion may take, in seconds.
SECONDS = 5.0
#: Longest formula that is parsed, in characters: math-verify takes seconds on longer ones.
LONGEST_FORMULA = 1000
_REPEATED_SIGN = re.compile(r"([^\w\s])\1{49}")
_SIGN = re.compile(r"[\d$\\=]")
_BOX = re.compile(r"\\(?:boxed|fbox)\{(.*)\}", re.DOTALL)
_FORMULA = re.compile(r"\$\$?([^$]+)\$")
# Spellings of the same formula.
_TEXT = re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf|mbox)\s?\{([^{}]*)\}")
_UNMEANT = re.compile(r"(?<!\\)\\(?:left|right|displaystyle|,|!|;|:| )|[\s$*]|\^\{?\\circ\}?|°|\\?%")


class _Target(NamedTuple):
    """A target and how it is compared: as words without spaces, as a number, by its expressions."""

    words: str
    number: str | None
    expressions: list[Any]


def build_maths_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `maths`.

    Raises
    ------
    InputError
        When math-verify is not installed.
    """
    if util.find_spec("math_verify") is None:
        remedy = 'pip install "howsure[maths]"'
        raise InputError("the scorer maths needs math-verify, which is not installed", where=where, remedy=remedy)
    pool = CallPool(SECONDS, warm_up=import_library)

    @lru_cache(maxsize=4096)
    def score_cached(forms: tuple[str, ...], target: str, rule: str) -> ScoredAnswer:
        reply = pool.call(compare_forms, list(forms), target)
        answer, score = msgspec.convert(reply, tuple[str | None, float])
        return ScoredAnswer(score, answer, rule if answer is not None else "no mathematics")

    def score(text: str, item: ScoringItem) -> ScoredAnswer:
        forms, rule = _find_forms(text, is_cut=item.context.truncated)
        return score_cached(tuple(forms), item.target, rule) if forms else ScoredAnswer(0.0, None, rule)

    code = hash_code("scorers.maths", "scorers.numerals")
    version = f"math-verify-{metadata.version('math-verify')}-{code}"
    return Scorer(spec, version, score, pool.close, in_subprocess=True)


def import_library() -> None:
    """Import math-verify, which takes a second or more."""
    compare_maths("$1$", "1")


def compare_maths(completion: str, target: str) -> tuple[str | None, float]:
    r"""Return the answer of a completion, or None, and 1.0 where it equals the target, else 0.0.

    The call may take very long and is made in a subprocess by the scorer.

    Parameters
    ----------
    completion
        Text with or without LaTeX.
    target
        LaTeX with or without dollar signs, a number, words, or a solution whose answer is in a box or after "####".

    Raises
    ------
    ValueError
        When the target cannot be read.

    Examples
    --------
    >>> compare_maths(r"So it is $\boxed{\frac{1}{2}}$.", "0.5")
    ('\\frac{1}{2}', 1.0)
    """
    return compare_forms(_find_forms(completion, is_cut=False)[0], target)


def _find_forms(text: str, *, is_cut: bool) -> tuple[list[str], str]:
    """Return the forms of the answer that a completion gives, and the rule or the reason for none."""
    for statement in find_statements(text):
        stated = statement.text.strip(" \t\n*_`").removesuffix(".").strip()
        if any(map(str.isalnum, stated)):
            is_long = len(stated) > LONGEST_FORMULA or _REPEATED_SIGN.search(stated)
            return ([], "too long to parse") if is_long else (_list_forms(stated), "statement")
    if is_cut:
        return [], "cut"
    is_bare = "\n" not in text.strip() and len(text) <= LONGEST_FORMULA and _SIGN.search(text)
    return (_list_forms(text.strip().removesuffix(".")), "whole") if is_bare else ([], "no mathematics")


def _list_forms(stated: str) -> list[str]:
    """Return a stated answer, behind the content of its box and its only formula where it has them."""
    box, formulas = _BOX.search(stated), _FORMULA.findall(stated)
    candidates = (box[1] if box else "", formulas[0] if len(formulas) == 1 else "", stated)
    forms = (form.strip(" \t\n$") for form in candidates)
    return list(dict.fromkeys(filter(None, forms)))


def compare_forms(forms: list[str], target: str) -> tuple[str | None, float]:
    """Return the first form of an answer that equals the target, and 1.0; else the first form, and 0.0."""
    wanted = _read_target(target)
    for form in forms:
        if wanted.words == normalize_formula(form):
            return form, 1.0
        number = canonical_number(form.replace("\\$", "$").strip(" $"))
        if number is not None and wanted.number is not None:
            if number == wanted.number:
                return form, 1.0
            continue  # no algebra is needed
        given = _parse(f"${_remove_dollars(form)}$")
        if given and _is_equal(wanted, given):
            return form, 1.0
    return (forms[0] if forms else None), 0.0


def _remove_dollars(text: str) -> str:
    """Return a formula without dollar signs."""
    return text.replace("\\$", "").replace("$", "")


def normalize_formula(text: str) -> str:
    """Return a formula or words without spaces, markup and marks that do not change its meaning, in lower case."""
    text = _UNMEANT.sub("", _TEXT.sub(r"\1", _BOX.sub(r"\1", text.strip())))
    return text.strip(".").casefold()


@lru_cache(maxsize=4096)
def _read_target(target: str) -> _Target:
    """Return what a target says; raise ValueError where it says nothing."""
    text = target.rpartition("####")[2].strip()
    if "boxed" in text and (box := next(find_statements(text), None)):
        text = box.text
    number, words = canonical_number(text), normalize_formula(text)
    expressions = _parse(f"${_remove_dollars(number or text)}$") if text else []
    if not expressions and not words:
        raise ValueError(f"the target {target[:60]!r} is no mathematics")
    return _Target(words, number, expressions)


def _is_equal(wanted: _Target, given: list[Any]) -> bool:
    """Return whether expressions are those of the target."""
    from math_verify import verify

    return bool(verify(wanted.expressions, given, timeout_seconds=None, raise_on_error=False))


def _parse(text: str) -> list[Any]:
    """Return the expressions that math-verify reads from a text."""
    from math_verify import parse

    expressions: list[Any] = parse(text, parsing_timeout=None, raise_on_error=False)
    return expressions
