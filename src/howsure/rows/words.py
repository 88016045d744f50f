"""Every list of words that reading relies on: names of columns, words that are scores, names that are no models.

A name is compared after `normalise_name`: case, blanks, hyphens, dots and underscores do not count. A new name needs
two independent public files that have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: What the number of generations is counted in.
_ATTEMPTS = ("total", "attempts", "trials", "samples", "generations", "completions", "responses", "runs", "repeats")
#: Our columns and their names in other programs, in order of preference.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "benchmark": ("benchmark", "benchmark_id", "benchmark_name", "dataset", "dataset_name"),
    "model": (
        *("model", "model_id", "model_name", "model_label", "model_key", "model_name_or_path", "llm", "llm_name"),
        *("engine", "system_name", "checkpoint", "agent", "agent_name", "candidate", "submission", "system"),
    ),
    "question": (
        *("question_id", "question", "example_id", "original_row_index", "item_id", "item", "example", "task_id"),
        *("doc_id", "problem_id", "instance_id", "case_id", "test_id", "prompt_id", "query_id", "qid", "question_no"),
        *("question_number", "sample_id", "id", "idx", "index", "input", "input_label", "problem", "query"),
        *("question_text", "task", "test_case", "test", "#", "Unnamed: 0"),
    ),
    "variant": ("variant", "variation_index", "prompt", "template", "prompt_template"),
    "generation": (
        *("generation", "epoch", "run", "run_number", "run_id", "repeat", "replicate", "trial", "trial_id", "attempt"),
        *("iteration", "seed"),
    ),
    "score": (
        *("score", "is_correct", "score_binarized", "value", "passed", "is_passed", "result", "correct", "pass"),
        *("success", "succeeded", "resolved", "solved", "reward", "accuracy", "acc", "exact_match", "em", "grade"),
        *("rating", "judgment", "judgement", "verdict", "outcome", "metric", "acc@1", "accuracy@1", "pass@1"),
        "scores",
    ),
    "mean": ("pass1", "mean", "mean_score"),
    "count": ("count", "n"),
    "right": (
        *("n_correct", "num_correct", "number_of_correct", "n_right", "n_passed", "num_passed", "n_pass", "passes"),
        *("n_success", "n_successes", "successes", "n_solved", "n_resolved", "hits", "correct_count", "pass_count"),
        *("success_count", "total_correct", "right", "correct", "passed", "solved", "resolved"),
    ),
    "total": (
        *("total", "attempts", "trials", "samples"),
        *(f"{count}_{thing}" for count in ("n", "num", "total") for thing in _ATTEMPTS),
        *("total_count", "sample_count", "count", "n"),
    ),
    "scorer": (
        *("scorer", "scorer_name", "metric", "metric_name", "grader", "evaluator", "eval_name", "judge", "rater"),
        "key",
    ),
    "answer": ("extracted_answer", "parsed_answer", "pred", "predicted_answer", "predicted", "answer"),
    "cluster": (),  # used only if the user names it
}
#: Columns of texts and their names in other programs; a table is read without them.
TEXTS: Mapping[str, tuple[str, ...]] = {
    "completion": (
        *("completion", "model_response", "response", "model_output", "output", "generated_text", "prediction"),
    ),
    "target": ("target", "gold_answer", "gold", "reference", "expected", "ground_truth", "correct_answer", "targets"),
    "choices": ("choices", "options", "choices_text"),
    "text": ("text", "question_text", "prompt_text", "input_text", "prompt", "question", "input", "problem", "query"),
    "answer": ALIASES["answer"],
}
#: Columns whose values may be benchmarks or parts of one, so that ids may be counted anew in each.
TASK_NAMES = frozenset(
    {
        *("task", "taskname", "subtask", "subject", "category", "subset", "domain", "topic", "dataset", "datasetname"),
        *("suite", "eval", "split", "language", "difficulty", "level", "type"),
    }
)
#: Columns that number the turns of a conversation, and the steps of one run.
TURN_NAMES = frozenset({"turn", "turnid", "turnnumber"})
STEP_NAMES = frozenset({"step", "stepid", "stepnumber", "hop", "iterationstep", "round"})
#: Words of columns that name who gave a score.
JUDGE_WORDS = frozenset({"judge", "rater", "annotator", "reviewer", "grader", "evaluator", "scorer"})
#: Words in the names of numbers that are no scores of a model: costs, times, lengths, errors, ranks, raters, answers.
MEASURE_WORDS = frozenset(
    {
        *("cost", "price", "usd", "latency", "time", "seconds", "sec", "ms", "duration", "tokens", "token", "length"),
        *("len", "chars", "words", "steps", "turns", "rank", "n", "count", "std", "sd", "se", "stderr", "sem", "ci"),
        *("low", "high", "lower", "upper", "min", "max", "weight", "difficulty", "year", "size", "temperature"),
        *("confidence", "probability", "prob", "probs", "logprob", "perplexity", "rater", "annotator", "judge"),
        *("human", "answer", "gold", "target", "reference", "label", "expected", "truth", "prediction", "response"),
        *("delta", "diff", "difference", "median", "agreement", "pred", "predicted", "true", "actual", "reviewer"),
        *(
            "incorrect",
            "wrong",
            "failed",
            "failure",
            "error",
            "hallucinated",
            "hallucination",
            "loss",
            "wer",
            "cer",
            "mae",
        ),
        *("is", "has", "flag", "flagged", "agree", "ok", "oracle", "majority", "multi"),
    }
)
#: Words in the names of metrics: several such columns beside each other are several scores of one system.
METRIC_NAMES = frozenset(
    {
        *("accuracy", "acc", "f1", "bleu", "rouge", "rougel", "rouge1", "rouge2", "meteor", "bertscore", "precision"),
        *("recall", "ndcg", "mrr", "map", "em", "score", "scores", "correctness", "faithfulness", "relevancy"),
        *("relevance", "groundedness", "coherence", "fluency", "helpfulness", "toxicity", "hallucination", "quality"),
        *("similarity", "correct", "pass", "passed", "success", "reward", "rating", "grade", "metric", "rate"),
        *("completeness", "conciseness", "harmfulness", "safety", "bias", "consistency", "match"),
    }
)
#: Words that together with a number name one run of several: of columns (run_1) and of parts of paths (seed-3).
RUN_WORDS = ("run", "seed", "rep", "repeat", "trial", "attempt", "sample", "epoch", "fold", "rs", "s")
#: Words in the name of a row that sums up the others.
SUMMARY_WORDS = frozenset(
    {
        *("mean", "average", "avg", "total", "sum", "overall", "accuracy", "acc", "score", "scores", "macro", "micro"),
        *("std", "sd", "stderr", "se", "median", "min", "max", "count"),
        *("all", "correct", "result", "results", "gesamt", "summe", "mittelwert", "durchschnitt", "moyenne", "percent"),
    }
)
#: Scores by word. All words of a column must be in one of these: the C of letter grades A to D is no score.
WORD_SCORES: tuple[Mapping[str, float], ...] = (
    {
        **dict.fromkeys(("pass", "passed", "success", "succeeded", "correct", "right", "solved", "resolved"), 1.0),
        **dict.fromkeys(("fail", "failed", "failure", "incorrect", "wrong", "unsolved", "unresolved"), 0.0),
        "yes": 1.0,
        "true": 1.0,
        "no": 0.0,
        "false": 0.0,
        "not attempted": 0.0,
        "not_attempted": 0.0,
        **dict.fromkeys(("partial", "partially correct", "partially_correct"), 0.5),
    },
    {"yes": 1.0, "y": 1.0, "no": 0.0, "n": 0.0},
    {"true": 1.0, "t": 1.0, "false": 0.0, "f": 0.0},
    {"p": 1.0, "f": 0.0},
    {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0},
    {"✓": 1.0, "✔": 1.0, "✅": 1.0, "✗": 0.0, "✘": 0.0, "❌": 0.0},
)
#: Words of a generation that failed: it has no score.
FAILED_WORDS = frozenset({"error", "errored", "timeout", "timed out", "skipped", "skip", "not run", "unscored"})
#: Texts that stand for a missing value, in lower case.
MISSING_TEXTS = ("nan", "na", "n/a", "#n/a", "null", "none", "-", "–")
#: Columns that say that a generation, or its judge, failed: a flag, or the text of an error.
FAILURE_COLUMNS = frozenset(
    {
        *("error", "errormessage", "errormsg", "errortype", "exception", "failurereason", "failed", "isfailed"),
        *("judgefailed", "judgeerror", "evalerror", "evaluationfailed", "scorererror", "timedout", "timeout", "status"),
    }
)

_IGNORED = str.maketrans("", "", " _-.\t\n")


def normalise_name(name: str) -> str:
    """Return the name of a column without what does not count: case, blanks, hyphens, dots and underscores.

    >>> normalise_name(" Model-Name"), normalise_name("model_name")
    ('modelname', 'modelname')
    """
    return str(name).translate(_IGNORED).lower()


def split_words(name: str) -> list[str]:
    """Return the words of a name in lower case, without numbers that stand alone.

    >>> split_words("ndcg_at_10"), split_words("latencyMs"), split_words("Score (%)")
    (['ndcg', 'at'], ['latency', 'ms'], ['score'])
    """
    spaced = "".join(
        f" {c}" if c.isupper() and before.islower() else c for before, c in zip(" " + name, name, strict=False)
    )
    words = "".join(c if c.isalnum() else " " for c in spaced).lower().split()
    return [bare for word in words if (bare := word.rstrip("0123456789"))]


def find_alias(ours: str, names: Iterable[str], taken: Iterable[str] = ()) -> str | None:
    """Return the column of a table that has one of our column's names; the first name that is present counts.

    >>> find_alias("model", ["Model Name", "system"]), find_alias("model", ["gpt-4", "llama"])
    ('Model Name', None)
    """
    left_out = set(taken)
    by_name: dict[str, str] = {}
    for name in names:
        if name not in left_out:
            by_name.setdefault(normalise_name(name), name)
    aliases = ALIASES[ours] if ours in ALIASES else TEXTS[ours]
    return next((by_name[key] for alias in aliases if (key := normalise_name(alias)) in by_name), None)


def match_words(words: Iterable[str]) -> dict[str, float | None] | None:
    """Return the score of each word, None for a generation that failed; None where a word is no score.

    >>> match_words(["Pass", "fail", "error"])
    {'Pass': 1.0, 'fail': 0.0, 'error': None}
    >>> match_words(["C", "I"]), match_words(["A", "B", "C"])
    ({'C': 1.0, 'I': 0.0}, None)
    """
    lower = {word: word.strip().lower() for word in words}
    for scores in WORD_SCORES:
        if any(key in scores for key in lower.values()) and all(
            key in scores or key in FAILED_WORDS for key in lower.values()
        ):
            return {word: scores.get(key) for word, key in lower.items()}
    return None


def split_repeat(name: str) -> tuple[str, int] | None:
    """Return the rest of a name and the number of its run, where it ends in a run word with a number.

    >>> split_repeat("gpt-4o_run2"), split_repeat("gpt-4o (run 1)"), split_repeat("seed3"), split_repeat("llama-3")
    (('gpt-4o', 2), ('gpt-4o', 1), ('', 3), None)
    """
    text = name.strip().removesuffix(")")
    rest = text.rstrip("0123456789")
    if rest == text:
        return None
    words = rest.rstrip(" _-.")
    stem = words.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if words[len(stem) :].lower() not in RUN_WORDS or (stem and stem[-1] not in " _-.("):
        return None
    return stem.rstrip(" _-.("), int(text[len(rest) :])


def are_repeat_names(names: Iterable[str]) -> bool:
    """Return whether names are one run word with different numbers, or `score` with numbers that follow each other.

    >>> [are_repeat_names(names) for names in (["run1", "run2"], ["score_1", "score_2"], ["gpt-3", "gpt-4"])]
    [True, True, False]
    """
    stems, numbers = set(), []
    for name in names:
        stem = name.rstrip("0123456789")
        stems.add(normalise_name(stem))
        numbers.append(name[len(stem) :])
    if len(numbers) < 2 or len(stems) > 1 or not all(numbers):
        return False
    values = sorted(map(int, numbers))
    if stems == {"score"}:  # pass_1 and pass_5, acc1 and acc5, rating_1 and rating_2 are no runs
        return values in ([*range(len(values))], [*range(1, len(values) + 1)])
    return stems <= {*RUN_WORDS, *map(normalise_name, ALIASES["generation"])} and len({*values}) == len(values)
