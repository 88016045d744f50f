"""Read and check an experiment file: which models, questions, prompt variants and generations are sampled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from howsure.benchmarks import is_inspect_task
from howsure.benchmarks.question import Prompt
from howsure.benchmarks.question_file import complete_file_spec
from howsure.errors import InputError, UnknownNameError
from howsure.prompts.variants import VARIANT_KEYS
from howsure.sample.judge_config import BudgetConfig, JudgeConfig, JudgeLine, parse_judge
from howsure.sample.model_config import (
    Count,
    ModelConfig,
    ModelLine,
    expand_model_line,
    find_multipliers,
)
from howsure.sample.yaml_source import YamlSource
from howsure.stats.core.claims import MeanClaim, StoppingRule

#: Why a run ended: the interval is narrow enough; the interval excludes 0; no number of rounds could make it narrow
#: enough; all rounds are done; the other model of the pair was given up, so this one sampled all its rounds.
StoppingReason = Literal["narrow", "different", "unreachable", "all", "alone"]


#: Form in which a prompt demands the answer: a last line "Answer: X", a JSON object, or none.
AnswerForm = Literal["line", "json", "none"]
#: Scorers of a whole text, or with a form of their own.
_READ_NO_FORM = frozenset({"exact", "regex", "regex-first", "ifeval", "unit-tests", "python", "judge"})


#: A width of an interval, or a difference.
Width = Annotated[float, msgspec.Meta(gt=0, le=1e300)]


class PromptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt that the experiment writes out; a part that is None is taken from the benchmark's own prompt.

    Examples
    --------
    >>> prompt = PromptLine(system="Be brief.").prompt(Prompt(template="{question} Answer:"))
    >>> prompt.system, prompt.template
    ('Be brief.', '{question} Answer:')
    """

    system: str | None = None
    template: str | None = None

    def prompt(self, own: Prompt) -> Prompt:
        """Return the complete prompt, with missing parts taken from the benchmark's own prompt."""
        return Prompt(
            system=own.system if self.system is None else self.system,
            template=own.template if self.template is None else self.template,
            demonstrations=own.demonstrations,
        )


class StoppingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rule that says when a run is precise enough; the user gives either `width` or `detect`.

    Raises
    ------
    InputError
        When a value or a combination of values is not allowed.

    Examples
    --------
    >>> StoppingConfig(width=0.02).target, round(StoppingConfig(detect=0.01).target, 4)
    (0.02, 0.014)
    """

    width: Width | None = None
    """Width of each model's interval, high - low."""
    detect: Width | None = None
    """Smallest true difference of a pair of models that the run must detect with probability `power`."""
    level: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.95
    claim: MeanClaim = "these-questions"
    rule: StoppingRule | None = None
    """By default pooled for `width`, sequence for `detect`."""
    models: tuple[str, str] | None = None
    """The pair of models for `detect`; required unless there are exactly two models."""
    power: Annotated[float, msgspec.Meta(ge=0.5, lt=1)] = 0.8
    borrow: str | None = None
    """Path of results of other models on all questions; the run samples some of the questions (`limit`)."""

    def __post_init__(self) -> None:
        if (self.width is None) == (self.detect is None):
            self._fail("give either width or detect", "until: {width: 0.02} or until: {detect: 0.01}")
        if self.rule is None:  # a stop where 0 is excluded depends on the difference, and takes a sequence
            msgspec.structs.force_setattr(self, "rule", "pooled" if self.detect is None else "sequence")
        if self.rule not in {"sequence", "pooled"}:
            for what, is_given in (("claim 'new-questions'", self.claim == "new-questions"), ("borrow", self.borrow)):
                if is_given:
                    self._fail(f"rule {self.rule!r} cannot {what}", "use the rule sequence or pooled")
        if self.models is not None and self.detect is None:
            self._fail("models without detect", "name a pair for detect only; width applies to each model")
        if self.models is not None and self.models[0] == self.models[1]:
            self._fail(f"models is {self.models[0]!r} twice", "name two models")

    def _fail(self, what: str, remedy: str) -> None:
        raise InputError(what, where="until", remedy=remedy)

    def find_pair(self, generations: Mapping[str, int]) -> tuple[str, str] | None:
        """Return the pair of models for `detect`, or None for `width`; raise InputError if the pair must be named.

        Parameters
        ----------
        generations
            Generations of each model, by label. If other models have several generations, a greedy model, which has
            one, is not chosen unless it is named.
        """
        if self.detect is None:
            return None
        if self.models is None:
            labels = [label for label, most in generations.items() if most > 1] or list(generations)
            if len(labels) != 2:
                self._fail(f"detect with {len(labels)} models", "name the pair: until: {detect: ..., models: [a, b]}")
            return labels[0], labels[1]
        for label in self.models:
            if label not in generations:
                raise UnknownNameError("model", label, generations, where="until")
        return self.models

    def check_adaptive(self) -> None:
        """Raise InputError if the rule cannot be used with adaptive allocation."""
        if self.rule not in {"sequence", "pooled"}:
            self._fail(
                f"rule {self.rule!r} needs rounds in which all questions are sampled, and adaptive allocation has none",
                "use the rule sequence or pooled",
            )

    @property
    def target(self) -> float:
        """The width at which the interval is narrow enough.

        A two-sided test detects D with this power if its standard error is at most D / (z_{(1+level)/2} + z_power),
        as for `detectable` of a comparison. So the half-width z_{(1+level)/2} SE must be at most
        D z_{(1+level)/2} / (z_{(1+level)/2} + z_power). Other rules have a wider interval for the same error, so that
        the power is larger.
        """
        if self.detect is None:
            assert self.width is not None
            return self.width
        from scipy import special

        z = float(special.ndtri((1 + self.level) / 2))
        return 2 * self.detect * z / (z + float(special.ndtri(self.power)))


class BenchmarkConfig(msgspec.Struct, frozen=True):
    """One of several benchmarks of an experiment, with what the experiment samples of it.

    Examples
    --------
    >>> experiment = parse_experiment("{benchmark: [directions, {name: population, limit: 9}], models: [simulated/m]}")
    >>> experiment.more[0].limit, experiment.more[0].benchmark
    (9, {'name': 'population'})
    """

    benchmark: str | dict[str, object]
    models: tuple[ModelConfig, ...]
    variants: tuple[PromptLine, ...] | dict[str, object] = (PromptLine(),)
    limit: int | None = None
    label: str | None = None
    """Name of the benchmark in the run folder and in tables; None for its own name."""


class Experiment(msgspec.Struct, frozen=True):
    """What a run samples: each question of its benchmarks, with each variant and model, several times.

    `benchmark`, `models`, `variants`, `limit` and `label` are those of the first benchmark; `parts` has an experiment
    for each.

    Examples
    --------
    >>> experiment = parse_experiment("{benchmark: directions, models: [simulated/medium], budget: {calls: 100}}")
    >>> experiment.budget.calls, experiment.models[0].generations
    (100, 5)
    """

    benchmark: str | dict[str, object]
    models: tuple[ModelConfig, ...]
    """All models: one for each combination of settings, and the greedy ones."""
    variants: tuple[PromptLine, ...] | dict[str, object] = (PromptLine(),)
    """Prompts that are written out, or the prompt space from which `prompts.draw_variants` draws them."""
    limit: int | None = None
    """Number of questions in the seeded sample; if the limit is raised later, the same questions stay in the sample."""
    label: str | None = None
    """Name of the benchmark in the run folder and in tables; None for its own name."""
    more: tuple[BenchmarkConfig, ...] = ()
    """The further benchmarks."""
    stopping: StoppingConfig | None = None
    """Rule that stops the run before all generations are sampled; it is the key `until` of the file."""
    allocate: Literal["even", "adaptive"] = "even"
    """Whether generations are allocated evenly or adaptively."""
    budget: BudgetConfig = BudgetConfig()
    seed: int = 0
    judge: JudgeConfig | None = None
    """Model that scores the completions, in place of the scorer of the benchmark."""
    answer_form: AnswerForm | None = None
    """Form that is demanded of answers to questions of a file; None is a line, and with a judge no form."""
    shard: tuple[int, int] = (1, 1)
    """(i, n) selects the i-th of n parts of the questions."""
    base: Path = Path()
    """Folder to which paths in the file are relative."""

    @property
    def parts(self) -> tuple[Experiment, ...]:
        """An experiment for each benchmark, equal to this one in all that the benchmarks share."""
        first = msgspec.structs.replace(self, more=())
        return (first, *(msgspec.structs.replace(first, **msgspec.structs.asdict(config)) for config in self.more))


class _OwnKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of one benchmark that are the experiment's and none of the benchmark's options."""

    label: str | None = None
    generations: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] | None = None
    limit: Count | None = None
    variants: list[PromptLine] | dict[str, object] | None = None


class _ExperimentFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    benchmark: str | dict[str, object] | list[str | dict[str, object]]
    models: list[str | ModelLine]
    generations: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 5
    greedy: bool = False
    variants: list[PromptLine] | dict[str, object] | None = None
    limit: Count | None = None
    stopping: StoppingConfig | None = msgspec.field(default=None, name="until")
    allocate: Literal["even", "adaptive"] = "even"
    budget: BudgetConfig = BudgetConfig()
    judge: JudgeLine | None = None
    answer_form: AnswerForm | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64


#: Largest number of bytes of an experiment file.
LARGEST_FILE = 16 << 20
#: Endings of files that are no experiment, and may be results or questions.
_OTHER_SUFFIXES = frozenset({".csv", ".tsv", ".jsonl", ".ndjson"})


def load_experiment(path: Path | str) -> Experiment:
    """Read an experiment file.

    Raises
    ------
    InputError
        When it cannot be read, is not YAML, or names something that does not exist. The message names the line.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)  # a device has no end
        if len(content) > LARGEST_FILE:
            raise InputError(f"longer than {LARGEST_FILE:,} bytes", where=str(path), remedy="is it an experiment?")
        text = content.decode()
    except UnicodeDecodeError:
        raise _build_reading_error(path, "it is not UTF-8 text") from None
    except OSError as e:
        raise _build_reading_error(path, e.strerror or str(e)) from None
    except ValueError:
        raise _build_reading_error(path, "the name contains a character that no file name has") from None
    try:
        return parse_experiment(text, where=str(path), base=path.parent)
    except InputError as error:
        if path.suffix.lower() not in _OTHER_SUFFIXES:
            raise
        what = f"a {path.suffix} file, and no experiment, which is a YAML file"
        remedy = "howsure init writes one, and asks a file of questions with --benchmark FILE"
        raise InputError(
            what, where=str(path), remedy=f"{remedy}; howsure preview says what a file of results is"
        ) from error


def _build_reading_error(path: Path, why: str) -> InputError:
    """Return the error of an experiment that cannot be read."""
    return InputError(f"cannot read the experiment: {why}", where=str(path), remedy="give a YAML file")


def parse_experiment(text: str, *, where: str = "experiment", base: Path = Path()) -> Experiment:
    """Parse an experiment from YAML text; `where` names it in errors.

    >>> parse_experiment("{benchmark: directions, models: [simulated/medium]}").models[0].label
    'simulated/medium'
    """
    source = YamlSource(text, where)
    with _add_line(source):
        file = source.read(_ExperimentFile)
    if not file.models:
        source.fail("no models", "models", remedy="list at least one, such as simulated/medium")
    first, *more = _read_benchmarks(file, source, base)
    if file.answer_form in {"line", "json"} and not any(map(takes_answer_form, (first, *more))):
        what = "no benchmark takes a form of the answer: their prompts demand their own, or their scorers read no form"
        remedy = "remove it; it is for the questions of a file without template, shots and drawn prompts"
        source.fail(what, "answer_form", remedy=remedy)
    for config in (first, *more):
        _check_stopping(file, config.models, source)
        _check_budget(file, config.models, source)
    return Experiment(
        benchmark=first.benchmark,
        models=first.models,
        variants=first.variants,
        limit=first.limit,
        label=first.label,
        more=tuple(more),
        stopping=file.stopping,
        allocate=file.allocate,
        budget=file.budget,
        judge=_read_judge(file, source, base),
        answer_form=file.answer_form,
        seed=file.seed,
        base=base,
    )


def takes_answer_form(config: BenchmarkConfig | Experiment) -> bool:
    """Return whether a prompt of ours shows the questions of a file, whose scorer reads a demanded form."""
    spec = config.benchmark
    if not isinstance(spec, dict) or "file" not in spec or isinstance(config.variants, dict):
        return False
    scorer = str(spec.get("scorer") or spec.get("answer") or "normalised").partition(":")[0]
    return scorer not in _READ_NO_FORM and not {"template", "shots"} & spec.keys()


def _read_benchmarks(file: _ExperimentFile, source: YamlSource, base: Path) -> list[BenchmarkConfig]:
    """Return what is sampled of each benchmark: its own generations, limit and variants, or those of the file."""
    specs = file.benchmark if isinstance(file.benchmark, list) else [file.benchmark]
    if not specs:
        source.fail("no benchmarks", "benchmark", remedy="list at least one, such as directions-small")
    configs: list[BenchmarkConfig] = []
    for i, spec in enumerate(specs):
        at: tuple[str | int, ...] = ("benchmark", i) if isinstance(file.benchmark, list) else ("benchmark",)
        own, rest = _split_own_keys(spec, at, source)
        if isinstance(rest, dict) and "file" in rest:
            _check_file(rest, at, source, base)
        if (rest, own.label) in [(config.benchmark, config.label) for config in configs]:
            source.fail("the same benchmark twice", *at, remedy="remove one, or give it a label: {..., label: NAME}")
        configs.append(
            BenchmarkConfig(
                benchmark=rest,
                models=_expand_models(file, rest, own.generations or file.generations, source),
                variants=(
                    _read_variants(file.variants, ("variants",), source)
                    if own.variants is None
                    else _read_variants(own.variants, (*at, "variants"), source)
                ),
                limit=own.limit or file.limit,
                label=own.label,
            )
        )
    return configs


def _check_file(spec: dict[str, object], at: tuple[str | int, ...], source: YamlSource, base: Path) -> None:
    """Fail at the benchmark's place in the file if it names no field of the questions and none has a usual name."""
    try:
        complete_file_spec(spec, base)
    except UnknownNameError as error:
        raise UnknownNameError(error.kind, error.name, error.names, where=source.at(*at)) from None
    except InputError as error:
        source.fail(f"{error.where}: {error.what}", *at, remedy=error.remedy)


def _split_own_keys(
    spec: str | dict[str, object], at: tuple[str | int, ...], source: YamlSource
) -> tuple[_OwnKeys, str | dict[str, object]]:
    """Return the keys of a benchmark that are the experiment's, and what remains for the benchmark."""
    if isinstance(spec, str):
        return _OwnKeys(), spec
    names = _OwnKeys.__struct_fields__
    rest = {key: value for key, value in spec.items() if key not in names}
    own = source.convert({key: value for key, value in spec.items() if key in names}, _OwnKeys, *at)
    if own.label is not None and (not own.label.strip() or not own.label.isprintable()):
        source.fail("the label is not readable", *at, "label", remedy="write a name, such as mmlu-anatomy")
    return own, rest


def _expand_models(
    file: _ExperimentFile, benchmark: str | dict[str, object], generations: int, source: YamlSource
) -> tuple[ModelConfig, ...]:
    """Return the configurations of all models with this number of generations; greedy ones have one."""
    models: list[ModelConfig] = []
    for i, line in enumerate(file.models):
        configs = expand_model_line(
            line,
            i,
            source,
            generations=generations,
            concurrency=file.concurrency,
            greedy=file.greedy,
            any_provider=is_inspect_task(benchmark),
        )
        for config in configs:
            if any(config.label == other.label for other in models):
                remedy = "give each its own label: {model: ..., label: ...}"
                source.fail(f"two models are called {config.label!r}", "models", i, remedy=remedy)
            models.append(config)
    return tuple(models)


def _read_judge(file: _ExperimentFile, source: YamlSource, base: Path) -> JudgeConfig | None:
    """Return the judge, or None without one; raise InputError for what needs scores before the judge gives them."""
    if file.judge is None:
        return None
    for key, present in (("until", file.stopping is not None), ("allocate", file.allocate == "adaptive")):
        if present:
            what = f"{key} needs scores while completions are sampled, and a judge gives them afterwards"
            source.fail(what, key, remedy=f"remove {key!r}")
    judge = parse_judge(source, "judge", base=base)
    limits = judge.budget or file.budget
    if (limits.tokens is not None or limits.cost is not None) and judge.model.max_completion_tokens is None:
        what = "verdicts have no bound, so a budget of tokens or money cannot be enforced"
        source.fail(
            what, "judge", "model", remedy=f"give it max_tokens: {{model: {judge.model.name}, max_tokens: 512}}"
        )
    return judge


def _check_stopping(file: _ExperimentFile, models: Sequence[ModelConfig], source: YamlSource) -> None:
    """Raise InputError if the stopping rule does not fit the models, their mode or the allocation."""
    batched = [config.label for config in models if config.mode == "batch"]
    if batched and (file.stopping is not None or file.allocate == "adaptive"):
        key = "until" if file.stopping is not None else "allocate"
        remedy = f"remove {key!r}, or the mode of {batched[0]}"
        source.fail("answers of a batch arrive all at once, too late to decide when to stop", key, remedy=remedy)
    if file.stopping is not None:
        with _add_line(source):
            file.stopping.find_pair({config.label: config.generations for config in models})
            if file.allocate == "adaptive":
                file.stopping.check_adaptive()


def _read_variants(
    variants: list[PromptLine] | dict[str, object] | None, at: tuple[str | int, ...], source: YamlSource
) -> tuple[PromptLine, ...] | dict[str, object]:
    """Return the prompts that the file writes out, or its prompt space, which is checked later with the questions."""
    if variants is None:
        return (PromptLine(),)
    if not variants:
        source.fail("no variants", *at, remedy="leave the key out to use the benchmark's own prompt")
    if isinstance(variants, dict):
        for key in variants:
            if key not in VARIANT_KEYS:
                raise UnknownNameError("key", str(key), VARIANT_KEYS, where=source.at(*at, key))
        return variants
    for i, line in enumerate(variants):
        if line.template is not None and "{question}" not in line.template:
            remedy = "write {question} where the question goes"
            source.fail("the template has no place for the question", *at, i, "template", remedy=remedy)
        if line in variants[:i]:
            source.fail("the same variant twice", *at, i, remedy="remove one")
    return tuple(variants)


@contextmanager
def _add_line(source: YamlSource) -> Iterator[None]:
    """Add the line of the file to errors that concern the key `until`."""
    try:
        yield
    except InputError as error:
        if error.where != "until":
            raise
        source.fail(error.what, "until", remedy=error.remedy)


def _check_budget(file: _ExperimentFile, models: Sequence[ModelConfig], source: YamlSource) -> None:
    """Raise InputError if the budget counts tokens or money, but the completions of a model have no limit."""
    if file.budget.tokens is None and file.budget.cost is None:
        return
    for config in models:
        if config.max_completion_tokens is None:
            what = f"completions of {config.label} have no bound, so a budget of tokens or money cannot be enforced"
            source.fail(what, "budget", remedy="give the model max_tokens")
        for name in find_multipliers(config.settings):
            what = (
                f"{name} of {config.label} multiplies what a request costs, so a budget of tokens or money cannot hold"
            )
            source.fail(what, "budget", remedy=f"remove {name} from extra, or give the budget in calls")


class StoppingVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Why the sampling of one model, or a pair of models, ended; `str()` returns the sentence for the user."""

    models: tuple[str, ...]
    reason: StoppingReason
    n_rounds: int
    """Rounds that were requested."""
    generations: int
    """Rounds of the experiment."""
    width: float
    """The width that the interval had to reach."""
    score: float | None
    """Score, or difference of the pair; None where unknown."""
    half_width: float | None
    """Half the width of the interval; None where unknown."""
    least_width: float | None
    """Narrowest width that more generations could reach; above 0 for the claim about new questions."""
    needed: float | None
    """Rounds expected to be needed; None where unknown, or where no number of them suffices."""
    rule: str
    level: float
    claim: str
    n_questions: int = 0
    """Questions with scores."""
    borrowed_questions: int = 0
    """Number of questions of the reference, for which the score is estimated; 0 if `borrow` is not used."""
    is_adaptive: bool = False
    """Whether generations are allocated in stages, so that rounds mean the average generations per question."""

    @property
    def is_early(self) -> bool:
        """Whether the run stopped before all rounds were done."""
        return self.n_rounds < self.generations

    def __str__(self) -> str:
        who = " - ".join(self.models)
        claim = self.claim.replace("-", " ")
        if self.borrowed_questions:
            these = self.claim == "these-questions"
            claim = (
                f"{'all' if these else 'new questions like the'} {self.borrowed_questions:,} questions of the reference"
            )
        how = f"{self.rule}, {100 * self.level:g} %, {claim}"
        result = "no interval"
        if self.score is not None and self.half_width is not None:
            # The half-width is printed with two significant digits.
            digits = min(max(3, 1 - math.floor(math.log10(self.half_width))), 6) if self.half_width > 0 else 3
            result = f"{self.score:.{digits}f} ± {self.half_width:.{digits}f} ({how})"
        unit = "generations per question" if self.is_adaptive else "rounds"
        done = f"{self.n_rounds} of {self.generations} {unit}"
        if self.reason == "alone":
            return f"{who}: all {self.n_rounds} {unit}, as the other model of the pair was given up"
        if self.reason == "unreachable":
            return (
                f"{who}: stopped after {done}: {result}; more generations cannot make it narrower than "
                f"± {(self.least_width or 0) / 2:.3g}, more questions can: {self._describe_questions()}"
            )
        if self.reason == "all":
            likely = f" yet, about {self.needed:,.0f} {unit} would do it" if self.needed else " yet"
            if self.generations == 1:
                likely = ": one generation cannot measure the noise; request several"
            return f"{who}: all {self.n_rounds} {unit}: {result}; not within ± {self.width / 2:.3g}{likely}"
        # This stop depends on the score itself and not only on its variance, so an ordinary interval is too narrow.
        why = "; it excludes 0; an interval for one analysis, such as that of compare, would be too narrow here"
        if self.reason != "different":
            narrow = self.claim == "these-questions" and not self.borrowed_questions
            why = "; its claim is these-questions, and for new questions the interval is wider" if narrow else ""
        return f"{who}: stopped after {done}: {result}{why}"

    def _describe_questions(self) -> str:
        """Return how many questions are needed: the width from data noise falls with their square root."""
        least = math.floor(self.n_questions * ((self.least_width or 0) / self.width) ** 2) + 1
        return f"over {least:,} in place of {self.n_questions:,}"
