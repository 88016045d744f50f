"""Check verifiable instructions, such as "at least 300 words" or "no commas", as the benchmark IFEval does.

The 25 instructions are those of Zhou et al. 2023, with the rules of the published checks; the tests compare both. A
completion is judged strictly, as it stands, or loosely: also without its first line, its last line, or asterisks, and
the best of these counts.

References
----------
Zhou et al. 2023, CheckedInstruction-following evaluation for large language models, arXiv:2311.07911.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import util
from typing import Any, NamedTuple

from howsure.errors import InputError
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code

#: Forms of the score: whether all instructions are followed, or the share of them; strictly or loosely.
FORMS = ("strict", "loose", "share", "loose-share")
Settings = Mapping[str, Any]
"""Settings of an instruction, such as `num_words`."""
_YES_NO = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
#: Words before whose full stop no sentence ends.
_ABBREVIATIONS = """
mr mrs ms dr prof sr jr st rev gen col lt sgt capt maj gov sen rep hon no vs etc inc ltd co corp dept univ assn bros
e.g i.e a.m p.m u.s u.k u.n d.c ph.d b.c a.d jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri
sat ave blvd rd mt ft fig vol pp approx est
"""


class CheckedInstruction(NamedTuple):
    """One instruction of a prompt: its id, such as `punctuation:no_comma`, and its settings."""

    id: str
    settings: Settings


def build_ifeval_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `ifeval`, with its form after a colon.

    Raises
    ------
    InputError
        When the form is none of `FORMS`, or a package is missing.
    """
    form = spec.partition(":")[2] or FORMS[0]
    if form not in FORMS:
        raise InputError(f"unknown form {form!r}", where=where, remedy=f"write ifeval:{'|'.join(FORMS)}")
    if any(util.find_spec(name) is None for name in ("langdetect", "nltk")):
        remedy = 'pip install "howsure[ifeval]"'
        raise InputError("packages for instructions are missing", where=where, remedy=remedy)

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        followed = check_instructions(completion, parse_instructions(item.target), loose=form.startswith("loose"))
        answer = "".join("+" if one else "-" for one in followed)
        value = sum(followed) / len(followed) if form.endswith("share") else float(all(followed))
        return ScoredAnswer(value, answer, "loose" if form.startswith("loose") else "strict")

    return Scorer(spec, hash_code("scorers.ifeval"), score)


@lru_cache(maxsize=4096)
def parse_instructions(target: str) -> tuple[CheckedInstruction, ...]:
    """Return the instructions of a target: JSON with `instruction_id_list` and `kwargs`, a mapping for each of them.

    Raises
    ------
    ValueError
        When the target has another form, or an instruction is not known.

    >>> parse_instructions('{"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}')
    (CheckedInstruction(id='punctuation:no_comma', settings={}),)
    """
    content = json.loads(target)
    ids, settings = (
        content.get(key) if isinstance(content, dict) else None for key in ("instruction_id_list", "kwargs")
    )
    settings = json.loads(settings) if isinstance(settings, str) else settings
    if not isinstance(ids, list) or not ids or not isinstance(settings, list) or len(ids) != len(settings):
        raise ValueError("the target lists no instructions with their settings")
    for name in ids:
        if name not in _CHECKS:
            raise ValueError(f"unknown instruction {name!r}")
    # The published rows have every setting of every instruction; those of others are null.
    return tuple(
        CheckedInstruction(name, {key: value for key, value in (own or {}).items() if value})
        for name, own in zip(ids, settings, strict=True)
    )


def check_instructions(
    completion: str, instructions: Sequence[CheckedInstruction], *, loose: bool = False
) -> list[bool]:
    """Return whether a completion follows each instruction.

    Parameters
    ----------
    completion
        The completion; an empty one follows none.
    instructions
        The instructions of its prompt.
    loose
        Whether to accept it also without its first line, its last line, or asterisks.

    >>> check_instructions("Yes, of course.", [CheckedInstruction("punctuation:no_comma", {})])
    [False]
    """
    texts = [completion]
    if loose:
        lines = completion.split("\n")
        cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
        texts = [form for text in (completion, *cut) for form in (text, text.replace("*", ""))]
    texts = [text for text in texts if text.strip()]
    return [any(_CHECKS[one.id](text, one.settings) for text in texts) for one in instructions]


def _compare(count: int, settings: Settings, name: str, relation: str = "relation") -> bool:
    """Return whether a count is in its relation ("less than" or "at least") to a setting."""
    threshold = int(settings[name])
    return count < threshold if settings[relation] == "less than" else count >= threshold


def _has_language(text: str, language: str) -> bool:
    """Return whether a text is in a language; a text in which no language can be told is."""
    from langdetect import DetectorFactory, LangDetectException, detect

    DetectorFactory.seed = 0  # without a seed the same text may be told apart differently
    try:
        return bool(detect(text) == language)
    except LangDetectException:
        return True


def _count_sentences(text: str) -> int:
    """Return the number of sentences."""
    return len(_build_sentence_splitter().tokenize(text))


@lru_cache(maxsize=1)
def _build_sentence_splitter() -> Any:
    """Return a splitter that knows common abbreviations."""
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(_ABBREVIATIONS.split())
    return PunktSentenceTokenizer(parameters)


def _count_capital_words(text: str) -> int:
    """Return the number of words without small letters, contractions counted as two words."""
    from nltk.tokenize import NLTKWordTokenizer

    tokens = NLTKWordTokenizer().tokenize(text)
    return sum(token.isupper() for token in tokens)


def _count_paragraphs(text: str, settings: Settings) -> bool:
    """Return whether there are so many paragraphs with three asterisks between them, none of them empty."""
    parts = re.split(r"\s?\*\*\*\s?", text)
    if any(not part.strip() for part in parts[1:-1]):
        return False
    return sum(bool(part.strip()) for part in parts) == int(settings["num_paragraphs"])


def _check_first_word(text: str, settings: Settings) -> bool:
    """Return whether there are so many paragraphs, and one of them begins with a word."""
    parts = text.split("\n\n")
    n_paragraphs = sum(bool(part.strip()) for part in parts)
    place = int(settings["nth_paragraph"])
    if place > n_paragraphs or not (paragraph := parts[place - 1].strip()):
        return False
    word = paragraph.split()[0].lstrip("'").lstrip('"')
    first = re.split(r"[.,?!'\"]", word)[0].lower()
    return n_paragraphs == settings["num_paragraphs"] and first == str(settings["first_word"]).lower()


def _check_postscript(text: str, settings: Settings) -> bool:
    """Return whether a line has the marker of a postscript."""
    marker = str(settings["postscript_marker"]).strip()
    patterns = {"P.P.S": r"\s*p\.\s?p\.\s?s.*$", "P.S.": r"\s*p\.\s?s\..*$"}
    pattern = patterns.get(marker, r"\s*" + marker.lower() + r".*$")
    return re.search(pattern, text.lower(), flags=re.MULTILINE) is not None


def _count_highlights(text: str, settings: Settings) -> bool:
    """Return whether enough parts stand between asterisks; one between two pairs counts twice, as published."""
    single = sum(bool(part.strip("*").strip()) for part in re.findall(r"\*[^\n\*]*\*", text))
    double = sum(bool(part[2:-2].strip()) for part in re.findall(r"\*\*[^\n\*]*\*\*", text))
    return single + double >= int(settings["num_highlights"])


def _count_sections(text: str, settings: Settings) -> bool:
    """Return whether there are enough headings such as "Section 1"."""
    splitter = str(settings["section_spliter"]).strip()
    return len(re.split(r"\s?" + splitter + r"\s?\d+\s?", text)) - 1 >= int(settings["num_sections"])


def _is_json(text: str) -> bool:
    """Return whether a text is JSON, with or without a fence of backticks."""
    body = text.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        body = body.removeprefix(fence)
    try:
        json.loads(body.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def _check_two_responses(text: str) -> bool:
    """Return whether there are two different answers with six asterisks between them."""
    parts = text.split("******")
    if any(not part.strip() for part in parts[1:-1]):
        return False
    answers = [part.strip() for part in parts if part.strip()]
    return len(answers) == 2 and answers[0] != answers[1]


def _count_letters(text: str, settings: Settings) -> bool:
    """Return whether a letter stands often or seldom enough, in any case."""
    count = Counter(text.lower())[str(settings["letter"]).lower()]
    return _compare(count, settings, "let_frequency", "let_relation")


def _check_end(text: str, settings: Settings) -> bool:
    """Return whether a text ends with a phrase, in any case."""
    return text.strip().strip('"').lower().endswith(str(settings["end_phrase"]).strip().lower())


def _count_bullets(text: str, settings: Settings) -> bool:
    """Return whether there are exactly so many lines that begin with an asterisk or a hyphen."""
    bullets = re.findall(r"^\s*\*[^\*].*$", text, flags=re.MULTILINE) + re.findall(
        r"^\s*-.*$", text, flags=re.MULTILINE
    )
    return len(bullets) == int(settings["num_bullets"])


def _count_keyword(text: str, settings: Settings) -> bool:
    """Return whether a word stands often or seldom enough, in any case."""
    count = len(re.findall(str(settings["keyword"]).strip(), text, flags=re.IGNORECASE))
    return _compare(count, settings, "frequency")


#: Id of an instruction -> function of the text and the settings that returns whether it is followed.
_CHECKS: dict[str, Callable[[str, Settings], bool]] = {
    "keywords:existence": lambda text, own: all(re.search(word, text, re.IGNORECASE) for word in own["keywords"]),
    "keywords:frequency": _count_keyword,
    "keywords:forbidden_words": lambda text, own: (
        not any(re.search(r"\b" + word + r"\b", text, re.IGNORECASE) for word in own["forbidden_words"])
    ),
    "keywords:letter_frequency": _count_letters,
    "language:response_language": lambda text, own: _has_language(text, own["language"]),
    "length_constraints:number_sentences": lambda text, own: _compare(_count_sentences(text), own, "num_sentences"),
    "length_constraints:number_paragraphs": _count_paragraphs,
    "length_constraints:number_words": lambda text, own: _compare(len(re.findall(r"\w+", text)), own, "num_words"),
    "length_constraints:nth_paragraph_first_word": _check_first_word,
    "detectable_content:number_placeholders": lambda text, own: (
        len(re.findall(r"\[.*?\]", text)) >= own["num_placeholders"]
    ),
    "detectable_content:postscript": _check_postscript,
    "detectable_format:number_bullet_lists": _count_bullets,
    "detectable_format:constrained_response": lambda text, _: any(answer in text for answer in _YES_NO),
    "detectable_format:number_highlighted_sections": _count_highlights,
    "detectable_format:multiple_sections": _count_sections,
    "detectable_format:json_format": lambda text, _: _is_json(text),
    "detectable_format:title": lambda text, _: any(
        title.lstrip("<").rstrip(">").strip() for title in re.findall(r"<<[^\n]+>>", text)
    ),
    "combination:two_responses": lambda text, _: _check_two_responses(text),
    "combination:repeat_prompt": lambda text, own: (
        text.strip().lower().startswith(str(own["prompt_to_repeat"]).strip().lower())
    ),
    "startend:end_checker": _check_end,
    "startend:quotation": lambda text, _: len(text.strip()) > 1 and text.strip()[0] == text.strip()[-1] == '"',
    "change_case:capital_word_frequency": lambda text, own: _compare(
        _count_capital_words(text), own, "capital_frequency", "capital_relation"
    ),
    "change_case:english_capital": lambda text, _: text.isupper() and _has_language(text, "en"),
    "change_case:english_lowercase": lambda text, _: text.islower() and _has_language(text, "en"),
    "punctuation:no_comma": lambda text, _: "," not in text,
}
