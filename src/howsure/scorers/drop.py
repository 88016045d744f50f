"""Define the scorer `drop`: the F1 score of DROP, for answers of one or several spans, numbers or dates.

The normalisation and the alignment are those of the evaluation program of DROP (Dua et al. 2019): words in lower case
without articles and punctuation, separated by spaces and hyphens, numbers as floats; spans are aligned one to one so
that the sum of their F1 scores is largest; a span with numbers matches no span without one of them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache

from howsure.errors import UnknownNameError
from howsure.scorers.open_answers import is_refusal, read_stated
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.targets import parse_targets

#: What a score is: the F1 of words, or 1 for the same spans and 0 else.
MEASURES = ("f1", "exact")
#: Text between two spans of an answer, in prompts, completions and targets.
SPAN_SEPARATOR = "; "
#: Most spans of an answer that are read.
MAX_SPANS = 100

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_WORD_END = re.compile(r"[ -]")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: A full stop, and a sign of per cent, without which a number with a decimal point is read as one.
_AFTER_SPAN = re.compile(r"(?<=\d)\s?%\.?$|(?<!\.)\.$")
_MARKUP = re.compile(r"^[\s*_`\"'$]+|[\s*_`\"'$]+$")


def list_accepted_answers(answer: object, others: object = None) -> list[str]:
    """Return the accepted answers of a row of DROP, each as one text with its spans between semicolons.

    Parameters
    ----------
    answer
        `number`, `spans` and `date` (`day`, `month`, `year`), of which one is filled in.
    others
        Further answers of the same form: a list of them, or their fields with a list each, as the data set is stored.

    Returns
    -------
    list
        The different answers that are not empty, `answer` first.

    Examples
    --------
    >>> list_accepted_answers({"number": "", "spans": ["Ann Lee", "Bo"], "date": {}}, [{"number": "2"}])
    ['Ann Lee; Bo', '2']
    """
    candidates = [answer]
    if isinstance(others, Mapping):
        columns = {name: values for name, values in others.items() if isinstance(values, list)}
        longest = max(map(len, columns.values()), default=0)
        candidates += [{k: v[i] for k, v in columns.items() if i < len(v)} for i in range(longest)]
    elif isinstance(others, list):
        candidates += others
    texts = [_write_answer(candidate) for candidate in candidates if isinstance(candidate, Mapping)]
    return list(dict.fromkeys(filter(None, texts)))


def _write_answer(answer: Mapping[str, object]) -> str:
    """Return an answer as text: its number, its spans, or its date."""
    if number := str(answer.get("number") or "").strip():
        return number
    spans = answer.get("spans")
    if isinstance(spans, list) and spans:
        return SPAN_SEPARATOR.join(" ".join(str(span).split()) for span in spans)
    date = answer.get("date")
    parts = [str(date.get(part) or "") for part in ("day", "month", "year")] if isinstance(date, Mapping) else []
    return " ".join(filter(None, parts))


def compute_drop_f1(answer: Sequence[str], target: Sequence[str]) -> tuple[float, bool]:
    """Return the F1 score of an answer, 0 to 1, and whether its spans are those of the target.

    Parameters
    ----------
    answer, target
        Spans of the answer and of the target; at least one each.

    Returns
    -------
    tuple
        The score, rounded to two decimals as in the evaluation program of DROP, and the exact match.

    Notes
    -----
    With the sets of words A and T of an aligned pair, F1 = 2 |A ∩ T| / (|A| + |T|), and 0 where T has numbers and A
    none of them. The score is the sum over the best alignment, divided by the larger number of spans.

    References
    ----------
    Dua, Wang, Dasigi, Stanovsky, Singh and Gardner 2019, DROP, NAACL, section 5 and its evaluation program.

    Examples
    --------
    >>> compute_drop_f1(["the Ravens"], ["Baltimore Ravens"]), compute_drop_f1(["Bo", "Ann"], ["Ann", "Bo"])
    ((0.67, False), (1.0, True))
    >>> compute_drop_f1(["12 yards"], ["13 yards"]), compute_drop_f1(["3.0"], ["3"])
    ((0.0, False), (1.0, True))
    """
    given, expected = ([_normalize_span(span) for span in spans] for spans in (answer, target))
    scores = [[_compare_words(a, t) for a in given] for t in expected]
    best = max(map(max, scores)) if min(len(given), len(expected)) == 1 else _sum_best_alignment(scores)
    f1 = best / max(len(given), len(expected))
    return round(100 * f1) / 100, set(given) == set(expected) and len(given) == len(expected)


def _sum_best_alignment(scores: Sequence[Sequence[float]]) -> float:
    """Return the largest sum of scores in which each row and each column occurs at most once."""
    # Imported here, because commands that score nothing load this module too.
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    matrix = np.array(scores)
    return float(matrix[linear_sum_assignment(matrix, maximize=True)].sum())


@lru_cache(maxsize=8192)
def _normalize_span(span: str) -> str:
    """Return the words of a span in lower case, without articles and punctuation, and with numbers as floats."""
    words = (_ARTICLES.sub(" ", _normalize_word(word)).split() for word in _WORD_END.split(span.lower()))
    return " ".join(" ".join(parts) for parts in words if parts)


def _normalize_word(word: str) -> str:
    """Return a number as a float, and another word without punctuation."""
    bare = word if _is_number(word) else word.translate(_PUNCTUATION)
    return str(float(bare)) if _is_number(bare) else bare


def _is_number(word: str) -> bool:
    """Return whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _compare_words(answer: str, target: str) -> float:
    """Return the F1 score of the sets of words of two normalised spans."""
    given, expected = set(answer.split()), set(target.split())
    numbers = {word for word in expected if _is_number(word)}
    if numbers and not numbers & given:
        return 0.0
    common = len(given & expected)
    if not given or not expected:
        return float(given == expected)
    # In the order of the evaluation program, so that scores are rounded alike.
    precision, share = common / len(given), common / len(expected)
    return 2 * precision * share / (precision + share) if common else 0.0


def build_drop_scorer(spec: str, where: str) -> Scorer:
    """Return the scorer `drop` (F1) or `drop:exact`: the best score over the accepted answers.

    Raises
    ------
    UnknownNameError
        When there is no such measure.
    """
    measure = spec.partition(":")[2] or "f1"
    if measure not in MEASURES:
        raise UnknownNameError("measure of drop", measure, MEASURES, where=where)

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        text, rule = _read_answer(completion)
        if text is None or not (spans := _split_spans(text)):
            return ScoredAnswer(0.0, None, rule)
        best, is_exact = 0.0, False
        for target in parse_targets(item.target):
            f1, is_same = compute_drop_f1(spans, _split_spans(target) or [target])
            best, is_exact = max(best, f1), is_exact or is_same
        answer = SPAN_SEPARATOR.join(sorted(filter(None, map(_normalize_span, spans))))
        return ScoredAnswer(float(is_exact) if measure == "exact" else best, answer or text, rule)

    return Scorer(spec, hash_code("scorers.drop", "scorers.open_answers", "scorers.targets"), score)


def _read_answer(text: str) -> tuple[str | None, str]:
    """Return the text of the answer of a completion, with all its spans, and the rule."""
    if (stated := read_stated(text)) is not None:
        return stated.rstrip(), "statement"
    if is_refusal(text):
        return None, "refused"
    lines = [line for line in text.split("\n") if line.strip()]
    return (lines[0].strip(), "whole") if len(lines) == 1 else (None, "no statement")


def _split_spans(text: str) -> list[str]:
    """Return the spans of an answer, which semicolons separate."""
    spans = (_MARKUP.sub("", span) for span in text.split(";")[:MAX_SPANS])
    return [_AFTER_SPAN.sub("", span) for span in spans if span]
