"""Tables that fit a width: lines are measured, numbers and names are looked up in the text. Kind of truth: by hand."""

import re

import numpy as np
import pytest

import howsure as hs
from howsure.stats.core.cells import Cells
from howsure.stats.core.results import make_columns
from howsure.stats.core.text_table import elide_names, format_table, wrap_text

NAMES = ["openai/gpt-4o-mini-2024-07-18", "meta-llama/Llama-3.1-8B-Instruct", "qwen"]
HEADER = ["model", "score", "se", "low", "high", "se_total", "se_data", "se_prediction", "detectable", "df"]


def columns(names=NAMES, seed=0, note="one generation per question: data and prediction noise are unknown"):
    rng = np.random.default_rng(seed)
    n = len(names)
    numbers = {name: rng.uniform(0.1, 0.9, n) for name in HEADER[1:]}
    numbers["df"] = numbers["df"].round(4)
    return make_columns(n, benchmark="demo", model=list(names), **numbers, level=0.95, note=[note, "", ""][:n])


def header_of(text):
    return text.split("\n")[0].split()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_longer_and_no_number_is_cut(width):
    data = columns()
    text = format_table(data, width)
    assert max(map(len, text.split("\n"))) <= width
    rows = text.split("\n")[1:4]
    for i, row in enumerate(rows):
        printed = re.findall(r"0\.\d+", row.split("  ", 1)[1])
        assert printed == [f"{data[name][i]:.{4 if name == 'df' else 2}f}" for name in header_of(text)[1:]]
    left_out = set(HEADER) - set(header_of(text))
    assert all(name in text for name in left_out)


def test_names_that_do_not_fit_lose_the_words_that_all_have_and_no_part_of_the_others():
    """Each name is a mark and the end of the whole one, cut at the same word; without such words the middle goes."""
    names = [f"tutor-7b step={step}" for step in (500, 1000, 2000, 16000)]
    assert elide_names(names, 12) == [f"…{name.removeprefix('tutor-7b ')}" for name in names]
    assert elide_names(["lab/model-1", "lab/model-22"], 10) == ["…model-1", "…model-22"]
    assert elide_names(["alpha-model-of-a-lab-x", "beta-model-of-a-lab-y"], 9) == ["alph…ab-x", "beta…ab-y"]


def rows_of(**data):
    return [line.split() for line in format_table(data).split("\n")]


def test_errors_have_two_significant_digits_and_scores_the_decimals_of_their_errors():
    """By hand: errors of .0234 and .0178 have three decimals; so have the scores and their limits."""
    assert rows_of(
        model=["a", "b"], score=[0.61237, 0.6], se=[0.0234, 0.0178], low=[0.5653, 0.5643], high=[0.6596, -0.0004]
    ) == [
        ["model", "score", "se", "low", "high"],
        ["a", "0.612", "0.023", "0.565", "0.660"],
        ["b", "0.600", "0.018", "0.564", "0.000"],
    ]


def test_a_row_with_a_smaller_error_has_more_decimals():
    """By hand: the typical error of .02 has three decimals, one of .00031 its first digit in the fourth, its own in five."""
    table = rows_of(model=["a", "b", "c", "d"], score=[0.5, 0.4, 0.99912, 1.0], se=[0.02, 0.021, 0.00031, 0])
    assert table[1:] == [
        ["a", "0.500", "0.020"],
        ["b", "0.400", "0.021"],
        ["c", "0.9991", "0.00031"],
        ["d", "1.000", "0"],
    ]


def test_each_benchmark_has_the_decimals_of_its_own_errors():
    """By hand: errors of 31 and 2.4 points, .012 of accuracies."""
    assert rows_of(
        benchmark=["elo", "elo", "gsm8k"], model=["a", "b", "a"], score=[1031.27, 995.0, 0.71], se=[31.0, 2.4, 0.0119]
    )[1:] == [["elo", "a", "1031", "31"], ["elo", "b", "995", "2.4"], ["gsm8k", "a", "0.710", "0.012"]]


def test_without_standard_errors_the_interval_says_how_many_decimals_and_without_both_there_are_four():
    """By hand: an interval of .52 to .68 is four errors of .040 long."""
    assert rows_of(model=["a", "b"], score=[0.61237, 0.5], low=[0.52, 0.42], high=[0.68, 0.58])[1] == [
        *("a", "0.612", "0.520", "0.680"),
    ]
    assert rows_of(model=["a", "b"], score=[0.61237, 0.5])[1:] == [["a", "0.6124"], ["b", "0.5000"]]
    unknown = rows_of(model=["a", "b"], score=[0.61237, 0.5], se=[np.nan, np.nan], low=[np.nan] * 2, high=[np.nan] * 2)
    assert unknown[1] == ["a", "0.6124", "–", "–", "–"]


def test_an_error_below_a_millionth_is_written_with_an_exponent():
    assert rows_of(model=["a", "b"], score=[0.5, 0.25], se=[3.21e-8, 3.29e-8])[1:] == [
        ["a", "0.500000", "3.2e-08"],
        ["b", "0.250000", "3.3e-08"],
    ]


def test_an_infinite_error_is_printed_and_changes_no_other_row():
    table = rows_of(model=["a", "b"], score=[0.5, -0.0], se=[np.inf, 0.01], low=[-np.inf, 0.1], high=[np.inf, 0.2])
    assert table[1:] == [["a", "0.500", "inf", "-inf", "inf"], ["b", "0", "0.010", "0.100", "0.200"]]
    assert rows_of(model=["a", "b"], score=[0.5, 0.25], se=[np.inf, np.inf])[1] == ["a", "0.5000", "inf"]


def test_p_values_and_other_columns_keep_their_decimals():
    assert rows_of(model=["a", "b"], difference=[0.0512, 0.01], se=[0.02, 0.03], p_value=[0.0104, 0.00071])[1:] == [
        ["a", "0.051", "0.020", "0.010"],
        ["b", "0.010", "0.030", "<", ".001"],
    ]


def test_errors_that_only_round_to_the_same_stay_in_the_table():
    """The columns of a table do not depend on how far its numbers are rounded: .0541 and .0543 are two values."""
    header = rows_of(model=["a", "b"], score=[0.5, 0.6], se=[0.05, 0.05], se_total=[0.0541, 0.0543])[0]
    assert header == ["model", "score", "se", "se_total"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_columns_do_not_depend_on_the_values(width):
    others = columns([f"a-model-with-a-rather-long-name-{i}" for i in range(3)], seed=1)
    equal = columns() | {name: np.full(3, 0.5) for name in ("score", "se", "low", "high")}
    headers = [header_of(format_table(data, width)) for data in (columns(), others, equal)]
    assert headers[0] == headers[1] == headers[2]


def test_an_interval_has_both_ends_or_none():
    for width in range(40, 130):
        header = header_of(format_table(columns(), width))
        assert ("low" in header) == ("high" in header)


def test_both_ends_of_a_further_interval_or_none():
    """Of a curve: columns that are no main ones are selected one by one, and the second end may not fit."""
    scores = [[[1, 0], [1, 1], [0, 0]], [[1, 1], [1, 1], [0, 1]]]
    made = hs.curve(Cells.from_scores("demo", ["step 1", "step 2"], ["1", "2", "3"], scores)).columns()
    for width in range(40, 260):
        header = header_of(format_table(made, width))
        for name in ("", "_prediction", "_difference"):
            assert (f"low{name}" in header) == (f"high{name}" in header), width


def test_different_models_have_different_names_in_the_table():
    names = [f"checkpoint-{step:05d}-of-the-same-base-model" for step in (100, 200, 300)]
    rows = format_table(columns(names), 60).split("\n")[1:4]
    assert len({row.split()[0] for row in rows}) == 3


def test_one_row_is_wrapped_and_sentences_keep_their_words():
    text = format_table(columns(NAMES[:1]), 60)
    assert max(map(len, text.split("\n"))) <= 60
    sentence = "a sentence of several words that goes on and on until it does not fit any more"
    assert " ".join(wrap_text(sentence, 30).split()) == sentence
    assert max(map(len, wrap_text(sentence, 30).split("\n"))) <= 30


@pytest.mark.parametrize("width", range(40, 80, 3))
def test_the_name_of_a_constant_column_and_its_value_stand_on_one_line(width):
    constants = {
        name: np.array([i, i]) for i, name in enumerate(("n_questions", "n_generations", "n_missing", "n_sets"))
    }
    lines = format_table({"model": ["a", "b"], "score": [0.1, 0.2], **constants}, width).split("\n")
    assert all(any(f"{name} {values[0]}" in line for line in lines) for name, values in constants.items())
    assert max(map(len, lines)) <= width


def test_a_narrow_audit_keeps_its_evidence_before_the_number_of_answers():
    """The columns of an audit, in 60 characters."""
    audited = {"question": ["q8", "q42"], "target": ["932", "48"], "answer": ["922", "58"], "p_correct": [0.0, 0.125]}
    audited |= {
        "consistency": [0.0, -1.3333],
        "n_sets": [1, 4],
        "evidence": ["2.4", "1.0"],
        "p_wrong_max": ["1", ".97"],
    }
    assert header_of(format_table(audited | {"suspected_by": ["data map and models", "models"]}, 60)) == [
        *("question", "target", "answer", "evidence", "p_wrong_max"),
    ]


def test_a_curve_keeps_its_smoothed_scores():
    """Ten checkpoints with one generation, of which no single step can be tested."""
    rng = np.random.default_rng(3)
    scores = (rng.random((10, 200, 1)) < np.linspace(0.3, 0.6, 10)[:, None, None]).astype(float)
    names = [f"step-{1000 * i:05}" for i in range(1, 11)]
    text = hs.curve(Cells.from_scores("train", names, [str(q) for q in range(200)], scores)).fit_text(80)
    header = next(line.split() for line in text.splitlines() if "p_holm" in line)
    assert {"score", "smoothed", "difference", "p_holm"} <= set(header)
    assert "verdict" not in text
    assert "–," not in text
