"""Define the scorer `f1`, the overlap of the words of an answer with those of the target."""

from __future__ import annotations

from collections import Counter

from howsure.extraction.completion_context import remove_next_question
from howsure.extraction.open_answers import read_open_answer
from howsure.extraction.statements import remove_reasoning
from howsure.scorers.normalised import normalize_answer, split_words
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code
from howsure.scorers.targets import parse_targets

__all__ = ["build_f1_scorer", "compute_f1"]


def compute_f1(answer: str, target: str) -> float:
    """Return the F1 score of an answer, 0 to 1: the harmonic mean of the precision and the recall of its words.

    Parameters
    ----------
    answer, target
        Texts, which are compared as `normalised.normalize_answer` writes them. In Chinese, Japanese, Thai and other
        scripts without spaces each character is a word.

    Notes
    -----
    With c words in common, counted as often as they occur in both, P = c / |answer| and R = c / |target|,
    F1 = 2 P R / (P + R) = 2 c / (|answer| + |target|).

    References
    ----------
    Rajpurkar, Zhang, Lopyrev and Liang 2016, section 6.1.

    Examples
    --------
    >>> compute_f1("the English novelist Jane Austen", "Jane Austen"), compute_f1("東京都", "東京")
    (0.6666666666666666, 0.8)
    """
    given, expected = (Counter(split_words(text)) for text in (answer, target))
    common = (given & expected).total()
    total = given.total() + expected.total()
    return 2 * common / total if total else float(answer == target)


def build_f1_scorer(spec: str, _: str) -> Scorer:
    """Return the scorer `f1`: the best F1 score over the accepted answers."""

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        targets = parse_targets(item.target)
        whole_text = remove_next_question(remove_reasoning(completion), item.context).strip()
        answer, rule = read_open_answer(completion, item.context)
        if answer is None and rule not in {"empty", "refused", "cut"}:
            answer, rule = whole_text, "text"
        if any(normalize_answer(whole_text) == normalize_answer(target) for target in targets):
            answer, rule = whole_text, "whole"
        if answer is None:
            return ScoredAnswer(0.0, None, rule)
        best = max(compute_f1(answer, target) for target in targets)
        return ScoredAnswer(best, normalize_answer(answer), rule)

    return Scorer(spec, hash_code("scorers.token_f1", "scorers.normalised", "scorers.targets", "extraction"), score)
