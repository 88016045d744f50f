"""Write formulas as LaTeX, from text with the signs of Unicode or of a keyboard."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["BOXED", "normalize_formula", "write_formula", "write_symbols"]

#: A box in LaTeX with its content as group 1.
BOXED = re.compile(r"\\boxed\{(.*)\}", re.DOTALL)
_DOLLARS = re.compile(r"\$\$?[^$]+\$\$?")
# Words between formulas that make a list of them.
_JOINED = re.compile(r"\b(?:or|and)\b|,")
_AMOUNT = re.compile(r"\\?\$(?=\s?\d)")
# How a formula is written without LaTeX -> in LaTeX.
_WRITTEN = [
    (re.compile(r"(?<![\\\w])sqrt\s?\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"(?<![\\A-Za-z])(pi|sin|cos|tan|ln|log|infty)(?![A-Za-z])"), r"\\\1"),
    (re.compile(r"\\[()\[\]]"), ""),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"(?<=[\w)}])\s?\*\s?(?=[\w(\\])"), r" \\cdot "),
    (re.compile(r"^(y\s?=\s?-?\s?)(\d+)/(\d+)(?=x\b)"), r"\1\\frac{\2}{\3}"),  # the slope of a line
    (re.compile(r"^(\d+) (\d+)/(\d+)$"), r"\1+\\frac{\2}{\3}"),
    (re.compile(r"^\{(.*)\}$"), r"\\{\1\\}"),
    (re.compile(r",?\s(?:or|and)\s"), ", "),
    (re.compile(r"(?<!\\)%"), r"\\%"),
    (re.compile(r"\s?(?:degrees?|\^\s?\{?\\circ\}?|°)(?:[CF]\b)?"), ""),
    (re.compile(r"(?<=\d),(?=\d{3}\b)(?!\d{3},\s)"), ""),
]
_SYMBOLS = str.maketrans(
    {
        "π": r"\pi ",
        "≤": r"\le ",
        "≥": r"\ge ",
        "≠": r"\ne ",
        "∞": r"\infty ",
        "−": "-",
        "×": r"\times ",
        "·": r"\cdot ",
        "∪": r"\cup ",
        "∈": r"\in ",
        "±": r"\pm ",
        "′": "'",
    }
)
_VULGAR = {
    character: "\\frac{{{}}}{{{}}}".format(*unicodedata.normalize("NFKC", character).split("\u2044"))
    for character in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
}
_SCRIPTS = {"^": "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸᵏᵐ", "_": "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙₓₖₘₐᵢⱼ"}
_SIGNS = re.compile(f"[{''.join(_VULGAR)}]")
_SCRIPT = re.compile("|".join(f"[{characters}]+" for characters in _SCRIPTS.values()))
_ROOT = re.compile(r"√\s?(?:\(([^()]*)\)|(\w+))")
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
_FONT = re.compile(r"\\(?:mathbf|boldsymbol|bm)\s?\{([^{}]*)\}")
# "The cone has a volume of" before a formula in a box.
_WORDS_BEFORE = re.compile(r"^\\text\{[^{}]*\w\s+\w[^{}]*\}\s*=?\s*(?=.*\d)")
# "x < -1 or x >= 2", "x > 1 and x < 3": two rays of a line.
_BOUND = r"[-+]?[\s\d./]*(?:\\(?:frac|sqrt|pi)\b[\s{}\d]*)?"
_RELATION = rf"([a-z])\s*(<|>|\\[lg]e(?:q|qslant)?(?![A-Za-z]))\s*({_BOUND})"
_JOINT = r"\s*(?:,|(?:,\s?)?\b(?:and|or)\b|\\text\{\s*(?:and|or)\s*\})\s*"
_TWO_RAYS = re.compile(rf"\s*{_RELATION}({_JOINT}){_RELATION}\s*")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
# "y(x) =", which is y as well.
_ARGUMENT = re.compile(r"^\s*([a-z])\([a-z]\)\s*=")
# "y = 1, x = 3": a value for each of several unknowns.
_VALUE = re.compile(r"\s*([a-z])\s*=([^=]+)")
_AND = re.compile(r",(?:\s?and\b)?|\band\b|\\text\{\s*and\s*\}")
# "[-1, 4[", "]0, 1]": an open end as a bracket that is turned around.
_TURNED = re.compile(
    r"(?:[a-z]\s*(?:∈|\\in\b)\s*)?(?P<low>[\[\]])(?P<ends>[^\[\](){}<>=]+[,;][^\[\](){}<>=]+)(?P<high>[\[\]])"
)


def write_symbols(text: str) -> str:
    r"""Return a text with the signs of Unicode as LaTeX: fractions, roots, powers, indices and relations.

    >>> write_symbols("y = −¼x − ½"), write_symbols("aⁿ⁺² ≤ √3"), write_symbols("(-∞, 2]")
    ('y = -\\frac{1}{4}x - \\frac{1}{2}', 'a^{n+2} \\le \\sqrt{3}', '(-\\infty, 2]')
    """
    if text.isascii():
        return text
    text = _ROOT.sub(lambda match: f"\\sqrt{{{match[1] or match[2]}}}", text)
    text = _SIGNS.sub(lambda match: _VULGAR[match[0]], text)
    text = _SCRIPT.sub(_write_script, text).translate(_SYMBOLS)
    return re.sub(r"(\\[a-z]+) {2,}", r"\1 ", _SPACE_AFTER_COMMAND.sub(_join_command, text))


def _write_script(match: re.Match[str]) -> str:
    """Return raised or lowered characters as LaTeX."""
    sign = next(sign for sign, characters in _SCRIPTS.items() if match[0][0] in characters)
    content = unicodedata.normalize("NFKC", match[0]).replace("−", "-")
    return sign + (content if len(content) == 1 else f"{{{content}}}")


def _join_command(match: re.Match[str]) -> str:
    """Return a command without the space after it, where a sign follows."""
    following = match.string[match.end() : match.end() + 1]
    return match[1] if not following.isdigit() and not following.isspace() else match[0]


def write_formula(statement: str) -> str:
    r"""Return a statement as LaTeX between dollar signs, where it is a formula without them.

    >>> write_formula("3√2"), write_formula("x < -1 or x ≥ 2")
    ('$3\\sqrt{2}$', '$(-\\infty,-1)\\cup[2,\\infty)$')
    """
    statement = _FONT.sub(r"\1", statement)
    if (formulas := _DOLLARS.findall(statement)) and not _JOINED.search(_DOLLARS.sub("", statement)):
        return f"${write_set(write_symbols(_WORDS_BEFORE.sub('', formulas[-1].strip('$'))))}$"
    text = statement.replace("$", "") if formulas else statement
    text = write_set(write_symbols(_AMOUNT.sub("", text)))
    for pattern, replacement in _WRITTEN:
        text = pattern.sub(replacement, text)
    formula = _SPACE_AFTER_COMMAND.sub(r"\1", text)
    return f"${formula}$"


def write_set(formula: str) -> str:
    r"""Return a solution set in the form in which it is compared; other formulas as they are.

    Two rays become a union of intervals, or the interval that they share unless "or" joins them, equations of several
    unknowns become a tuple in the order of their names, and brackets that are turned around become round ones.

    >>> write_set(r"x \ge 2 \text{ or } x < -1"), write_set("y = 1, x = 3"), write_set("[-1, 4["), write_set("x < y")
    ('(-\\infty,-1)\\cup[2,\\infty)', '(3, 1)', '[-1, 4)', 'x < y')
    >>> write_set("x > 1, x < 3"), write_set("x > 1 or x < 3")
    ('(1,3)', '(-\\infty,3)\\cup(1,\\infty)')
    """
    formula = _ARGUMENT.sub(r"\1 =", formula)
    if turned := _TURNED.fullmatch(formula.strip()):
        low, high = "[" if turned["low"] == "[" else "(", "]" if turned["high"] == "]" else ")"
        return f"{low}{turned['ends'].replace(';', ',')}{high}"
    values = [_VALUE.fullmatch(part) for part in _AND.split(formula)]
    named = {value[1]: value[2].strip() for value in values if value}
    if len(named) == len(values) > 1:
        return f"({', '.join(named[name] for name in sorted(named))})"
    rays = _TWO_RAYS.fullmatch(formula)
    if rays is None or rays[1] != rays[5]:
        return formula
    ends = {
        relation[0] == ">" or "ge" in relation: (relation, value.strip())
        for relation, value in (rays.group(2, 3), rays.group(6, 7))
    }
    if set(ends) != {False, True} or not all(value for _, value in ends.values()):
        return formula
    (below, low), (above, high) = ends[False], ends[True]
    left, right = "(" if above == ">" else "[", ")" if below == "<" else "]"
    is_shared = "or" not in rays[4] and _NUMBER.fullmatch(low) and _NUMBER.fullmatch(high) and float(high) < float(low)
    if is_shared:
        return f"{left}{high},{low}{right}"
    return formula if "and" in rays[4] else f"(-\\infty,{low}{right}\\cup{left}{high},\\infty)"


def normalize_formula(text: str) -> str:
    """Return a formula or words without spaces, markup and marks that do not change its meaning, in lower case."""
    text = write_symbols(BOXED.sub(r"\1", text.strip()))
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return text.strip(" .$").casefold()
