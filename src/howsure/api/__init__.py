"""The public functions: each asks one question of every benchmark that it is given.

=================  =====================================================================
model_scores       score, compare, pairs, rank, combine and repeats of models
study_plans        plan how many questions, prompt variants and generations are needed
prompt_variants    what the wording of the prompt does to a score
prompt_results     the printed table of results on prompt variants
question_audit     suspected label errors
question_studies   attempts at a question, and how hard each question is
run_comparisons    checkpoints of a training run, providers, greedy decoding
run_folders        run an experiment, report, convert logs, score stored completions again
report_facts       settings, tokens and costs for the header of a report
result_selection   results without the questions that reviewers rejected
choices            names that functions and commands accept, as `Literal` types
=================  =====================================================================

Users import them from `howsure` itself.
"""

import os

from howsure.stats.core.printed_width import set_printed_width


def read_printed_width() -> int | None:
    """Return the width that the variable COLUMNS states, 40 at least; None without it, which prints all columns."""
    value = os.environ.get("COLUMNS", "")
    return max(int(value), 40) if value.isdecimal() and value.isascii() and int(value) else None


set_printed_width(read_printed_width)
