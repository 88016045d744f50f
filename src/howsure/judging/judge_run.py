"""Ask a judge for the verdicts that a run folder lacks, and write its scores beside the rows.

The judge samples a run of its own, in the folder `judges/NAME-HASH` of the run that it judges: its questions are the
prompts that show completions to it, its generations are the verdicts. So limits, retries, budget, resume and batches
are those of every run. Equal completions of a question are judged once, and so is a completion that was judged before.

::

    run/
      judges/correct-5f0c3a91/
        manifest.json, ...         the run folder of the verdicts
        completions.parquet        key of each completion, and the question (`unit`) under which it was judged
      scores/judge-....parquet     the mean score of the verdicts of each completion, as the scorer `judge:correct`
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO, cast

import msgspec

from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import FatalEndpointError, InputError, StoreError, UnknownNameError
from howsure.judging.verdict_prompts import VerdictPrompt, load_prompt
from howsure.models.batch_client import BatchClient
from howsure.models.generating_process import ABILITIES, uniform
from howsure.models.model import Choice, Model, Reply, Request
from howsure.safe_text import inflect_text
from howsure.sample.budget import load_spending
from howsure.sample.experiment import Experiment, PromptLine
from howsure.sample.judge_config import BudgetConfig, JudgeConfig
from howsure.sample.model_config import ModelConfig, find_key
from howsure.sample.model_config import open_model as open_configured_model
from howsure.sample.retry import UNREADABLE
from howsure.sample.run import run_experiment
from howsure.sample.sampling_plan import check_prices
from howsure.scorers.completion_text import split_thoughts
from howsure.scorers.registry import build_scorer
from howsure.scorers.scorer_parts import ScoringItem
from howsure.store import manifest, responses, scorer_files
from howsure.store.atomic import replace_file
from howsure.store.schema import KEY, UNSCORED, WITHOUT_ANSWER, CompletionKey, Response, has_scoring_error
from howsure.store.scorer_files import OWN_SCORES, RescoredRow, split_name

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "judges"
COMPLETIONS = "completions.parquet"
#: Number of replies without a readable verdict, the first ones, after which a judge is stopped.
N_UNREADABLE = 20
#: Largest number of characters of such a reply that a message shows.
_MOST_CHARACTERS = 120
#: Exit code where no verdict could be read, as of a model that is given up.
_UNUSABLE = 2
#: The one prompt of a judge's run shows the question of the unit as it is.
_PROMPT = Prompt(template="{question}")


class Unit(NamedTuple):
    """What a judge is shown at once: a completion of a question, or two completions in one order."""

    id: str
    text: str
    """The prompt."""
    target: str
    """The verdict that a person would give, as far as a comparison of texts tells; for simulated judges only."""


@dataclass(frozen=True)
class JudgedRun:
    """The completions of a run folder as a judge is shown them.

    Attributes
    ----------
    units
        Each prompt once, by id.
    unit_of
        Ids of the units of each completion, by its key: one, or two for a pair.
    """

    judge: JudgeConfig
    prompt: VerdictPrompt
    units: dict[str, Unit]
    unit_of: dict[CompletionKey, tuple[str, ...]] = field(repr=False)
    models: tuple[str, str] | None = None
    """The two models of a pairwise judge."""
    unparsed_of: str | None = None
    """Scorer whose unparsed completions alone are judged: NAME@VERSION, or `OWN_SCORES`; None judges all."""

    @property
    def version(self) -> str:
        """The hash of template, scores of the verdicts, `longest`, the pair's models, and the judge with its settings.

        The judge is its kind, name, address and settings; seed, repeats and the completions themselves are not in it.
        """
        model = self.judge.model
        parts = [
            self.prompt.text,
            self.judge.choices,
            self.judge.longest,
            self.models,
            [model.kind, model.name, model.base_url, msgspec.to_builtins(model.settings)],
        ]
        parts += [] if self.judge.scale is None else [self.judge.scale]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def scorer(self) -> str:
        """The name of the scorer whose scores come from these verdicts."""
        name = f"judge:{self.judge.name}"
        return name if self.unparsed_of is None else f"{split_name(self.unparsed_of)[0]}+{name}"

    @property
    def column(self) -> str:
        """The scorer with its version: that of the judge, behind that of the scorer whose other scores are kept."""
        _, of_scores = split_name(self.unparsed_of or "")
        return f"{self.scorer}@{of_scores}{'-' * bool(of_scores)}{self.version}"

    def stream(self, path: Path, columns: Sequence[str]) -> Iterator[Response]:
        """Yield the rows of the run folder, with the scores beside which the judge's stand."""
        own = self.unparsed_of in {None, OWN_SCORES}
        names = [*KEY, *columns]
        batches = responses.stream(path, names) if own else scorer_files.stream_rows(path, names, str(self.unparsed_of))
        return responses.iterate_rows(batches)

    def build_benchmark(self) -> Benchmark:
        """Return the questions of the judge's run: one for each unit."""
        words = self.prompt.words
        return Benchmark(
            name=f"judge-{self.judge.name}",
            questions=[
                Question(
                    unit.id, unit.text, unit.target, alternatives=tuple(word for word in words if word != unit.target)
                )
                for unit in self.units.values()
            ],
            prompt=_PROMPT,
            extract=self.prompt.parse,
            grade=lambda verdict, _: self.score_verdicts([verdict])[verdict],
            # Completions may be added later; what decides about a verdict is the same.
            source={"kind": "judge", "template": self.judge.name, "sha256": self.version},
            unparsed_score=None,
        )

    def score_verdicts(self, verdicts: Iterable[str]) -> dict[str, float]:
        """Return the score of each possible verdict, and of these: ratings are divided by the highest one."""
        scale = self.judge.scale
        return self.judge.choices | ({} if scale is None else {each: float(each) / scale[1] for each in verdicts})

    def build_experiment(self, budget: BudgetConfig) -> Experiment:
        """Return the experiment that asks for the verdicts."""
        judge = self.judge
        return Experiment(
            benchmark="judge",
            models=(judge.model,),
            variants=(PromptLine(),),
            budget=judge.budget or budget,
            seed=judge.seed,
            base=judge.base,
        )


def build_units(path: Path, judge: JudgeConfig, unparsed_of: str | None = None) -> JudgedRun:
    """Return what a judge is to be shown of a run folder; with `unparsed_of` only what that scorer could not read.

    Completions of requests that failed, and refusals and empty ones, which score 0 without a judge, are left out.

    Raises
    ------
    InputError
        When the folder has no completion with its prompt, or a pairwise judge has no two models to compare.
    """
    prompt = load_prompt(judge)
    texts = read_prompt_texts(path)
    is_simulated = judge.model.kind == "simulated"
    run = JudgedRun(judge, prompt, {}, {}, unparsed_of=unparsed_of)
    if prompt.is_pairwise:
        if unparsed_of is not None:
            what = "a pairwise judge gives no score of one completion"
            raise InputError(what, where="--unparsed-by", remedy="name another template, such as correct")
        return _build_pairs(path, run, texts, is_simulated=is_simulated)
    for key, completion, target in _stream_completions(path, run):
        text, own_target = texts.get((key[0], key[2], key[3]), ("", ""))
        reference = target or own_target
        unit = _build_unit(run, text, reference, {"completion": completion}, is_simulated=is_simulated)
        run.units.setdefault(unit.id, unit)
        run.unit_of[key] = (unit.id,)
    if unparsed_of == OWN_SCORES and not any(row.answer is not None for row in run.stream(path, ["answer"])):
        remedy = "add --scorer, such as --scorer contains, whose unread answers the judge then reads"
        raise InputError("the folder does not keep what was read as answers", where=str(path), remedy=remedy)
    if not run.units:
        what, remedy = "no completion can be judged", "give a run folder, or logs that keep completions and questions"
        if unparsed_of is not None:
            what, remedy = f"no completion is unparsed by {unparsed_of}", "nothing is left to judge: its scores stand"
        raise InputError(what, where=str(path), remedy=remedy)
    return run


def read_prompt_texts(path: Path) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the text of the last message and the target of each prompt, by benchmark, question and variant."""
    prompts = responses.read_prompts(path, ["benchmark", "question", "variant", "target", "messages"])
    return {
        (benchmark, question, variant): (_read_question(messages), target or "")
        for benchmark, question, variant, target, messages in zip(*prompts.to_pydict().values(), strict=True)
    }


def _stream_completions(path: Path, run: JudgedRun) -> Iterator[tuple[CompletionKey, str, str | None]]:
    """Yield key, completion without thoughts, and target of each row that a judge is to score, sorted by key."""
    for row in run.stream(path, ["score", "status", "answer", "completion", "target", "error"]):
        failed = row.status == "error" and not has_scoring_error(row.error)
        is_wanted = run.unparsed_of is None or (row.score == 0 and row.answer is None)
        text = split_thoughts(row.completion or "").text
        if is_wanted and not failed and row.status not in WITHOUT_ANSWER and text.strip():
            yield row.key, text, row.target


def _read_question(messages: str) -> str:
    """Return the text of the last message of a user in a stored prompt."""
    sent = json.loads(messages or "[]")
    texts = [str(one.get("content") or "") for one in sent if isinstance(one, dict) and one.get("role") == "user"]
    return texts[-1] if texts else ""


def _build_unit(
    run: JudgedRun, question: str, target: str, completions: Mapping[str, str], *, is_simulated: bool
) -> Unit:
    """Return the prompt of one completion, or of two."""
    text = run.prompt.write(question, read_target(target), **completions)
    code = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    words = run.prompt.words
    truth = words[0]
    if is_simulated:
        right = [_is_right(each, target) for each in completions.values()]
        scores = run.judge.choices
        value = right[0] if len(right) == 1 else 0.5 + (right[0] - right[1]) / 2
        truth = min(words, key=lambda word: (abs(scores[word] - value), words.index(word)))
    return Unit(code, text, truth)


_NORMALISED = build_scorer("normalised", "judge")


def _is_right(completion: str, target: str) -> float:
    """Return 1 if the answer in a completion is the target, as texts are compared; the truth of a simulated judge."""
    try:
        scored = _NORMALISED.score(completion, ScoringItem("", "", "", target))
    except ValueError:
        return 0.0
    return scored.score or float(completion.strip().casefold().endswith(target.strip().casefold()))


def read_target(target: str) -> str:
    """Return a stored target as a person reads it: accepted answers are joined by "or"."""
    try:
        content = json.loads(target)
    except ValueError:
        return target
    return " or ".join(map(str, content)) if isinstance(content, list) else target


def _build_pairs(
    path: Path, run: JudgedRun, texts: Mapping[tuple[str, str, str], tuple[str, str]], *, is_simulated: bool
) -> JudgedRun:
    """Return each pair of completions of two models to the same prompt and generation, in both orders."""
    by_model: dict[str, dict[tuple[str, str, str, int], tuple[str, str | None]]] = {}
    for (benchmark, model, question, variant, generation), completion, target in _stream_completions(path, run):
        by_model.setdefault(model, {})[benchmark, question, variant, generation] = completion, target
    names = run.judge.models or tuple(sorted(by_model))
    for name in run.judge.models or ():
        if name not in by_model:
            raise UnknownNameError("model", name, by_model, where="judge, models")
    if len(names) != 2:
        remedy = "name two of them: judge: {template: pairwise, models: [a, b], ...}"
        raise InputError(f"{len(names)} models, and a pairwise judge compares two", where=str(path), remedy=remedy)
    a, b = names
    run = replace(run, models=(a, b))
    for key in sorted(by_model[a].keys() & by_model[b].keys()):
        benchmark, question, variant, generation = key
        text, own_target = texts.get((benchmark, question, variant), ("", ""))
        (first, target), (second, _) = by_model[a][key], by_model[b][key]
        units = [
            _build_unit(run, text, target or own_target, {"first": one, "second": other}, is_simulated=is_simulated)
            for one, other in ((first, second), (second, first))
        ]
        for unit in units:
            run.units.setdefault(unit.id, unit)
        for model in (a, b):
            run.unit_of[benchmark, model, question, variant, generation] = tuple(unit.id for unit in units)
    if not run.units:
        remedy = "run both models on the same questions, with as many generations"
        raise InputError(f"no question has completions of both {a!r} and {b!r}", where=str(path), remedy=remedy)
    return run


def name_judge_folder(path: Path, run: JudgedRun) -> Path:
    """Return the folder of a judge's verdicts in a run folder."""
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in run.judge.name)[:40] or "judge"
    name = name if run.unparsed_of is None else f"unparsed-{name}"
    return path / FOLDER / f"{name}-{run.version}"


def find_judge_folders(path: Path) -> list[Path]:
    """Return the folders of verdicts in a run folder, the one that was written last first."""
    folders = [file.parent for file in (path / FOLDER).glob(f"*/{COMPLETIONS}")]
    return sorted(folders, key=lambda folder: -(folder / COMPLETIONS).stat().st_mtime)


def limit_budget(limits: BudgetConfig, spent_in: Path) -> BudgetConfig | None:
    """Return what is left of the limits after what a folder records as spent; None if nothing is left of one."""
    spent = load_spending(spent_in)
    calls = None if limits.calls is None else limits.calls - spent.calls
    tokens = None if limits.tokens is None else limits.tokens - spent.tokens
    cost = None if limits.cost is None else limits.cost - spent.cost / 1e12
    if any(rest is not None and rest <= 0 for rest in (calls, tokens, cost)):
        return None
    return BudgetConfig(calls=calls, tokens=tokens, minutes=limits.minutes, cost=cost)


class UnitVerdicts(NamedTuple):
    """The verdicts on one unit."""

    counts: dict[str, int]
    """How often each verdict was given."""
    n_unparsed: int
    n_failed: int


def read_verdict_counts(folder: Path) -> dict[str, UnitVerdicts]:
    """Return the verdicts in a judge's folder by unit."""
    verdicts: dict[str, UnitVerdicts] = {}
    for row in responses.iterate_rows(responses.stream(folder, [*KEY, "score", "status", "answer"])):
        counts, unparsed, failed = verdicts.get(row.question) or UnitVerdicts({}, 0, 0)
        if row.score is not None and row.answer is not None:
            counts[row.answer] = counts.get(row.answer, 0) + 1
        elif row.status == "error":
            failed += 1
        else:
            unparsed += 1
        verdicts[row.question] = UnitVerdicts(counts, unparsed, failed)
    return verdicts


class JudgedScores(NamedTuple):
    """What a judge's verdicts amount to."""

    n_completions: int
    n_scored: int
    n_unparsed: int
    """Verdicts that could not be read."""
    n_failed: int
    """Verdicts whose request failed."""
    n_read: int
    """Verdicts that could be read."""


def write_judged_scores(path: Path, run: JudgedRun, *, is_default: bool) -> JudgedScores:
    """Write the mean score of the verdicts of each completion beside the rows of the run; return their numbers.

    Parameters
    ----------
    path
        The run folder.
    run
        What was judged.
    is_default
        Whether these scores become those of the run, which every command reads.
    """
    folder = name_judge_folder(path, run)
    verdicts = read_verdict_counts(folder)
    if run.unparsed_of is None:  # what judges all completions can be calibrated
        _write_completions(folder, run, {word for one in verdicts.values() for word in one.counts})
    scored = 0

    def rows() -> Iterator[RescoredRow]:
        nonlocal scored
        for row in run.stream(path, ["score", "status", "completion", "answer", "rule", "error", "created"]):
            judged = _score_row(run, row, verdicts)
            is_scored = row.key in run.unit_of and judged.score is not None
            scored += is_scored
            # What the judge cannot read either stays unparsed.
            yield judged if is_scored or run.unparsed_of is None else RescoredRow.copy(row)

    scorer_files.write_scores(path, run.scorer, run.column.removeprefix(f"{run.scorer}@"), rows())
    if is_default:
        current = manifest.load(path)
        msgspec.structs.replace(current, scorer=run.column).save(path)
    judged_units = [verdicts[unit] for unit in run.units if unit in verdicts]
    return JudgedScores(
        len(run.unit_of),
        scored,
        sum(one.n_unparsed for one in judged_units),
        sum(one.n_failed for one in judged_units),
        sum(sum(one.counts.values()) for one in judged_units),
    )


def _score_row(run: JudgedRun, row: Response, verdicts: Mapping[str, UnitVerdicts]) -> RescoredRow:
    """Return the score of one row: the mean of its verdicts, 0 for a refusal, none where no verdict is readable."""
    units = run.unit_of.get(row.key)
    if units is None and row.status in WITHOUT_ANSWER:
        return RescoredRow.of_response(row, 0.0, row.status)
    if units is None and row.completion and not split_thoughts(row.completion).is_finished:
        return RescoredRow.of_response(row, 0.0, "unfinished")
    if units is None and row.status == "error" and not has_scoring_error(row.error):
        return RescoredRow.of_response(row, None, "error", error=row.error)
    if units is None or any(unit not in verdicts for unit in units):
        return RescoredRow.of_response(row, None, UNSCORED)
    means = [mean_score(verdicts[unit].counts, run.score_verdicts(verdicts[unit].counts)) for unit in units]
    known_means = [mean for mean in means if mean is not None]
    if len(known_means) < len(means):
        n = sum(verdicts[unit].n_unparsed for unit in units)
        why = f"scoring: none of {n} verdicts could be read" if n else "scoring: the judge gave no verdict"
        return RescoredRow.of_response(row, None, "error", error=why)
    if len(units) == 1:
        score = known_means[0]
    else:
        score = (known_means[0] + 1 - known_means[1]) / 2  # both orders: the second shows model b first
        score = score if run.models is not None and row.model == run.models[0] else 1 - score
    counts: dict[str, int] = {}
    for unit in units[:1]:
        counts |= verdicts[unit].counts
    answer = max(counts, key=lambda word: counts[word])
    return RescoredRow.of_response(row, score, answer=answer, rule=run.scorer.rpartition("+")[2])


def mean_score(counts: Mapping[str, int], choices: Mapping[str, float]) -> float | None:
    """Return the mean score of verdicts; None without any."""
    n = sum(counts.values())
    return sum(choices[word] * count for word, count in counts.items()) / n if n else None


def _write_completions(folder: Path, run: JudgedRun, given: Iterable[str]) -> None:
    """Write which unit shows which completion, and the scores of the verdicts, those of ratings that were given."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = list(run.unit_of)
    columns: dict[str, pa.Array] = {
        name: pa.array([key[i] for key in keys], pa.int64() if name == "generation" else pa.string())
        for i, name in enumerate(KEY)
    }
    columns["units"] = pa.array([list(units) for units in run.unit_of.values()], pa.list_(pa.string()))
    about = {
        "judge": run.judge.model.label,
        "scorer": run.column,
        "choices": run.score_verdicts(sorted(given)),
        "models": run.models,
        "template": run.judge.name,
    }
    table = pa.table(columns).replace_schema_metadata({b"howsure.judge": json.dumps(about).encode()})
    with replace_file(folder / COMPLETIONS) as new:
        pq.write_table(table, new, compression="zstd")


class StoredJudge(msgspec.Struct, frozen=True):
    """What a judge's folder states about itself."""

    judge: str
    """Label of the model."""
    scorer: str
    choices: dict[str, float]
    template: str
    models: tuple[str, str] | None = None


def read_completions(folder: Path) -> tuple[StoredJudge, pa.Table]:
    """Return what a judge's folder states, and its table of completions: key and `units`.

    Raises
    ------
    StoreError
        When the file is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = folder / COMPLETIONS
    try:
        table = pq.read_table(file)
        about = msgspec.json.decode((table.schema.metadata or {})[b"howsure.judge"], type=StoredJudge)
    except (OSError, KeyError, pa.ArrowInvalid, msgspec.DecodeError) as error:
        raise StoreError(f"{file}: damaged ({error}); judge the run again to write it anew") from error
    return about, table


class JudgeFolder(NamedTuple):
    """The folder of a judge in a run folder, and what it states."""

    folder: Path
    judge: StoredJudge


def find_judge(path: Path, scorer: str) -> JudgeFolder:
    """Return the judge of a scorer: NAME@VERSION, or NAME for the one that judged last.

    Raises
    ------
    UnknownNameError
        When no judge of this name has judged the run.
    """
    each = [JudgeFolder(folder, read_completions(folder)[0]) for folder in find_judge_folders(path)]
    for one in each:
        if scorer in {one.judge.scorer, split_name(one.judge.scorer)[0]}:
            return one
    raise UnknownNameError("judge", scorer, [one.judge.scorer for one in each], where=str(path))


def check_judge(judge: JudgeConfig, budget: BudgetConfig) -> None:
    """Raise InputError where a judge could not begin: its template, its key, or its price is missing."""
    prompt = load_prompt(judge)
    run = JudgedRun(judge, prompt, {}, {})
    check_prices(run.build_experiment(budget))
    kind, name = judge.model.kind, judge.model.name
    if kind == "simulated" and name not in ABILITIES:
        raise UnknownNameError("model", f"simulated/{name}", [f"simulated/{one}" for one in ABILITIES], where="judge")
    if (kind == "replay") != (judge.verdicts is not None):
        remedy = "write both: judge: {model: replay/LABEL, verdicts: RUN_FOLDER}, or neither"
        raise InputError("a recorded judge needs the verdicts that it repeats", where="judge", remedy=remedy)
    if kind not in {"simulated", "replay", "transformers"}:
        find_key(judge.model)


def judge_folder(
    path: Path,
    judge: JudgeConfig,
    budget: BudgetConfig,
    *,
    is_default: bool,
    unparsed_of: str | None = None,
    retry: bool = False,
    stream: TextIO | None = None,
    lines: TextIO | None = None,
    open_model: Callable[[ModelConfig, Benchmark], Model] | None = None,
) -> tuple[int, str]:
    """Ask a judge for the verdicts that a run folder lacks, write its scores, and return the exit code and the scorer.

    Parameters
    ----------
    path
        The run folder.
    judge
        The judge.
    budget
        Limits for verdicts, where the judge has none of its own.
    is_default
        Whether its scores become those of the run.
    unparsed_of
        Scorer whose unparsed completions alone are judged; all others keep its scores. `OWN_SCORES` means the scores
        that were written last, or those of the run.
    retry
        Ask again for verdicts that failed in earlier sessions: those of failed requests, and those that cannot be read.
    stream, lines, open_model
        As for `sample.run.run_experiment`.
    """
    if unparsed_of == OWN_SCORES:  # the newest scores by no judge, which other commands read too
        unparsed_of = next((name for name in scorer_files.list_scorers(path) if "judge:" not in name), OWN_SCORES)
    if unparsed_of not in {None, OWN_SCORES}:
        unparsed_of, _ = scorer_files.read_name_and_time(path, unparsed_of)
    run = build_units(path, judge, unparsed_of)
    folder = name_judge_folder(path, run)
    has_readable = responses.is_run(folder) and any(one.counts for one in read_verdict_counts(folder).values())
    if judge.model.kind == "replay" and open_model is None:
        recorded = RecordedJudge(judge, run)

        def open_model(_: ModelConfig, __: Benchmark) -> Model:
            return recorded

    opener = open_model or functools.partial(open_configured_model, seed=judge.seed)

    def open_checked_model(config: ModelConfig, benchmark: Benchmark) -> Model:
        model = cast("Model", opener(config, benchmark))
        # A batch is paid for as a whole before its first reply.
        return model if has_readable or isinstance(model, BatchClient) else CheckedJudge(model, run.prompt)

    code = run_experiment(
        run.build_experiment(budget),
        folder,
        retry=retry,
        stream=stream,
        lines=lines,
        benchmark=run.build_benchmark(),
        noun="verdicts",
        open_model=open_checked_model,
    )
    result = write_judged_scores(path, run, is_default=is_default)
    problems = []
    if result.n_unparsed:
        what = inflect_text(
            "[verdict could not be read; it is no score, and --retry failed asks for it|verdicts could not be read; "
            "they are no scores, and --retry failed asks for them] again",
            result.n_unparsed,
        )
        problems.append(f"{result.n_unparsed:,} {what}")
        if not result.n_read:
            code = code or _UNUSABLE
            problems.append(f"no verdict could be read: the last line is to be {_describe_forms(run.prompt)}")
    if missing := result.n_completions - result.n_scored:
        problems.append(f"{missing:,} of {result.n_completions:,} completions have no score by the judge")
    for problem in problems:
        print(f"howsure: judge {judge.model.label}: {problem}", file=stream or sys.stderr)
    return code, run.column


def _describe_forms(prompt: VerdictPrompt) -> str:
    """Return the lines that are read as a verdict.

    >>> _describe_forms(VerdictPrompt("", ("GOOD", "BAD")))
    "'Verdict: GOOD' or 'Verdict: BAD'"
    """
    return " or ".join(f"'{form}'" for form in prompt.forms)


class CheckedJudge:
    """A judge that is stopped, before the rest is paid for, when none of its first verdicts can be read.

    Raises
    ------
    FatalEndpointError
        When a verdict is requested, and none of the first `N_UNREADABLE` replies could be read.
    """

    def __init__(self, model: Model, prompt: VerdictPrompt) -> None:
        self._model, self._prompt = model, prompt
        self._n_unreadable: int | None = 0
        self._example = ""

    async def generate(self, request: Request) -> Reply:
        """Request verdicts, and see whether one of them can be read."""
        if self._n_unreadable is not None and self._n_unreadable >= N_UNREADABLE:
            raise FatalEndpointError(self._describe(), reason=UNREADABLE)
        reply = await self._model.generate(request)
        for text in [choice.text for choice in reply.choices if choice.text and choice.error is None]:
            if self._prompt.parse(split_thoughts(text).text) is not None:
                self._n_unreadable = None
            elif self._n_unreadable is not None:
                self._n_unreadable += 1
                self._example = self._example or text
        return reply

    def _describe(self) -> str:
        """Return what to do, with the end of a reply."""
        end = " ".join(self._example.split())[-_MOST_CHARACTERS:]
        return (
            f"none of the first {self._n_unreadable} verdicts can be read; one ends in {end!r}, and the last line is "
            f"to be {_describe_forms(self._prompt)}; change the template or max_tokens of the judge, then run again "
            "with --retry failed"
        )

    async def close(self) -> None:
        """Close the judge."""
        await self._model.close()


class RecordedJudge:
    """Repeat the verdicts of an earlier judge, drawn with replacement, to learn how other designs would have done.

    Verdict j on a unit is drawn by a hash of (seed, label, unit, j) from the replies that the recorded judge gave to
    the same prompt.

    Raises
    ------
    InputError
        When the folder has no verdicts of the judge, or none on some of the units.
    """

    def __init__(self, judge: JudgeConfig, run: JudgedRun) -> None:
        assert judge.verdicts is not None
        self.label, self.seed = judge.model.name, judge.seed
        place = judge.base / judge.verdicts
        self._replies: dict[str, list[str | None]] = {}
        for folder in find_judge_folders(place) or [place]:
            for row in responses.iterate_rows(responses.stream(folder, [*KEY, "status", "completion"])):
                if row.model in {self.label, judge.model.label} and row.status != "error":
                    self._replies.setdefault(row.question, []).append(row.completion)
        if missing := [unit for unit in run.units if unit not in self._replies]:
            what = f"{self.label} gave no verdict on {len(missing):,} of {len(run.units):,} completions"
            remedy = "judge the same completions with the same template first"
            raise InputError(what, where=str(place), remedy=remedy)

    async def generate(self, request: Request) -> Reply:
        """Draw the requested verdicts, each by its own hash."""
        replies = self._replies[request.question]
        choices = []
        for generation in request.generations:
            name = f"{self.seed}\0{self.label}\0{request.question}\0{generation}"
            place = int(uniform(hashlib.blake2b(name.encode(), digest_size=16).digest()) * len(replies))
            choices.append(Choice(replies[place], "stop"))
        return Reply(tuple(choices), model=f"replay/{self.label}", prompt_tokens=0, completion_tokens=0, seconds=0.0)

    async def close(self) -> None:
        """Do nothing: there are no connections."""
