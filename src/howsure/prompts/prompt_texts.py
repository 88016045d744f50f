"""The texts of prompts besides instructions, in each language: markers, reasoning phrases, answer forms; and passages.

A prompt that demands a form of the answer shows it with a place for the answer, such as `Answer: <label>`. The same
form writes the answers of demonstrations, and reads an answer back from a completion that ends with it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

#: Codes of the languages that the package has texts for; the first is the default.
LANGUAGES = ("en", "de", "es", "fr", "it", "ru", "zh")
#: Demanded forms of the answer; the first demands none.
ANSWER_FORMS = ("unstated", "bare", "line", "json", "boxed", "sentence")

_JSON = '{"answer": "{x}"}'
_BOX = "\\boxed{{x}}"


@dataclass(frozen=True)
class LanguageTexts:
    """The texts of one language.

    Attributes
    ----------
    code
        Code of the language, such as "de".
    texts
        Texts by name, as in `phrasings/languages.toml`.
    reasoning
        Phrases that ask for reasoning, by name.

    Examples
    --------
    >>> load_languages()["fr"].markers("Q/A")
    ('Q : ', 'R :')
    """

    code: str
    texts: Mapping[str, str]
    reasoning: Mapping[str, str]

    @property
    def conjunction(self) -> tuple[str, str]:
        """Return what stands between labels in a list: between the last two, and before those."""
        return self.texts["or"], self.texts["comma"]

    def markers(self, name: str) -> tuple[str, str]:
        """Return the texts before a question and before its answer, for a built-in pair of markers."""
        texts, colon = self.texts, self.texts["colon"]
        question, answer = (texts["q"], texts["a"]) if name == "Q/A" else (texts["question"], texts["answer"])
        if name == "QUESTION/ANSWER":
            question, answer = question.upper(), answer.upper()
        elif name == "question/answer":
            question, answer = question.lower(), answer.lower()
        if name == "lines":
            return f"{question}{colon.rstrip()}\n", f"{answer}{colon.rstrip()}\n"
        return question + colon, answer + colon.rstrip()

    def answer_form(self, name: str) -> tuple[str, ...]:
        """Return a demanded form: its template, the demands for a label and for an answer, and the two placeholders.

        Each demand has a second wording, which is for replies with reasoning before the answer.
        """
        texts = self.texts
        template = {"bare": "{x}", "line": texts["line"], "sentence": texts["sentence"], "json": _JSON, "boxed": _BOX}
        if name == "bare":
            demands = tuple(texts[f"bare_{kind}{last}"] for kind in ("label", "value") for last in ("", "_last"))
        else:
            key = "json" if name == "json" else "form"
            demands = (texts[key], texts[f"{key}_last"]) * 2
        return (template[name], *demands, texts["label"], texts["value"])


@lru_cache
def load_languages() -> dict[str, LanguageTexts]:
    """Return the texts of each language by its code."""
    file = Path(__file__).parent / "phrasings" / "languages.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    languages = {}
    for code in LANGUAGES:
        texts = {key: value for key, value in tables[code].items() if isinstance(value, str)}
        languages[code] = LanguageTexts(code, texts, dict(tables[code]["reasoning"]))
    return languages


@lru_cache
def load_passages() -> tuple[str, ...]:
    """Return the unrelated passages that may stand before a question."""
    file = Path(__file__).parent / "phrasings" / "contexts.toml"
    return tuple(tomllib.loads(file.read_text(encoding="utf-8"))["passages"])


def write_form(template: str, answer: str) -> str:
    r"""Return an answer in the demanded form.

    >>> write_form("Answer: {x}", "B"), write_form('{"answer": "{x}"}', 'say "no"')
    ('Answer: B', '{"answer": "say \\"no\\""}')
    >>> write_form("The answer is {x}.", "at 6 p.m.")
    'The answer is at 6 p.m.'
    """
    if template.endswith(("{x}.", "{x}。")) and answer.endswith((".", "。")):
        template = template[:-1]
    return template.replace("{x}", json.dumps(answer, ensure_ascii=False)[1:-1] if template == _JSON else answer)


def read_form(template: str, completion: str) -> str | None:
    r"""Return the answer of a completion that ends with the demanded form; None if it does not end with it.

    Quotation marks, backticks, bold type and angle brackets around the form or its answer are left out, and so is a
    fence of code around a JSON object. Nothing may follow the form, because a later text may correct the answer.

    >>> read_form("Answer: {x}", "It is on the Seine.\n**Answer: B**"), read_form("Answer: {x}", "Answer: B? No, C.")
    ('B', 'B? No, C')
    >>> read_form('{"answer": "{x}"}', 'So:\n```json\n{"answer": "B"}\n```'), read_form("\\boxed{{x}}", "I think B")
    ('B', None)
    """
    text = completion.rstrip()
    if template == _JSON:
        return _read_json(text.removesuffix("```").rstrip())
    if template == _BOX:
        return _read_box(text)
    line = _strip_markup(text.rpartition("\n")[2])
    before, after = (part.strip() for part in template.split("{x}"))
    if after or before:
        line = _strip_markup(line.rstrip(".。"))
    pattern = rf"{_flexible(before)}[*_`]*\s*(?P<answer>\S.*?)\s*{_flexible(after.rstrip('.。'))}"
    match = re.fullmatch(pattern, line, re.IGNORECASE)
    return _strip_markup(match["answer"]) or None if match else None


_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("'", "'"), ("<", ">"))


def _strip_markup(text: str) -> str:
    """Return a text without the markup, the pair of quotation marks and the angle brackets around it."""
    text = text.strip("*_` \t")
    for start, end in _QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text.startswith(start) and text.endswith(end) and start not in inner and end not in inner:
            return inner.strip("*_` \t")
    return text


def _flexible(text: str) -> str:
    """Return a pattern of a text with any space before its colon, which may be full-width, and markup beside it."""
    return re.sub(r"\\?\s*(?::|：)", r"[*_]*\\s*[:：][*_]*", re.escape(text))


#: Number of opening braces, from the end of a text, at which a JSON object is looked for.
MOST_BRACES = 20


def _read_json(text: str) -> str | None:
    """Return the answer of the JSON object that a text ends with."""
    start = len(text)
    for _ in range(MOST_BRACES):
        start = text.rfind("{", 0, start)
        if start < 0:
            return None
        try:
            value = json.loads(text[start:])
        except ValueError:
            continue
        answer = value.get("answer") if isinstance(value, dict) else None
        return str(answer) if isinstance(answer, str | int | float) and not isinstance(answer, bool) else None
    return None


def _read_box(text: str) -> str | None:
    """Return what is in the box of LaTeX that a text ends with."""
    start = text.rfind("\\boxed{")
    end = text.rstrip("$.*) \t\\]").rfind("}")
    inner = text[start + len("\\boxed{") : end]
    is_closed = 0 <= start < end and inner.count("{") == inner.count("}") and not text[end + 1 :].strip("$.*)] \t\\")
    return inner.strip().strip("<>") or None if is_closed else None
