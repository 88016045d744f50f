"""What every column of a table means, and every term of the report.

The columns are those of columns.toml, the only list of them; `howsure explain`, the glossary of the documentation and
the report read it. The terms are those of the table "Words" in CONTRIBUTING.md.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from howsure.errors import UnknownNameError
from howsure.notes import read_templates
from howsure.stats.core.results import Columns, Result, make_columns


class ColumnMeaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a column of a table means.

    Attributes
    ----------
    heading
        Its heading in the report.
    meaning
        A sentence or two.
    unit
        Unit or allowed values.
    page
        Page of the documentation that explains it, relative to docs/.
    formula
        Formula in plain text, '' where there is none.
    report
        Whether the report has the column.
    also
        What it means in commands where it means something else, by the command.

    Examples
    --------
    >>> read_columns()["se_prediction"].formula
    'sqrt(E / N), E = mean s2_q'
    """

    heading: str
    meaning: str
    unit: str
    page: str
    formula: str = ""
    report: bool = False
    also: dict[str, str] = {}


@cache
def read_columns() -> dict[str, ColumnMeaning]:
    """Return what each column means, by its name in alphabetical order."""
    text = Path(__file__).with_name("columns.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, ColumnMeaning])


def list_report_columns() -> dict[str, tuple[str, str]]:
    """Return the heading and the meaning of each column of the report's tables."""
    return {name: (column.heading, column.meaning) for name, column in read_columns().items() if column.report}


@dataclass(frozen=True)
class Explanations(Result):
    """What columns and terms mean.

    Attributes
    ----------
    names
        Names of the columns and terms.
    """

    names: tuple[str, ...]

    def columns(self) -> Columns:
        """Return one row per column: column, heading, meaning, unit, formula, page."""
        each = [_find_meaning(name) for name in self.names]
        fields = ("heading", "unit", "formula", "page")
        meanings = [" ".join([one.meaning, *(f"In {key}: {text}" for key, text in one.also.items())]) for one in each]
        described = {field: [getattr(one, field) for one in each] for field in fields}
        return make_columns(len(each), column=self.names, meaning=meanings, **described)

    def format_rows(self, width: int | None) -> str:
        """Return a paragraph for each column, in lines of at most `width` characters, and of 80."""
        return "\n\n".join(_format_meaning(name, _find_meaning(name), min(width or 80, 80)) for name in self.names)


def _find_meaning(name: str) -> ColumnMeaning:
    """Return what a column means, or what a term or the code of a note means, which have no unit and no page."""
    columns = read_columns()
    if name in columns:
        return columns[name]
    texts = TERMS | _read_values()
    meaning = texts[name] if name in texts else read_templates()[name].describe()
    return ColumnMeaning(heading=name, meaning=meaning, unit="", page="")


def _read_values() -> dict[str, str]:
    """Return what the values of the columns method and claim mean, as the meanings of these columns list them.

    >>> _read_values()["new-questions"]
    'Other questions like these, answered anew.'
    """
    texts = ". ".join(read_columns()[name].meaning for name in ("method", "claim"))
    parts = [part.partition(": ") for part in texts.replace(". ", "; ").rstrip(".").split("; ")]
    return {name: f"{text[0].upper()}{text[1:]}." for name, _, text in parts if text and " " not in name}


def _format_meaning(name: str, column: ColumnMeaning, width: int) -> str:
    """Return the meaning of a column in lines of at most `width` characters."""
    parts = [f"{name}: {column.meaning}", *(f"  in {command}: {text}" for command, text in column.also.items())]
    if column.unit:
        parts.append(f"  unit: {column.unit}")
    if column.formula:
        parts.append(f"  formula: {column.formula}")
    if column.page:
        parts.append(f"  more: docs/{column.page}")
    return "\n".join(line for part in parts for line in textwrap.wrap(part, width, subsequent_indent="    "))


def explain_columns(names: Sequence[str] | str = ()) -> Explanations:
    """Return what columns of tables mean, terms such as "data noise", and codes of notes.

    Parameters
    ----------
    names
        Names of columns, terms or codes, or one name; "notes" is all codes. Default: all columns, in alphabetical
        order.

    Returns
    -------
    Explanations
        A row for each name; printed, a paragraph for each.

    Raises
    ------
    UnknownNameError
        When no command prints a column of that name, and it is neither a term nor a code.

    Examples
    --------
    >>> print(explain_columns("n_broken"))
    n_broken: Questions that are shown to be answered worse than before.
      unit: count
      more: docs/gate.md
    """
    meanings = read_columns()
    chosen = (names,) if isinstance(names, str) else tuple(names)
    explained = [*meanings, *TERMS, *_read_values(), *read_templates()]
    chosen = tuple(one for name in chosen for one in (sorted(read_templates()) if name == "notes" else [name]))
    for name in chosen:
        if name not in explained:
            raise UnknownNameError("column", name, explained)
    return Explanations(chosen or tuple(meanings))


#: Words that the page uses in one meaning.
TERMS: dict[str, str] = {
    "generation": "One answer of a model to one question under one prompt.",
    "data noise": "The variance over questions: what other questions of the same kind would have given.",
    "prediction noise": "The variance over generations of the same question: what sampling again would have given.",
    "total noise": (
        "Their sum, for one generation per question. Prediction: mean over questions of the variance between "
        "generations. Data: variance over questions of the mean score, less what the few generations add to it."
    ),
    "confidence interval": "Low to high, at the stated level, for what the claim says; – where no error is known.",
    "distinguishable": "The adjusted p-value of the pair is below 1 − level. Its opposite does not mean equal.",
    "P(correct)": "The probability that a generation of a question is right; estimated by its mean score.",
    "prompt variant": "One wording of the prompt of the same questions; for short: prompt.",
    "spread over prompts": (
        "How scores differ between prompts: by the effect of the wording, because a prompt suits some questions more "
        "than others, by sampling, and where answers are parsed under one prompt and not under another."
    ),
    "unparsed": "A completion from which no answer was extracted. It scores 0, which may be the parser's fault.",
    "Holm": (
        "A correction of p-values for many tests: it keeps the chance of even one false difference below 1 − level."
    ),
    "pseudo-questions": (
        "Two invented questions that are added to a difference, one that only the first model gets right and one that "
        "only the second does: without them intervals of few questions are too narrow (Bonett and Price 2012)."
    ),
    "rank flip": "A prompt variant that orders two models otherwise than their means over all prompts do.",
    "n*": (
        "The smallest number of prompts whose mean (or variance) of the score is within ε of that over all prompts at "
        "hand with probability 1 − δ/2. For the space: the same with the infinite space in place of those at hand."
    ),
}

#: Labels of the curves that figures draw beside the data.
CURVES: dict[str, str] = {
    "Beta difficulty, shared": (
        "If P(correct) of a question follows a Beta(p, 1 − p) distribution, the same for both models, the standard "
        "error of a difference is the square root of p(1 − p)/N."
    ),
    "independent": "If the two models' scores were independent, it would be the square root of 2p(1 − p)/N.",
}
