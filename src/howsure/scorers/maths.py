"""Define the scorer `maths`, which compares a completion with its target by the library math-verify."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import metadata, util
from typing import Any, NamedTuple

import msgspec

from howsure.errors import InputError
from howsure.extraction.completion_context import (
    CompletionContext,
    complete_context,
    remove_next_question,
    remove_run_on,
)
from howsure.extraction.number_sentences import read_sentence
from howsure.extraction.numbers import canonical_number, extract_number
from howsure.extraction.numerals import format_number
from howsure.extraction.statements import ends_undecided, find_statements, remove_reasoning
from howsure.sandbox.call_pool import CallPool
from howsure.scorers.formula_conclusion import find_conclusion, split_forms
from howsure.scorers.formula_text import BOXED, normalize_formula, write_formula
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code

__all__ = ["build_maths_scorer", "compare_maths"]

#: Processor time that the comparison of one completion may take, in seconds.
SECONDS = 5.0
#: Longest stated answer that is parsed, in characters: math-verify takes seconds on longer formulas.
LONGEST_STATEMENT = 1000
# A bracket or command of a formula over and over, and a few characters many times: math-verify takes minutes on these.
_REPEATED_SIGN = re.compile(
    r"([(\[{|^√$\\])(?:\s*\1){30,}|(\\[a-z]+\{?)(?:\s*\2){30,}|(?P<few>[\s\S]{1,8}?)(?P=few){200,}"
)
_LAST_VERB = re.compile(r".*\b(?:is|are|equals?|be)\b[ :]*(.*)", re.DOTALL)
_RETRACTED = re.compile(
    r"[.!?;,\s*]*(?:no|wait|sorry|actually|correction)\b[ ,.:!-]*(?:it['’]s|it is|it should be)\s+([^\n]{1,80})",
    re.IGNORECASE,
)
# What follows the answer: the end of a proof, a remark in brackets, a check, and what a letter stands for.
_AFTER_ANSWER = re.compile(
    r"(?:\$?\\(?:blacksquare|square|qed)\$?|\n[ \t]*(?:check|verification)\s*:[^\n]*"
    r"|\n[ \t✔✓✅\ufe0f*_]*(?:differentiating|substituting|for example,|as a check,)\s[^\n]*"
    r"|(?:(?<=[.\n$])|(?<=[.\n$] ))\([A-Z][^()\n]*\$[^()\n]*\)"
    r"|[,;]?\s(?:where|with)\s(?:\$|\\\()?[A-Za-z](?:\$|\\\))?\s(?:is|are|denotes)\s(?:an?|the|any)\s[^\n$]*"
    r"|;\sthe\s(?:other|others|rest)\b[^\n]*)[\s.✓]*$",
    re.IGNORECASE,
)
# "$x = \\boxed{3}$ or $x = \\boxed{5}$": several solutions, each in a box of its own.
_IN_BOX = r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_TWO_BOXES = re.compile(
    rf"{_IN_BOX}[$\s]*(?:\\[)\]])?\s*(?:,\s*)?(?:and|or)?\s*(?:\\[(\[])?[$\s]*(?:[a-z]\s*=\s*)?{_IN_BOX}"
)
_UNKNOWN_IN_BOX = r"\\boxed\{\s*(([a-z])\s*=[^{}=]*)\}"
_TWO_UNKNOWNS = re.compile(
    rf"{_UNKNOWN_IN_BOX}[$\s.,]*(?:\\[)\]])?\s*(?:and\s*)?(?:\\[(\[])?[$\s]*(?!\\boxed\{{\s*\2\s*=){_UNKNOWN_IN_BOX}"
)
# The last line of a chain of equations.
_ALIGNED = re.compile(
    r"&\s*=\s*(?P<side>(?:(?!&|\\\\)[\s\S])+?)[.,\s]*\\end\{(?:align|aligned|split|eqnarray)\*?\}[\s$\].]*$"
)
_STOP_IN_FORMULA = re.compile(r"[.,]\s*(?=\$\$\s*$)")
# "- If $\\Delta < 0$ there are none.": one of several cases.
_CASE = re.compile(r"[ \t]*[-*•][ \t]+(?:if|when|for)\b", re.IGNORECASE)
_INEQUALITY = re.compile(r"[<>]|\\[lg]e(?:q|qslant)?(?![A-Za-z])")
# ", not 5", "It is not 5" and "(4,) because −4 is no length" at the end.
_DENIED_END = re.compile(
    r"(?:,?\s(?:and\s)?(?:not|never|cannot|(?:is|can)(?:n['’]t|\snot))\s(?:be\s|equal(?:\sto)?\s)?[-−]?\d[\d./]*"
    r"|(?<=\d),?\s(?:because|since)\s[^,.\n]*)[\s.*]*$"
)
_INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")
_IRRATIONAL = re.compile(r"π|√|\\(?:pi|sqrt)(?![A-Za-z])")
# "9 + 1 =" at the end.
_UNFINISHED = re.compile(r"(?:[=+×·/^(<>≤≥−]|\\(?:times|cdot|frac))[\s$]*$")
# Several equations, or an inequality: "x = 2, x = 3", "1 < x <= 3".
_SEVERAL = re.compile(
    r"(?<![\w)])[a-zA-Z]\s?=[^=]*(?:,|\\text\{\s*(?:and|or)\s*\})(?:\s|\\ |\\q?quad)*[a-zA-Z]\s*="
    r"|[<>]|\\[lgn]e(?:q|qslant)?(?![A-Za-z])"
)
# "x = 3", "3x + 2", "(3, 2)", "x ≤ 2" and "3/8" are formulas rather than numbers in a text.
_FORMULA = re.compile(
    r"[a-zA-Z]\s?=|.*(?:[/^√π<>≤≥∞∪¼-¾⅐-⅞⁰¹²³⁴-⁹⁻ⁿ]|[(\[{][^()]*,|(?<![A-Za-z°])[abknxyz](?![A-Za-z]))"
)
# "Expand (x + 1)(x + 2).", "What is the value of 3^2 + 1?", "Write 0.25 as a fraction."
_TASK = re.compile(
    r"\b(?:simplify|expand|factor(?:i[sz]e)?|evaluate|compute|calculate|convert|express|rewrite|write|reduce"
    r"|what\sis)\s+"
    r"(?:(?:the|value|of|fraction|expression|product|sum|number|polynomial)\s+){0,4}(?P<formula>[^?\n]{1,200})",
    re.IGNORECASE,
)
_TASK_END = re.compile(
    r"[.,;:]?(?:\s(?:as|to|into|in|when|for|if|where|using|by|and|over|with)\b|\s*$|[.,;:]\s)", re.IGNORECASE
)
_MARKED = re.compile(r"\$(?!\d)|\\boxed|\\fbox|\\\(|\\\[|\\begin")


class _Target(NamedTuple):
    """A target and how it is compared."""

    text: str
    words: str
    """The text without spaces and markup."""
    number: str | None
    """Its canonical form where it is a number."""
    expressions: list[Any]
    """What math-verify reads from it."""


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
    def score_cached(completion: str, target: str, is_cut: bool, question: str) -> ScoredAnswer:
        reply = pool.call(compare_maths, completion, target, is_cut, question)
        answer, score = msgspec.convert(reply, tuple[str | None, float])
        return ScoredAnswer(score, answer, "math-verify" if answer is not None else "no mathematics")

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        whole_text = remove_reasoning(completion)
        completion = remove_run_on(remove_next_question(whole_text, item.context), item.context)
        context = complete_context(whole_text, completion, item.context) or item.context
        if ends_undecided(completion):
            return ScoredAnswer(0.0, None, "undecided")
        if is_too_long(completion):
            return ScoredAnswer(0.0, None, "too long to parse")
        return score_cached(completion, item.target, context.truncated, context.question)

    code = hash_code("scorers.maths", "scorers.formula_conclusion", "scorers.formula_text", "extraction")
    version = f"math-verify-{metadata.version('math-verify')}-{code}"
    return Scorer(spec, version, score, pool.close, in_subprocess=True)


def is_too_long(completion: str) -> bool:
    """Return whether math-verify would take seconds on a completion: a long stated formula, or a sign over and over.

    >>> is_too_long("(" * 16_000), is_too_long("So the answer is $x = 1$.")
    (True, False)
    """
    if _REPEATED_SIGN.search(completion):
        return True
    return len(completion) > LONGEST_STATEMENT and len(_find_sentence(completion) or "") > LONGEST_STATEMENT


def import_library() -> None:
    """Import math-verify, which takes a second or more."""
    compare_maths("$1$", "1")


def compare_maths(completion: str, target: str, is_cut: bool = False, question: str = "") -> tuple[str | None, float]:
    """Return the answer of a completion, or None, and 1.0 where it equals the target, else 0.0.

    An explicit statement (`statements.find_statements`) is the answer, also where it has no dollar signs. Without one
    it is the formula with which the completion concludes (`find_conclusion`), and without such a formula what
    math-verify reads from the whole completion. An answer in several forms ("25π ≈ 78.54") is right where one of them
    is. The call may take very long and is made in a `CallProcess`.

    Parameters
    ----------
    completion
        Text with or without LaTeX.
    target
        LaTeX with or without dollar signs, a number, words, or a solution whose answer is in a box or after "####".
    is_cut
        Whether the completion was cut at the limit of its tokens; without a statement it has no answer then.
    question
        The question, which tells the quantity that it asks for from others; not needed.

    Raises
    ------
    ValueError
        When the target cannot be read.
    """
    wanted = _read_target(target)
    task = _find_task(question, wanted)
    completion = _remove_after_answer(_join_boxes(remove_reasoning(completion)))
    sentence = _find_sentence(completion)
    if sentence is not None:
        return _compare_statement(sentence, wanted, task)
    if is_cut or _UNFINISHED.search(completion) or _CASE.match(completion.rstrip().rpartition("\n")[2]):
        return None, 0.0
    completion = _DENIED_END.sub("", completion)
    forms = find_conclusion(completion, question)
    is_formula = len(forms) > 1 or any(_FORMULA.match(form) for form in forms)
    is_share = any(form.endswith("%") for form in forms) and not (wanted.number or "").isdigit()
    if wanted.number and not is_formula and not is_share and not _MARKED.search(completion):
        number = extract_number(completion, context=CompletionContext(question))
        if number is not None:
            return number, float(number == wanted.number)
    if forms:
        return _compare_forms(forms, wanted, task)
    # The last element is the text from which the expressions before it were read.
    given = _parse(completion)
    return _compare_forms([f"${given[-1]}$"], wanted, task) if given else (None, 0.0)


def _find_task(question: str, wanted: _Target) -> str:
    """Return the formula that a question gives to work out, without spaces and markup; empty where it is the target."""
    task = _TASK.search(question)
    formula = normalize_formula(_TASK_END.split(task["formula"], maxsplit=1)[0]) if task else ""
    return "" if formula == wanted.words else formula


def _compare_statement(sentence: str, wanted: _Target, task: str) -> tuple[str | None, float]:
    """Return the answer that a sentence states and its score."""
    statement = _select_formula(sentence)
    content = BOXED.sub(r"\1", statement)
    if task and normalize_formula(content) == task:
        return None, 0.0
    if not _IRRATIONAL.search(statement):
        number = read_sentence(sentence, sentence, CompletionContext())
        if number is not None and format_number(number) == wanted.number:
            return statement, 1.0
    return _compare_forms([statement if content == statement else f"${content}$", *split_forms(content)], wanted, task)


def _compare_forms(forms: list[str], wanted: _Target, task: str) -> tuple[str | None, float]:
    """Return the first form of an answer that equals the target, and 1.0; else the first form, and 0.0.

    The formula that the question gives to work out is no answer.
    """
    answer = None
    spellings: set[str] = set()
    for form in forms:
        words = normalize_formula(form)
        if wanted.words and words == wanted.words:
            return form, 1.0
        if words in spellings or (task and words == task):
            continue
        spellings.add(words)
        if wanted.number and _INTEGER.fullmatch(words) and _INTEGER.fullmatch(wanted.number):
            answer, is_right = answer or words, words == wanted.number  # no algebra is needed
        else:
            formula = _take_side(write_formula(form).strip("$"), wanted.text)
            given = _parse(f"${formula}$")
            text = str(given[-1]) if given else form
            is_right = normalize_formula(formula) == wanted.words or (bool(given) and _is_equal(wanted, given))
            answer = text if is_right else answer or text
        if is_right:
            return answer, 1.0
    return answer, 0.0


def _take_side(formula: str, target: str) -> str:
    r"""Return the last side of an equation where the target is none; other formulas as they are.

    >>> _take_side(r"A = 3 \cdot 2 = 6", "6"), _take_side("x = 2, x = 3", "2, 3")
    ('6', 'x = 2, x = 3')
    """
    left, _, side = formula.rpartition("=")
    is_unchanged = "=" in target or not left.strip() or not side.strip() or _SEVERAL.search(formula)
    return formula if is_unchanged else side.strip()


def _is_equal(wanted: _Target, given: list[Any]) -> bool:
    """Return whether expressions are those of the target, also as an inequality."""
    from math_verify import verify

    if verify(wanted.expressions, given, timeout_seconds=None, raise_on_error=False):
        return True
    # math-verify compares an interval with an inequality in one direction only.
    is_inequality = isinstance(given[-1], str) and _INEQUALITY.search(given[-1]) is not None
    return is_inequality and bool(verify(given, wanted.expressions, timeout_seconds=None, raise_on_error=False))


def _join_boxes(completion: str) -> str:
    r"""Return a completion with one box for the boxes of its last line, or of two lines with an unknown each.

    >>> _join_boxes(r"$x = \boxed{3}$ or $x = \boxed{5}$."), _join_boxes("\\boxed{x = 3}\n\\boxed{y = 1}")
    ('$x = \\boxed{3, 5}$.', '\\boxed{x = 3, y = 1}')
    """
    if completion.count("\\boxed") < 2:
        return completion
    head, line_break, last = completion.rstrip().rpartition("\n")
    if last.count("\\boxed") > 1:
        return head + line_break + _TWO_BOXES.sub(r"\\boxed{\1, \2}", last)
    return _TWO_UNKNOWNS.sub(r"\\boxed{\1, \3}", completion)


def _remove_after_answer(completion: str) -> str:
    """Return a completion without what follows its answer, and with the last side of aligned equations as a formula."""
    shorter = _AFTER_ANSWER.sub("", completion)
    completion = shorter.rstrip() if any(map(str.isdigit, shorter)) or "=" in shorter else completion
    if aligned := _ALIGNED.search(completion):
        before = completion[: aligned.start()].rpartition("\\begin{")[0].rstrip().removesuffix("$$").removesuffix("\\[")
        return f"{before}\n$${aligned['side']}$$"
    return _STOP_IN_FORMULA.sub("", completion)


def _find_sentence(completion: str) -> str | None:
    """Return the sentence that a completion states as its answer, or the box; None when it states none."""
    for statement in find_statements(completion):
        text = statement.text.strip(" \t\n*_`").removesuffix(".").strip()
        if statement.is_cut or not any(character.isalnum() for character in text):
            continue
        if completion.startswith("\\", statement.start):
            return f"\\boxed{{{text}}}"
        end = completion.find(statement.text, statement.content) + len(statement.text)
        retracted = _RETRACTED.match(completion, end)
        return text if retracted is None else retracted[1].strip(" *_.")
    return None


def _select_formula(sentence: str) -> str:
    r"""Return the part of a sentence after its last verb if it has a formula or a number; otherwise all of it.

    >>> _select_formula("The value of $x$ is $5$"), _select_formula("x = 5")
    ('$5$', 'x = 5')
    """
    match = _LAST_VERB.match(sentence)
    if match and (_MARKED.search(match[1]) or any(character.isdigit() for character in match[1])):
        return match[1].strip()
    return sentence


def _extract_target(text: str) -> str:
    """Return the answer of a target that may be a solution with a box or with "####"."""
    text = text.rpartition("####")[2].strip()
    if "boxed" in text and (stated := _find_sentence(text)) is not None:
        return BOXED.sub(r"\1", stated)
    return text


@lru_cache(maxsize=4096)
def _read_target(target: str) -> _Target:
    """Return what a target says; raise ValueError where it says nothing."""
    text = _extract_target(target)
    number = canonical_number(text)
    words = normalize_formula(text)
    solution = target.rpartition("####")[2].strip()
    if number is None and _MARKED.search(solution):
        expressions = _parse(solution)
    else:
        expressions = _parse(write_formula(number or text)) if text else []
    if not expressions and not words:
        raise ValueError(f"the target {target[:60]!r} is no mathematics")
    return _Target(text, words, number, expressions)


def _parse(text: str) -> list[Any]:
    """Return the expressions that math-verify reads from a text."""
    from math_verify import parse

    expressions: list[Any] = parse(text, parsing_timeout=None, raise_on_error=False)
    return expressions
