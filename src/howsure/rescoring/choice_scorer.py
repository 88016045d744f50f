"""Define the scorer `choice`, which reads the choice that a completion gives."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Sequence

from howsure.benchmarks.question import TARGETS
from howsure.errors import InputError, UnknownNameError
from howsure.rescoring.run_context import PromptChoices, PromptIndex, RunContext
from howsure.scorers.multiple_choice import extract_choice, read_choice
from howsure.scorers.scorer_parts import ScoredAnswer, Scorer, ScoringItem, hash_code

_LETTERS = string.ascii_uppercase
#: Kind of target -> what a target of this kind is, for messages.
_KIND_TEXTS = {
    "label": "a label",
    "letter": "a letter",
    "index": "a place counted from 0",
    "number": "a place counted from 1",
    "text": "a text",
}


def build_choice_scorer(spec: str, context: RunContext) -> Scorer:
    """Return the scorer `choice` or `choice:KIND`, where KIND is a key of `benchmarks.question.TARGETS`.

    Raises
    ------
    UnknownNameError
        When there is no such kind of target.
    InputError
        When the targets of a benchmark can be read in several ways that disagree.
    """
    _, _, kind = spec.partition(":")
    if kind and kind not in TARGETS:
        raise UnknownNameError("kind of target", kind, TARGETS, where="--scorer")
    prompts = PromptIndex(context.run)
    kinds = _find_kinds(prompts, kind)

    def score(completion: str, item: ScoringItem) -> ScoredAnswer:
        choices = prompts.find_choices(item.benchmark, item.question, item.variant)
        if choices is None:
            answer, target = extract_choice(completion, context=item.context), _target_letter(kind, item.target)
            return ScoredAnswer(float(answer == target), answer, "letter" if answer is not None else "no letter")
        expected = _target_index(kinds[item.benchmark], item.target, choices)
        if expected is None:
            what = f"the target {item.target[:60]!r} is none of the choices"
            raise ValueError(f"{what} as {_KIND_TEXTS[kind]}" if kind else what)
        texts = choices.texts or ("",) * len(choices.labels)
        expects_label = bool(choices.record.get("labels_asked", True))
        place, rule = read_choice(completion, choices.labels, texts, expects_label=expects_label, context=item.context)
        if place is None:
            return ScoredAnswer(0.0, None, rule)
        original = choices.order[place]
        return ScoredAnswer(float(original == expected), _LETTERS[original], rule)

    return Scorer(spec, hash_code("scorers.multiple_choice", "scorers.choice_labels", "rescoring.choice_scorer"), score)


def _target_index(kind: str, target: str, choices: PromptChoices) -> int | None:
    """Return the original index of the choice that a target names."""
    n = len(choices.labels)
    texts = [""] * n
    for place, original in enumerate(choices.order):
        texts[original] = choices.texts[place] if choices.texts else f"\0{original}"
    labels = choices.labels if choices.order == tuple(range(n)) else ()
    return TARGETS[kind](target.strip(), labels, texts)


def _target_letter(kind: str, target: str) -> str:
    """Return the letter of the choice that a target names where no choices are stored."""
    if kind in ("index", "number"):
        index = TARGETS[kind](target.strip(), (), _LETTERS)
        letter = None if index is None else _LETTERS[index]
    else:
        letter = extract_choice(target) if kind in ("", "letter") else None
    if letter is None:
        what = f"no choices are stored, and the target {target[:60]!r} is not {_KIND_TEXTS.get(kind, 'a letter')}"
        if kind in ("label", "text"):
            what = f"no choices are stored, of which the target {target[:60]!r} could be {_KIND_TEXTS[kind]}"
        elif not kind and target.strip().isdecimal():
            what += "; choice:number reads a place counted from 1, choice:index from 0"
        raise ValueError(what)
    return letter


def _find_kinds(prompts: PromptIndex, kind: str) -> dict[str, str]:
    """Return the kind of the targets of each benchmark: the given one, or the one that fits most of its targets."""
    targets: defaultdict[str, list[tuple[str, PromptChoices]]] = defaultdict(list)
    for (benchmark, question, variant), target in prompts:
        choices = prompts.find_choices(benchmark, question, variant)
        if choices is not None:
            targets[benchmark].append((target or "", choices))
    return {benchmark: kind or _best_kind(rows, benchmark) for benchmark, rows in targets.items()}


def _best_kind(rows: Sequence[tuple[str, PromptChoices]], benchmark: str) -> str:
    """Return the kind that fits most targets of a benchmark."""
    indices = {kind: [_target_index(kind, target, choices) for target, choices in rows] for kind in TARGETS}
    fits = {kind: sum(index is not None for index in of_kind) for kind, of_kind in indices.items()}
    best = [kind for kind in indices if fits[kind] == max(fits.values())]
    if any(indices[kind] != indices[best[0]] for kind in best):
        what = "the targets can be read in several ways: " + ", ".join(best)
        ways = " or ".join(f"choice:{name} ({_KIND_TEXTS[name]})" for name in best)
        raise InputError(what, where=benchmark, remedy=f"say which: --scorer {ways}")
    return best[0]
