"""Find the formulas with which a completion concludes, where no sentence is marked as its answer."""

from __future__ import annotations

import re

from howsure.extraction.number_words import SMALL_NUMBERS
from howsure.extraction.numbers import canonical_number

__all__ = ["find_conclusion", "split_forms"]

#: Sentences at the end of a completion that are read, at most.
MOST_SENTENCES = 6
#: Forms of one answer that are compared, at most.
MOST_FORMS = 4
#: Longest end of a completion that is read, in characters.
LONGEST_END = 2000
# The dollar sign of an amount opens no formula: spaces stand on both sides or on none, and no digit after it.
_IN_DOLLARS = r"(?:\\.|(?!\*\*)[^$\\\n]){1,1000}"
_LATEX = re.compile(
    r"\$\$(.{1,1000}?)\$\$|\\\[(.{1,1000}?)\\\]|\\\((.{1,1000}?)\\\)"
    rf"|(?<!\\)\$(?:(?=\S)({_IN_DOLLARS})(?<=\S)|\s({_IN_DOLLARS})\s)\$(?!\d)",
    re.DOTALL,
)
# Each formula in LaTeX is one character while sentences are read: the first of them, and their number.
_FIRST, _MOST_FORMULAS = 0xE000, 0x1900
_MASKED = r"\ue000-\uf8ff"
_MARKUP = re.compile(
    r"(?:(?<=[\s(])|^)\*\*(?=\S)|(?<=\S)\*\*(?=[\s.,;:)]|$)|`|^\s*(?:#+|[-*•](?=\s[^\d\s]))\s", re.MULTILINE
)
_DELIMITER = re.compile(r"\\[()\[\]]|\$")
_CODE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
_SENTENCE = re.compile(rf"(?<!i\.e\.)(?<!e\.g\.)(?<=[.!?])\s+(?=[A-Z(∫{_MASKED}])|\n+")
# A formula without LaTeX: brackets with a comma, numbers, functions, single letters and signs.
_FUNCTION = r"(?:sqrt|pi|sin|cos|tan|sec|csc|cot|ln|log|exp|infty)(?![A-Za-z])"
_PRODUCT = r"(?:xy|yz|xz|ab|ac|bc|pq|mn|d[xytuv])(?![A-Za-z])"
_LETTER = r"(?<![A-Za-z'’])(?![aAI]\s+[A-Za-z]{2}|i\.\s?e\.|e\.\s?g\.)[A-Za-z](?:['’′]+(?=\()|(?![A-Za-z'’]))"
_TUPLE = r"[(\[{]\s?[^()\[\]{}A-Za-z\n]*,[^()\[\]{}A-Za-z\n]*[)\]}]"
_TOKEN = (
    rf"(?:{_TUPLE}|\d+:\d+|\d+(?:[.,]\d+)*|{_FUNCTION}|{_PRODUCT}|{_LETTER}|\\[A-Za-z]+|\\[{{}}%]"
    rf"|[-−–+*/^_=<>≤≥≠±()\[\]{{}}|!°%√π∞∪∩∈∫×·÷¼-¾⅐-⅞⁰¹²³⁴-⁹⁺⁻⁽⁾ⁿⁱˣʸᵏᵐ₀-₉ₙₓₖₘₐᵢⱼ{_MASKED}])"
)
_RUN = rf"{_TOKEN}(?:\s?{_TOKEN})*+"
_GROUP = re.compile(rf"{_RUN}(?:(?:,?\s(?:and|or)\s|,\s){_RUN})*+")
# A number, a formula in LaTeX, a power or a relation: more than the name of a quantity.
_SUBSTANCE = re.compile(rf"[\d{_MASKED}¼-¾⅐-⅞π√∞]|[A-Za-z)][⁰¹²³⁴-⁹⁻ⁿⁱˣʸᵏᵐ]|[A-Za-z)]\s?[-−+*/^=<>≤≥]\s?[A-Za-z(]")
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|equals?|becomes?|gives?|giving|gets?|yields?|leaves?|leaving|obtain|find"
    r"|(?:simplif(?:y|ies)|reduces?|comes|amounts|adds? up) to|holds (?:for|when|if)|factors as|meet (?:at|in))\b"
)
# The last clause of a sentence concludes: "..., so x = 3".
_SO = re.compile(r"(?:^|[,;]?\s)(?:so|thus|hence|therefore|consequently)\b(?:\sthat)?[,:]?\s", re.IGNORECASE)
# Words before another form of the same answer, in its sentence and at the start of one.
_SAME = (
    r"equivalently|i\.\s?e\.|in other words|that is|in interval notation|in (?:slope-intercept|standard|general) form"
    r"|in decimal form|as a (?:decimal|percentage|fraction)|numerically"
)
_FORM = re.compile(
    rf"(?:[,;(]\s?(?:(?:or|and),?\s)?|\sor,?\s|\s(?=i\.))(?:{_SAME}|(?:or\s)?(?:about|approximately|roughly)"
    r"|which (?:is|equals))(?!\w)[,:]?|\s?≈\s?",
    re.IGNORECASE,
)
_OTHER_FORM = re.compile(r",?\s(?:at the point|the (?:point|interval|pair)|about|roughly|approximately|equal to|or)\s")
_RESTATED = re.compile(rf"\s*(?:or,?\s)?(?:{_SAME})(?!\w)", re.IGNORECASE)
# A sentence about something else, a check or a remark.
_ASIDE = re.compile(
    r"\s*(?:for example|incidentally|note|check|checking|verif|as a check|some people|(?:by|for|in) comparison"
    r"|where|here|let me|let us|i hope)\b|[^.]{0,60}\b(?:by the way|(?:by|for|in) comparison|incidentally)\b"
    r"|(?:substituting|differentiating)\b[^.]*\b(?:back|confirms?|checks?|returns|recovers)\b"
    r"|\s*\((?=[A-Z][a-z])|.*[✓✔✅]|.*\?\s*$",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\s*(?:and\s|so,?\s|therefore,?\s)?(?:its|their|the)\s((?:[a-z]+\s){1,6}?)(?:is|are|was|equals|has)\b",
    re.IGNORECASE,
)
# What the answer is not, and a clause that follows the answer.
_DENIED = re.compile(rf",?\s(?:and\s)?(?:not|rather than|instead of)\s{_RUN}")
_NEGATED = re.compile(r"\b(?:not|cannot|never|nor?)\b|n['’]t\b|≠")
_REASON = re.compile(
    r",?\s(?:since|because|where|with|provided|at)\s|,\s(?:when|if|for|as|which|but)\s|\s(?:if|for|when)\s[a-z]\s?(?:≠|\\ne)"
)
# "(about 75.4)", "(30°)" and other words in brackets, but not a factor.
_REMARK = re.compile(
    r"\s\((?=[^()]*(?:≈|[°%]\)|(?<![A-Za-z])(?!(?:sin|cos|tan|ln|log|exp|sqrt|pi)\b)[A-Za-z]{2}))[^()]{1,120}\)"
)
# A formula that words continue: "half of 10", "x^2 plus 1".
_BEFORE_PART = re.compile(r"\b(?:half|third|quarter|twice|double|square root|cube root|times|plus|minus)\s(?:of\s)?$")
_AFTER_PART = re.compile(r"\s(?:plus|minus|times|divided by|out of|squared|cubed|to the power)\b")
# "That's two solutions", "...: three real solutions"
_COUNT = re.compile(
    rf"(?:\b(?:there (?:is|are)|that['’]s|that (?:is|makes)|has|have)(?:\s(?:exactly|only))?|:)\s"
    rf"(?P<number>{'|'.join(SMALL_NUMBERS)})\s(?!of\b)[a-z]{{3,}}",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?<=[\dπ])\s[a-zA-Z](?:/[a-z]+)?[²³]?$")
_EQUATION = re.compile(r"\s*([a-z](?:_\w|_\{\w+\}|[₀-₉])?)\s*=[^=]+")
_APPROX = re.compile(r"\s?(?:\\approx|≈)\s?")
_SMALL_FRACTION = re.compile(r"\\[dtc]?frac\s?(?:\{(\d+)\}|(\d))\s?(?:\{(\d+)\}|(\d))")


def find_conclusion(completion: str, question: str = "") -> list[str]:
    r"""Return the forms of the answer with which a completion concludes; an empty list without a formula.

    The answer is the formula after the last verb of the last sentence with one. A sentence that restates it
    ("Equivalently, ...") adds a form; checks, remarks and sentences about a quantity that the question does not name
    are left out. Equations in several lines are one answer.

    Parameters
    ----------
    completion
        Text with or without LaTeX, without a box.
    question
        The question, which tells quantities that it asks for from others; not needed.

    Examples
    --------
    >>> find_conclusion("So the line is y = −¼x − ½. Equivalently, x + 4y + 2 = 0.")
    ['y = −¼x − ½', 'x + 4y + 2 = 0']
    >>> find_conclusion(r"So the probability is \( 0.375 \) or \( 37.5\% \).")
    ['0.375', '37.5\\%']
    >>> find_conclusion("Its area is 25π. Its perimeter is 10π.", "What is the area?")
    ['25π']
    """
    formulas: list[str] = []

    def mask(match: re.Match[str]) -> str:
        formulas.append(next(group for group in match.groups() if group is not None).strip(" \n.,"))
        return chr(_FIRST + len(formulas) - 1)

    signs = completion.count("$") + completion.count("\\")
    if "\\boxed" in completion or "\\begin" in completion or signs > _MOST_FORMULAS:
        return []
    text = _MARKUP.sub("", _LATEX.sub(mask, _CODE.sub("", completion).strip())[-LONGEST_END:])
    sentences = [part.strip().rstrip(".") for part in _SENTENCE.split(text) if part.strip()][-MOST_SENTENCES:]
    other_forms: list[str] = []
    other_quantity: list[str] = []
    for i, sentence in reversed(list(enumerate(sentences))):
        stated = [] if _ASIDE.match(sentence) else _read_forms(sentence, formulas)
        if not stated:
            continue
        if i and _RESTATED.match(sentence):
            other_forms = stated + other_forms
        elif i and _names_other_quantity(sentence, sentences[:i], question):
            other_quantity = other_quantity or stated
        else:
            equations = _read_equations(sentences[: i + 1], formulas)
            return ([equations] if equations else stated + other_forms)[:MOST_FORMS]
    return (other_forms or other_quantity)[:MOST_FORMS]


def split_forms(statement: str) -> list[str]:
    """Return the forms in which a stated answer is given, or its formula where words follow; else an empty list.

    >>> split_forms("3/8, i.e. 0.375"), split_forms("24π cubic centimetres"), split_forms("no root, as x = 3 is none")
    (['3/8', '0.375'], ['24π'], [])
    """
    statement = " ".join(_DELIMITER.sub("", statement).split())
    forms = find_conclusion(statement)
    return forms if len(forms) > 1 or (forms and statement.startswith(forms[0])) else []


def _names_other_quantity(sentence: str, before: list[str], question: str) -> bool:
    """Return whether a sentence is about a quantity that the question does not name, after one that it names."""
    words = set(re.findall(r"[a-z]{4,}", question.lower()))
    subject = _SUBJECT.match(sentence)
    if not words or subject is None or words & set(subject[1].lower().split()):
        return False
    return any(words & set(other[1].lower().split()) for other in map(_SUBJECT.match, before) if other)


def _read_forms(sentence: str, formulas: list[str]) -> list[str]:
    """Return the forms of the answer that a sentence with masked formulas states."""
    sentence = _DENIED.sub("", sentence)
    clauses = [clause for clause in _SO.split(sentence) if _find_groups(clause)]
    count = _COUNT.search(sentence)
    if count is not None and (not clauses or count[0].startswith(":")):
        return [str(SMALL_NUMBERS[count["number"].lower()])]
    parts = _FORM.split(clauses[-1] if clauses else "")
    group = _find_answer(_REMARK.sub("", parts[0]))
    if group is None:
        return []
    forms = [group]
    for part in parts[1:]:
        other = _GROUP.match(_OTHER_FORM.sub(" ", f" {part.lstrip()}", count=1).strip())
        if other and _SUBSTANCE.search(other[0]):
            forms.append(_trim(other[0]))
    return [side for form in forms for side in _split_equal(_insert_formulas(form, formulas))]


def _insert_formulas(text: str, formulas: list[str]) -> str:
    """Return a text with the formulas in LaTeX for which its characters stand."""
    return re.sub(f"[{_MASKED}]", lambda match: formulas[ord(match[0]) - _FIRST], text)


def _find_answer(clause: str) -> str | None:
    """Return the formulas that a clause states: the first ones after its last verb, else its last ones."""
    for match in _GROUP.finditer(clause):
        if _SUBSTANCE.search(match[0]) and _REASON.match(clause, match.end()):
            clause = clause[: match.end()]
            break
    before, _, last = clause.rpartition(": ")
    if before and _GROUP.fullmatch(last) and _SUBSTANCE.search(last):
        return last
    verbs = list(_VERB.finditer(clause))
    after = _find_groups(clause[verbs[-1].end() :]) if verbs else []
    groups = after or _find_groups(clause)
    if not groups:
        return None
    answer = groups[0] if after else groups[-1]
    start = clause.rfind(answer)
    is_denied = _NEGATED.search(re.split(r"[,;:]\s", clause[:start])[-1]) is not None
    is_part = _BEFORE_PART.search(clause[:start]) or _AFTER_PART.match(clause[start + len(answer) :])
    return None if is_denied or is_part else answer


def _find_groups(text: str) -> list[str]:
    """Return the formulas of a text, those that "and", "or" or commas join as one."""
    groups = (_trim(match[0]) for match in _GROUP.finditer(text))
    return [group for group in groups if _SUBSTANCE.search(group)]


def _trim(group: str) -> str:
    """Return a formula without a unit of one letter, a dash and a bracket that opens or ends a remark."""
    group = _UNIT.sub("", group.strip(" –").removesuffix("(").rstrip())
    opened = sum(map(group.count, "([{"))
    return group.removesuffix(")").rstrip() if sum(map(group.count, ")]}")) > opened else group


def _split_equal(group: str) -> list[str]:
    """Return the forms of one value that "or" or a sign of approximation joins; other formulas as one."""
    group = group.replace("\\text{ or }", " or ")
    sides = _APPROX.split(group)
    if len(sides) == 1:
        sides = group.split(" or ")
        values = [_read_value(side.rpartition("=")[2]) for side in sides]
        if values[0] is None or len(set(values)) > 1:
            return [group]
    return [side.strip(" ,") for side in sides if side.strip(" ,")]


def _read_value(text: str) -> str | None:
    """Return the canonical form of a number, a fraction or a percentage; None for another formula."""
    text = _SMALL_FRACTION.sub(lambda m: f"{m[1] or m[2]}/{m[3] or m[4]}", text.strip(" $,"))
    number = re.sub(r"\s?\\?%$", "", text)
    return canonical_number(number if number == text else f"{number}/100")


def _read_equations(sentences: list[str], formulas: list[str]) -> str | None:
    """Return the equations that the last lines consist of, as one formula; None where it is not several."""
    equations: list[str] = []
    for sentence in reversed(sentences):
        written = re.sub(r"^(?:and|or)\s|,?\s(?:and|or)$", "", _insert_formulas(sentence.strip(" ,"), formulas))
        if not _EQUATION.fullmatch(written):
            break
        equations.insert(0, written)
    return ", ".join(equations) if len(equations) > 1 else None
