"""Error bars for evaluations of language models.

Functions take what `read` returns, or paths of run folders, logs and tables, or frames; results have a part for each
benchmark.

=====================================  ================================================================================
`read`                                 results of run folders, logs of other programs, tables and frames
`score`, `compare`, `pairs`, `rank`    scores of models, differences and ranks, with their errors
`winner`                               the best of many, scored for fresh questions without the luck of the pick
`battles`                              ranks of models by preferences between two of them (Bradley-Terry)
`slices`                               the questions on which two models differ by another amount
`combine`, `repeats`                   several benchmarks in one test; prediction of future runs
`attempts`, `greedy`                   pass@k, pass^k and majority@k; greedy decoding beside sampling
`curve`, `providers`                   checkpoints of a training run; one model at two providers
`determinism`, `run_widths`            whether completions repeat; the prediction interval after 2, 3, ... runs
`questions`, `beta_fits`               how hard each question is, and P(correct) of each model; its distribution
`variants`                             what the wording of the prompt does to a score, and to an order of models
`plan`                                 how many questions, variants and generations are needed
`noise`                                standard errors on published benchmarks, without a pilot
`judge_noise`, `judge_errors`          how often a judge contradicts itself; whether it favours a model, or length
`gate`, `at_least`                     whether a candidate is worse than a baseline, for automatic checks and tests
`measure_false_alarms`                 how often a gate fails a baseline against itself
`cost_scores`                          scores beside the cost of a generation; who is better for less
`audit`, `data_map`                    questions whose label may be wrong; GEN's map of each model
`answer_sets`                          answers that mean the same, by entailment, embeddings or a judge
`show`                                 single generations: completion, target, what was read, by which rule
`explain_columns`                      what a column of a table or a term means: unit, formula, page of the docs
`init`, `doctor`                       write an experiment file; check whether an experiment can run
`run`, `report`, `rescore`, `convert`  run an experiment, write a report, score completions again, convert logs
`figures`, `prompts`                   single figures; prompt variants of a question
=====================================  ================================================================================

Examples
--------
>>> import howsure as hs
>>> cells = hs.Cells.from_scores("demo", ["a", "b"], ["q1", "q2"], [[[1, 1], [1, 0]], [[0, 1], [0, 0]]])
>>> hs.compare(cells, "a", "b")["difference"].tolist()
[0.5]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from howsure import figures as figures
    from howsure import prompts as prompts
    from howsure.api.battle_ranking import battles as battles
    from howsure.api.experiment_setup import doctor as doctor
    from howsure.api.experiment_setup import init as init
    from howsure.api.file_preview import preview as preview
    from howsure.api.generation_list import show as show
    from howsure.api.judged_results import judge_errors as judge_errors
    from howsure.api.judged_results import judge_noise as judge_noise
    from howsure.api.model_scores import combine as combine
    from howsure.api.model_scores import compare as compare
    from howsure.api.model_scores import pairs as pairs
    from howsure.api.model_scores import rank as rank
    from howsure.api.model_scores import repeats as repeats
    from howsure.api.model_scores import score as score
    from howsure.api.picked_winners import winner as winner
    from howsure.api.prompt_studies import variants as variants
    from howsure.api.question_audit import answer_sets as answer_sets
    from howsure.api.question_audit import audit as audit
    from howsure.api.question_audit import data_map as data_map
    from howsure.api.question_slices import slices as slices
    from howsure.api.question_studies import attempts as attempts
    from howsure.api.question_studies import beta_fits as beta_fits
    from howsure.api.question_studies import questions as questions
    from howsure.api.regression_gate import at_least as at_least
    from howsure.api.regression_gate import gate as gate
    from howsure.api.regression_gate import measure_false_alarms as measure_false_alarms
    from howsure.api.report_facts import cost_scores as cost_scores
    from howsure.api.run_comparisons import curve as curve
    from howsure.api.run_comparisons import determinism as determinism
    from howsure.api.run_comparisons import greedy as greedy
    from howsure.api.run_comparisons import providers as providers
    from howsure.api.run_comparisons import run_widths as run_widths
    from howsure.api.run_folders import convert as convert
    from howsure.api.run_folders import report as report
    from howsure.api.run_folders import rescore as rescore
    from howsure.api.run_folders import run as run
    from howsure.api.study_plans import noise as noise
    from howsure.api.study_plans import plan as plan
    from howsure.errors import EndpointError as EndpointError
    from howsure.errors import HowsureError as HowsureError
    from howsure.errors import HowsureWarning as HowsureWarning
    from howsure.errors import InputError as InputError
    from howsure.errors import StoreError as StoreError
    from howsure.errors import UnknownNameError as UnknownNameError
    from howsure.reporting.glossary import explain_columns as explain_columns
    from howsure.results.evaluations import Evaluations as Evaluations
    from howsure.results.evaluations import read as read
    from howsure.stats.core.cells import Cells as Cells
    from howsure.stats.core.cube import Cube as Cube
    from howsure.stats.planning import Cost as Cost

__version__: str

# The module of each public name, imported when it is first used; a test compares the table with the imports above.
_MODULE_OF = {
    "Cells": "howsure.stats.core.cells",
    "Cost": "howsure.stats.planning",
    "Cube": "howsure.stats.core.cube",
    "EndpointError": "howsure.errors",
    "Evaluations": "howsure.results.evaluations",
    "HowsureError": "howsure.errors",
    "HowsureWarning": "howsure.errors",
    "InputError": "howsure.errors",
    "StoreError": "howsure.errors",
    "UnknownNameError": "howsure.errors",
    "answer_sets": "howsure.api.question_audit",
    "at_least": "howsure.api.regression_gate",
    "attempts": "howsure.api.question_studies",
    "audit": "howsure.api.question_audit",
    "battles": "howsure.api.battle_ranking",
    "beta_fits": "howsure.api.question_studies",
    "combine": "howsure.api.model_scores",
    "compare": "howsure.api.model_scores",
    "convert": "howsure.api.run_folders",
    "cost_scores": "howsure.api.report_facts",
    "curve": "howsure.api.run_comparisons",
    "data_map": "howsure.api.question_audit",
    "determinism": "howsure.api.run_comparisons",
    "doctor": "howsure.api.experiment_setup",
    "explain_columns": "howsure.reporting.glossary",
    "figures": "howsure.figures",
    "gate": "howsure.api.regression_gate",
    "greedy": "howsure.api.run_comparisons",
    "init": "howsure.api.experiment_setup",
    "judge_errors": "howsure.api.judged_results",
    "judge_noise": "howsure.api.judged_results",
    "measure_false_alarms": "howsure.api.regression_gate",
    "noise": "howsure.api.study_plans",
    "pairs": "howsure.api.model_scores",
    "plan": "howsure.api.study_plans",
    "preview": "howsure.api.file_preview",
    "prompts": "howsure.prompts",
    "providers": "howsure.api.run_comparisons",
    "questions": "howsure.api.question_studies",
    "rank": "howsure.api.model_scores",
    "read": "howsure.results.evaluations",
    "repeats": "howsure.api.model_scores",
    "report": "howsure.api.run_folders",
    "rescore": "howsure.api.run_folders",
    "run": "howsure.api.run_folders",
    "run_widths": "howsure.api.run_comparisons",
    "score": "howsure.api.model_scores",
    "show": "howsure.api.generation_list",
    "slices": "howsure.api.question_slices",
    "variants": "howsure.api.prompt_studies",
    "winner": "howsure.api.picked_winners",
}

#: Functions that were removed, and what does their work.
_REMOVED = {"frontier": "plan(budget=...) for each budget", "draw_questions": "the key limit of an experiment"}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name == "__version__":  # pyproject.toml says it, and the metadata of the installed package repeats it
        return import_module("importlib.metadata").version("howsure")
    if name in _REMOVED:
        raise AttributeError(f"howsure.{name} was removed: {_REMOVED[name]} does it")
    if name not in _MODULE_OF:
        near = import_module("difflib").get_close_matches(name, _MODULE_OF, n=1, cutoff=0.7)
        hint = f"; did you mean howsure.{near[0]}?" if near else ""
        raise AttributeError(f"module 'howsure' has no attribute {name!r}{hint}")
    try:
        module = import_module(_MODULE_OF[name])
    except ModuleNotFoundError as error:  # help and dir skip attributes that do not exist
        what = f"howsure.{name} needs {error.name}; install it, or pip install 'howsure[report]'"
        raise AttributeError(what) from error
    value = module if module.__name__ == f"howsure.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
