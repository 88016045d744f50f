"""Define the scorer `maths`, which compares a completion with its target by the library math-verify."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import metadata, util
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.extraction.completion_context import CompletionContext, remove_run_on
from howsure.extraction.number_sentences import read_sentence
from howsure.extraction.numbers import canonical_number, extract_number
from howsure.extraction.numerals import format_number
from howsure.extraction.statements import ends_undecided, find_statements, remove_reasoning
from howsure.sandbox.call_pool import CallPool
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
_BOXED = re.compile(r"\\boxed\{(.*)\}", re.DOTALL)
_DOLLARS = re.compile(r"\$\$?[^$]+\$\$?")
# Words between formulas that make a list of them.
_JOINED = re.compile(r"\b(?:or|and)\b|,")
_AMOUNT = re.compile(r"\\?\$(?=\s?\d)")
_LAST_VERB = re.compile(r".*\b(?:is|are|equals?|be)\b[ :]*(.*)", re.DOTALL)
_RETRACTED = re.compile(
    r"[.!?;,\s*]*(?:no|wait|sorry|actually|correction)\b[ ,.:!-]*(?:it['’]s|it is|it should be)\s+([^\n]{1,80})",
    re.IGNORECASE,
)
# How a formula is written without LaTeX -> in LaTeX.
_WRITTEN = [
    (re.compile(r"(?<![\\\w])sqrt\s?\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"√\s?\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"√\s?(\w+)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![\\A-Za-z])(pi|sin|cos|tan|ln|log|infty)(?![A-Za-z])"), r"\\\1"),
    (re.compile(r"\\[()\[\]]"), ""),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"(?<=[\w)}])\s?\*\s?(?=[\w(\\])"), r" \\cdot "),
    (re.compile(r"^(\d+) (\d+)/(\d+)$"), r"\1+\\frac{\2}{\3}"),
    (re.compile(r"^\{(.*)\}$"), r"\\{\1\\}"),
    (re.compile(r"\s(?:or|and)\s(?:[a-z]\s?=\s?)?"), ", "),
    (re.compile(r"\s?(?:degrees?|\^\s?\{?\\circ\}?|°)"), ""),
    (re.compile(r"(?<=\d),(?=\d{3}\b)(?!\d{3},\s)"), ""),
]
_SYMBOLS = str.maketrans(
    {
        "π": r"\pi ",
        "≤": r"\le ",
        "≥": r"\ge ",
        "∞": r"\infty ",
        "−": "-",
        "×": r"\times ",
        "·": r"\cdot ",
        "∪": r"\cup ",
        "²": "^2",
        "³": "^3",
    }
)
_SPACE_AFTER_COMMAND = re.compile(r"(\\[a-z]+) (?![A-Za-z])")
# Spellings of the same formula.
_SPELLINGS = [
    (re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf|mbox)\s?\{([^{}]*)\}"), r"\1"),
    (re.compile(r"[bBv]matrix"), "pmatrix"),
    (re.compile(r"(?<!\\)\\(?:left|right|displaystyle|,|!|;|:| )|[\s$*]|\^\\circ|\^\{\\circ\}|°|\\%|%"), ""),
    (re.compile(r"\\[dtc]frac"), r"\\frac"),
    (re.compile(r"([_^])\{(\w)\}"), r"\1\2"),
    (re.compile(r"^\(?([A-Za-z])\)?$"), r"\1"),
]
#: Longest completion without LaTeX of which the last line is read as a formula.
LONGEST_PLAIN = 2000
# A formula without LaTeX at the end of a line: brackets, an equation, a power or a root.
_PLAIN = re.compile(
    r"(?:(?<=\s)|^)(?:[({\[][^A-Za-z]*[)}\]](?:\s?[∪,]\s?[({\[][^A-Za-z]*[)}\]])*"
    r"|(?:[a-zA-Z]['’]?(?:\([a-z]\))?\s?=|\([a-z0-9 +−-]+\)[²³]?\s?=)[^=:]*?"
    r"|[-−\w/²³^*+() ]*[√π²³^][-−\w/²³^*+()√π ]*)$"
)
# "x = -1 and x = 3", a formula with commands and without dollar signs, and words beside one.
_SAME_UNKNOWN = re.compile(r"(?P<name>[a-z])\s?=\s?[^=]{1,30}?(?:,?\s(?:and|or)\s|,\s)(?P=name)\s?=\s?[^=]{1,30}")
_SAME_UNKNOWN_LAST = re.compile(
    rf"(?:^|\b(?:so|thus|hence|therefore|gives|means)\s|[,:⇒→]\s)(?P<equations>{_SAME_UNKNOWN.pattern})$"
)
_COMMAND = re.compile(r"\\(?:[dtc]?frac|sqrt|pi|infty|cdot)\b")
_WORDS = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_LEFT_SIDE = re.compile(r"\s*(?:[a-zA-Z]['’]?\([a-z]\)|[a-zA-Z]['’]?|\([a-z0-9 +−-]+\)[²³]?)\s*")
# What follows the answer: the end of a proof, a remark in brackets, a check, and what a letter stands for.
_AFTER_ANSWER = re.compile(
    r"(?:\$?\\(?:blacksquare|square|qed)\$?|\n\s*(?:check|verification)\s*:[^\n]*"
    r"|\n[\s✔✓✅\ufe0f*_]*(?:differentiating|substituting|for example,|as a check,)\s[^\n]*"
    r"|(?:(?<=[.\n$])[ \n]*)\([A-Z][^()\n]*\$[^()\n]*\)"
    r"|[,;]?\s(?:where|with)\s(?:\$|\\\()?[A-Za-z](?:\$|\\\))?\s(?:is|are|denotes)\s(?:an?|the|any)\s[^\n$]*"
    r"|;\sthe\s(?:other|others|rest)\b[^\n]*)[\s.✓]*$",
    re.IGNORECASE,
)
# "$x = \\boxed{3}$ or $x = \\boxed{5}$": several solutions, each in a box of its own.
_IN_BOX = r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_TWO_BOXES = re.compile(
    rf"{_IN_BOX}[$\s]*(?:\\[)\]])?\s*(?:,\s*)?(?:and|or)?\s*(?:\\[(\[])?[$\s]*(?:[a-z]\s*=\s*)?{_IN_BOX}"
)
# "**3√13**", "**(0, 4]**", and "25π ≈ 78.54": the number is only near.
_BOLD_FORMULA = re.compile(r"\*\*([^*\nA-Za-z]*[√π(\[][^*\nA-Za-z]*)\*\*")
_NEAR = re.compile(r"(?<=[π√\w)}])\s?(?:≈|~|\\approx)\s?\d[\d.,]*(?:\s[a-zA-Z²³]+)?(?=[\s.$*]*$)")
# The last line of a chain of equations.
_ALIGNED = re.compile(
    r"&\s*=\s*(?P<side>(?:(?!&|\\\\)[\s\S])+?)[.,\s]*\\end\{(?:align|aligned|split|eqnarray)\*?\}[\s$\].]*$"
)
# The signs of bold type, and not a power.
_BOLD_SIGN = re.compile(r"(?:(?<=\s)|(?<=^))\*\*(?=\S)|(?<=\S)\*\*(?=\s|$)")
_STOP_IN_FORMULA = re.compile(r"[.,]\s*(?=\$\$\s*$)")
_FRACTION = re.compile(r"\\[dt]?frac\{(\d+)\}\{(\d+)\}")
# "2x + 3", "x = 2 and y = 1", "1, 2 and 4"
_LINEAR = re.compile(r"[-−]?\s?\d*[a-zA-Z](?:\s?[-+−]\s?\d*[a-zA-Z]?(?![a-zA-Z]))+")
_COORDINATES = re.compile(
    r"(?:so\s+)?[ax]\s?=\s?(?P<first>[-−\d/.]+),?\s(?:and\s)?[by]\s?=\s?(?P<second>[-−\d/.]+)", re.IGNORECASE
)
_LISTED = re.compile(r"[-−\d/.]+(?:,\s[-−\d/.]+)*,?\sand\s[-−\d/.]+")
_PERCENT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s?\\?(?:%|percent)")
# "- If $\\Delta < 0$ there are none.": one of several cases.
_CASE = re.compile(r"[ \t]*[-*•][ \t]+(?:if|when|for)\b", re.IGNORECASE)
_MARKED = re.compile(r"\$|\\boxed|\\fbox|\\\(|\\\[|\\begin")


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
    def score_cached(completion: str, target: str, is_cut: bool) -> ScoredAnswer:
        reply = pool.call(compare_maths, completion, target, is_cut)
        answer, score = msgspec.convert(reply, tuple[str | None, float])
        return ScoredAnswer(score, answer, "math-verify" if answer is not None else "no mathematics")

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        completion = remove_run_on(completion, item.context)
        if ends_undecided(remove_reasoning(completion)):
            return ScoredAnswer(0.0, None, "undecided")
        if is_too_long(completion):
            return ScoredAnswer(0.0, None, "too long to parse")
        return score_cached(completion, item.target, item.context.truncated)

    version = f"math-verify-{metadata.version('math-verify')}-{hash_code('scorers.maths', 'extraction')}"
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


def compare_maths(completion: str, target: str, is_cut: bool = False) -> tuple[str | None, float]:
    """Return the answer of a completion, or None, and 1.0 where it equals the target, else 0.0; see `_compare_exact`.

    Of "25π ≈ 78.54" the exact number is the answer; the other one is also right, where the target has so many decimals.
    """
    head, line_break, last = completion.rstrip().rpartition("\n")
    if last.count("\\boxed") > 1:
        completion = head + line_break + _TWO_BOXES.sub(r"\\boxed{\1, \2}", last)
    exact = _NEAR.sub("", completion)
    answer, score = _compare_exact(exact, target, is_cut)
    if exact != completion and not score and (near := _compare_exact(completion, target, is_cut))[1]:
        return near
    return answer, score


def _compare_exact(completion: str, target: str, is_cut: bool) -> tuple[str | None, float]:
    """Return the answer of a completion, or None, and 1.0 where it equals the target, else 0.0.

    An explicit statement (`statements.find_statements`) is the answer, also where it has no dollar signs; it is
    compared as text, as a number, and by math-verify. Without a statement math-verify reads the whole completion. The
    call may take very long and is made in a `CallProcess`.

    Parameters
    ----------
    completion
        Text with LaTeX, whose last expression is the answer.
    target
        LaTeX with or without dollar signs, a number, words, or a solution whose answer is in a box or after "####".
    is_cut
        Whether the completion was cut at the limit of its tokens; without a statement it has no answer then.

    Raises
    ------
    ValueError
        When the target cannot be read.
    """
    from math_verify import verify

    expected = _parse_target(target)
    words = _normalize(_extract_target(target))
    if not expected and not words:
        raise ValueError(f"the target {target[:60]!r} is no mathematics")
    completion = _remove_after_answer(remove_reasoning(completion))
    sentence = _find_sentence(completion) or _find_bold_formula(completion)
    statement = None if sentence is None else _select_formula(sentence)
    plain = _find_plain_formula(completion) if sentence is None else None
    if sentence is None and (written := _match_unmarked(completion, plain, _extract_target(target))) is not None:
        return (None, 0.0) if is_cut else (written, 1.0)
    number_target = canonical_number(_extract_target(target))
    if sentence is None and plain is None and number_target and not is_cut and not _MARKED.search(completion):
        answer = extract_number(completion)
        if answer is not None:
            return answer, float(answer == number_target)
    if statement is not None and sentence is not None:
        number = read_sentence(sentence, sentence, CompletionContext())
        is_number = number is not None and format_number(number) == canonical_number(_extract_target(target))
        if is_number or (words and _normalize(statement) == words):
            return statement, 1.0
    if sentence is None and (is_cut or _CASE.match(completion.rstrip().rpartition("\n")[2])):
        return None, 0.0
    given = _parse(_write_formula(statement or plain or "")) if statement or plain else []
    given = given or (_parse(completion) if statement is None else [])
    if not given:
        return statement, 0.0
    equal = verify(expected, given, timeout_seconds=None, raise_on_error=False)
    if not equal and isinstance(given[-1], str) and "=" in given[-1] and "=" not in target:
        side = _parse(f"${given[-1].rpartition('=')[2]}$")  # A = ..., where the target has no name
        equal = bool(side) and verify(expected, side, timeout_seconds=None, raise_on_error=False)
        equal = equal or (bool(words) and _normalize(given[-1].rpartition("=")[2]) == words)
    # The last element is the text from which the expressions before it were read.
    return str(given[-1]), float(equal)


def _remove_after_answer(completion: str) -> str:
    """Return a completion without what follows its answer, and with the last side of aligned equations as a formula."""
    shorter = _AFTER_ANSWER.sub("", completion)
    completion = shorter.rstrip() if any(map(str.isdigit, shorter)) or "=" in shorter else completion
    if aligned := _ALIGNED.search(completion):
        before = completion[: aligned.start()].rpartition("\\begin{")[0].rstrip().removesuffix("$$").removesuffix("\\[")
        return f"{before}\n$${aligned['side']}$$"
    return _STOP_IN_FORMULA.sub("", completion)


def _match_unmarked(completion: str, plain: str | None, target: str) -> str | None:
    r"""Return the answer of a last line without LaTeX that equals its target, perhaps in another form; else None.

    >>> _match_unmarked("So x = 3 and y = -2.", None, "(3, -2)"), _match_unmarked("It is 50%.", None, r"\frac{1}{2}")
    ('(3, -2)', '50%')
    """
    if plain is not None and _normalize(target) and _normalize(plain) == _normalize(target):
        return plain
    line = completion.strip().rpartition("\n")[2].strip(" *_`").removesuffix(".")
    if _MARKED.search(line) or not target:
        return None
    verb = _LAST_VERB.match(line)
    tail = (verb[1] if verb and verb[1] else line).strip()
    words = _normalize(target)
    if target.startswith("(") and (pair := _COORDINATES.fullmatch(line)):
        answer = f"({pair['first']}, {pair['second']})".replace("−", "-")
        return answer if _normalize(answer) == words else None
    if target.startswith("\\{") and _LISTED.fullmatch(tail):
        answer = f"\\{{{re.sub(',? and ', ', ', tail)}\\}}"
        return answer if _normalize(answer) == words else None
    if percent := _PERCENT.fullmatch(tail):
        number = canonical_number(target) or canonical_number(_FRACTION.sub(r"\1/\2", target))
        is_equal = number is not None and canonical_number(f"{percent['number']}/100") == number
        return tail if is_equal else None
    side = tail.rpartition("=")[2].strip()
    return side if _LINEAR.fullmatch(side) and _normalize(side) == words else None


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


def _find_bold_formula(completion: str) -> str | None:
    """Return the formula with signs such as √ that is the only one in bold in a last line without LaTeX; else None."""
    line = completion.strip().rpartition("\n")[2]
    formulas = _BOLD_FORMULA.findall(line) if "$" not in line and "\\" not in line else []
    return formulas[0] if len(formulas) == 1 else None


def _find_plain_formula(completion: str) -> str | None:
    r"""Return the formula without LaTeX at the end of a completion without any, such as "(-2, 3]"; None without one.

    >>> _find_plain_formula("So the lines meet at the point (3, -2)."), _find_plain_formula("(x + 1)² = x² + 2x + 1")
    ('(3, -2)', 'x² + 2x + 1')
    """
    if _MARKED.search(completion) or len(completion) > LONGEST_PLAIN or not completion.strip():
        return None
    line = _BOLD_SIGN.sub("", completion.strip().split("\n")[-1].strip(" *_`").removesuffix("."))
    if (verb := _LAST_VERB.match(line)) and verb[1].strip():
        line = verb[1].strip()
    if same := _SAME_UNKNOWN_LAST.search(line):
        return same["equations"]
    if _COMMAND.search(line) and not _WORDS.search(line):
        return line.rpartition("=")[2].strip()
    match = _PLAIN.search(line.removesuffix("."))
    if match is None:
        return None
    formula = match[0].strip()
    left, _, right = formula.rpartition("=")
    is_name = re.fullmatch(r"\s*\w\s*", left) is not None
    return right.strip() if left and not is_name and _LEFT_SIDE.fullmatch(left) else formula


def _select_formula(sentence: str) -> str:
    r"""Return the part of a sentence after its last verb if it has a formula or a number; otherwise all of it.

    >>> _select_formula("The value of $x$ is $5$"), _select_formula("x = 5")
    ('$5$', 'x = 5')
    """
    match = _LAST_VERB.match(sentence)
    if match and (_MARKED.search(match[1]) or any(character.isdigit() for character in match[1])):
        return match[1].strip()
    return sentence


def _write_formula(statement: str) -> str:
    """Return a statement as LaTeX between dollar signs, where it is a formula without them."""
    if "\\boxed" in statement:
        return f"${statement}$"
    if (formulas := _DOLLARS.findall(statement)) and not _JOINED.search(_DOLLARS.sub("", statement)):
        return f"${formulas[-1].strip('$')}$"
    text = statement.replace("$", "") if formulas else statement
    text = _AMOUNT.sub("", text)
    for pattern, replacement in _WRITTEN:
        text = pattern.sub(replacement, text)
    formula = _SPACE_AFTER_COMMAND.sub(r"\1", text.translate(_SYMBOLS))
    return f"${formula}$"


def _normalize(text: str) -> str:
    """Return a formula or words without spaces, markup and marks that do not change its meaning, in lower case."""
    text = _BOXED.sub(r"\1", text.strip())
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return text.strip(" .$").casefold()


def _extract_target(text: str) -> str:
    """Return the answer of a target that may be a solution with a box or with "####"."""
    text = text.rpartition("####")[2].strip()
    if "boxed" in text and (stated := _find_sentence(text)) is not None:
        return _BOXED.sub(r"\1", stated)
    return text


@lru_cache(maxsize=4096)
def _parse_target(text: str) -> list[Any]:
    """Return the expressions of a target."""
    text = text.rpartition("####")[2].strip()
    if not text:
        return []
    number = canonical_number(text)
    if number is None and _MARKED.search(text):
        return _parse(text)
    return _parse(f"${number or text}$")


def _parse(text: str) -> list[Any]:
    """Return the expressions that math-verify reads from a text."""
    from math_verify import parse

    expressions: list[Any] = parse(text, parsing_timeout=None, raise_on_error=False)
    return expressions
