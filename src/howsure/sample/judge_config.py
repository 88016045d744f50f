"""Read and check the key `judge` of an experiment: which model judges completions, by which template, how often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from howsure.errors import InputError
from howsure.sample.model_config import Count, ModelConfig, ModelLine, Rate, expand_model_line
from howsure.sample.yaml_source import YamlSource

#: Templates of judges that are built in.
JudgeTemplate = Literal["correct", "simpleqa", "pairwise"]
#: Verdicts of each built-in template, with their scores.
TEMPLATES: dict[str, dict[str, float]] = {
    "correct": {"CORRECT": 1.0, "INCORRECT": 0.0},
    "simpleqa": {"CORRECT": 1.0, "INCORRECT": 0.0, "NOT_ATTEMPTED": 0.0},
    "pairwise": {"FIRST": 1.0, "SECOND": 0.0, "TIE": 0.5},
}
#: Characters of a completion that a judge reads, by default.
LONGEST = 20_000
#: Largest number of bytes of a file that describes a judge.
LARGEST_FILE = 1 << 20


class BudgetConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on what a run may spend; None means no limit."""

    calls: Count | None = None
    """Requests."""
    tokens: Count | None = None
    """Tokens of prompts and completions."""
    minutes: Rate | None = None
    """Minutes of each session; the other limits are for the run folder as a whole."""
    cost: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    """Dollars."""


class JudgeLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that `judge` may have."""

    model: str | ModelLine
    template: str = "correct"
    repeats: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    choices: dict[str, float] | None = None
    scale: float | tuple[float, float] | None = None
    models: tuple[str, str] | None = None
    verdicts: str | None = None
    longest: Annotated[int, msgspec.Meta(ge=100, le=10_000_000)] = LONGEST
    budget: BudgetConfig | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0


class JudgeConfig(msgspec.Struct, frozen=True):
    """A judge: its model, its template, and what its verdicts are worth.

    Examples
    --------
    >>> judge = parse_judge(YamlSource("judge: {model: simulated/strong, repeats: 3}", "exp.yaml"), "judge")
    >>> judge.model.generations, judge.choices
    (3, {'CORRECT': 1.0, 'INCORRECT': 0.0})
    """

    model: ModelConfig
    """The model; its generations are the verdicts on each completion."""
    template: str
    """A built-in template, or the name of a file."""
    choices: dict[str, float]
    """Score of each verdict; of ratings those of both ends of the scale."""
    scale: tuple[float, float] | None = None
    """Lowest and highest rating of a template that asks for a number; the score is the rating by the highest one."""
    models: tuple[str, str] | None = None
    """The two models whose completions a pairwise judge compares; None where the run has only two."""
    verdicts: str | None = None
    """Run folder whose verdicts a recorded judge repeats."""
    longest: int = LONGEST
    """Largest number of characters of a completion that the judge reads."""
    budget: BudgetConfig | None = None
    """Limits for the judge alone; None leaves it what the budget of the run has left."""
    seed: int = 0
    base: Path = Path()
    """Folder to which the file of the template is relative."""

    @property
    def name(self) -> str:
        """The name of the template: that of a file without its suffix."""
        return self.template if self.template in TEMPLATES else Path(self.template).stem


def load_judge(path: Path) -> JudgeConfig:
    """Read a judge from a YAML file: the keys of `judge`, or an experiment with that key.

    Raises
    ------
    InputError
        When it cannot be read, or describes no judge. The message names the line.
    """
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"
        remedy = "give a YAML file with the keys of judge, such as model: simulated/strong"
        raise InputError(f"cannot read the judge: {why}", where=str(path), remedy=remedy) from None
    source = YamlSource(text, str(path))
    place = ("judge",) if isinstance(source.data, Mapping) and "judge" in source.data else ()
    return parse_judge(source, *place, base=path.parent)


def parse_judge(source: YamlSource, *place: str, base: Path = Path()) -> JudgeConfig:
    """Return the judge at a place of a YAML text; `base` is the folder to which its template is relative.

    Raises
    ------
    InputError
        When a key or a value is not allowed.
    """
    nested = source.find_part(*place)
    line = nested.read(JudgeLine)
    configs = list(
        expand_model_line(line.model, 0, nested, generations=line.repeats, concurrency=line.concurrency, greedy=False)
    )
    if len(configs) > 1:
        nested.fail("a judge with several settings", "model", remedy="give one temperature and one top_p")
    config = msgspec.structs.replace(configs[0], prompt_stops=False)
    if line.repeats > 1 and config.settings.temperature == 0:
        what = f"{line.repeats} verdicts at temperature 0 are mostly copies, which hide the judge's noise"
        nested.fail(what, "repeats", remedy="leave temperature out, or write repeats: 1")
    scale = None if line.scale is None else _check_scale(line, line.scale, nested)
    choices = _check_choices(line, nested) if scale is None else {f"{end:g}": end / scale[1] for end in scale[::-1]}
    if line.models is not None and (line.template != "pairwise" or line.models[0] == line.models[1]):
        nested.fail("models names no pair to compare", "models", remedy="name two models, for template: pairwise")
    return JudgeConfig(
        config,
        line.template,
        choices,
        scale,
        models=line.models,
        verdicts=line.verdicts,
        longest=line.longest,
        budget=line.budget,
        seed=line.seed,
        base=base,
    )


def _check_scale(line: JudgeLine, scale: float | tuple[float, float], source: YamlSource) -> tuple[float, float]:
    """Return the lowest and the highest rating."""
    low, high = scale if isinstance(scale, tuple) else (0.0, scale)
    if line.template in TEMPLATES or line.choices is not None:
        remedy = "name a file, template: FILE, that asks for a number, and leave choices out"
        source.fail("a scale is for a template of your own that asks for a number", "scale", remedy=remedy)
    if not 0 <= low < high < math.inf:
        source.fail(f"the scale is {scale!r}", "scale", remedy="give the highest rating, or both ends: [1, 10]")
    return low, high


def _check_choices(line: JudgeLine, source: YamlSource) -> dict[str, float]:
    """Return the verdicts with their scores."""
    own = TEMPLATES.get(line.template)
    if line.choices is None:
        if own is None:
            remedy = (
                "give each verdict its score: choices: {GOOD: 1, BAD: 0}, or the scale of ratings: scale: [1, 10]; "
            )
            remedy += f"built in are {', '.join(TEMPLATES)}"
            source.fail(f"the template {line.template!r} has no verdicts", "template", remedy=remedy)
        return own
    if own is not None and line.choices.keys() != own.keys():
        remedy = f"give scores to {', '.join(own)}, or write a template of your own"
        source.fail(f"the verdicts of {line.template} are others", "choices", remedy=remedy)
    for word, score in line.choices.items():
        if not word.replace("_", "").replace("-", "").isalnum() or not math.isfinite(score):
            remedy = "write one word and a number: NOT_ATTEMPTED: 0"
            source.fail(f"{word!r}: {score!r} is no verdict", "choices", remedy=remedy)
    if len({word.casefold() for word in line.choices}) < max(2, len(line.choices)):
        source.fail("fewer than two different verdicts", "choices", remedy="give at least two: {GOOD: 1, BAD: 0}")
    return line.choices
