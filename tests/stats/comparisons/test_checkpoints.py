"""Labels of checkpoints: orders and runs that were set by hand."""

import pytest

from howsure.errors import InputError
from howsure.stats.comparisons import find_training_runs, order_checkpoints, read_positions
from howsure.stats.comparisons.checkpoints import have_positions


@pytest.mark.parametrize(
    ("labels", "groups", "single"),
    [
        (["m-100", "m-20", "m-3"], [["m-3", "m-20", "m-100"]], []),
        (["pythia-70m step1000", "pythia-70m step512", "pythia-1b step1"], [["pythia-70m step512", "pythia-70m step1000"]], ["pythia-1b step1"]),
        (["a 16B tokens", "a 500M tokens", "a 2T tokens"], [["a 500M tokens", "a 16B tokens", "a 2T tokens"]], []),
        (["x-7b-step10", "x-7b-step9", "x-13b-step9", "x-13b-step20"], [["x-7b-step9", "x-7b-step10"], ["x-13b-step9", "x-13b-step20"]], []),
        (["0.5 epoch", "0.25 epoch"], [["0.25 epoch", "0.5 epoch"]], []),
        (["one", "two"], [], ["one", "two"]),
        (["100", "20"], [["20", "100"]], []),
    ],
)  # fmt: skip
def test_checkpoints_are_ordered_by_the_number_that_differs(labels, groups, single):
    assert order_checkpoints(labels) == (groups, single)


def test_labels_that_differ_in_two_numbers_need_an_order():
    with pytest.raises(InputError, match="--order"):
        order_checkpoints(["a-1-2", "a-2-3"])


def test_steps_and_the_tokens_seen_until_then_are_one_position():
    """Revisions such as those of OLMo have both numbers, which grow together."""
    labels = ["olmo-7b step9000-tokens40B", "olmo-7b step1000-tokens4B", "olmo-7b step20000-tokens88B"]
    expected = [labels[1], labels[0], labels[2]]
    assert order_checkpoints(labels) == ([expected], [])
    assert find_training_runs([*labels, "olmo-1b step1000-tokens2B"]) == [expected]
    assert read_positions(expected).tolist() == [1000, 9000, 20000]
    with pytest.raises(InputError, match="differ in several numbers"):
        order_checkpoints(["m step1000-tokens4B", "m step2000-tokens2B"])


@pytest.mark.parametrize(
    "labels",
    [
        ["llama-7b", "llama-13b", "llama-70b"],
        ["m:temperature=0.2", "m:temperature=0.4", "m:temperature=1.0"],
        ["gpt-3.5", "gpt-4", "gpt-5"],
        ["m (max_tokens=256)", "m (max_tokens=512)", "m (max_tokens=2048)"],
        ["m thinking-tokens 1k", "m thinking-tokens 2k", "m thinking-tokens 8k"],
        ["m (max_completion_tokens=256)", "m (max_completion_tokens=512)", "m (max_completion_tokens=2048)"],
        ["m step 1", "m step 2"],  # two are a comparison
        ["m step 1-2", "m step 2-2", "m step 3-1"],  # another number differs in one of them
        ["m step 1 tokens 9", "m step 2 tokens 8", "m step 3 tokens 9"],
    ],
)
def test_models_that_differ_in_other_numbers_are_no_training_run(labels):
    assert find_training_runs(labels) == []


@pytest.mark.parametrize("name", ["globalstep", "TrainStep", "step=", "newmodel-tokens", "imagen_tokens"])
def test_a_word_that_ends_in_step_or_tokens_makes_a_training_run(name):
    labels = [f"m-{name}{number}" for number in (100, 200, 3000)]
    assert find_training_runs(labels) == [labels]


def test_runs_of_two_models_are_two():
    labels = [f"{model} ckpt-{step}" for step in (30, 4, 100) for model in ("a-7b", "a-13b")]
    assert find_training_runs(labels) == [[f"{m} ckpt-{step}" for step in (4, 30, 100)] for m in ("a-7b", "a-13b")]


@pytest.mark.parametrize(
    ("labels", "positions"),
    [
        (["m-3", "m-20", "m-100"], [3, 20, 100]),
        (["m-100", "m-20", "m-3"], [1, 2, 3]),  # an order that the user gave
        (["a 500M tokens", "a 2T tokens"], [5e8, 2e12]),
        (["base", "tuned", "tuned 2"], [1, 2, 3]),
        (["m", "m"], [1, 2]),
    ],
)
def test_positions_are_the_numbers_of_the_labels_or_their_places(labels, positions):
    assert read_positions(labels).tolist() == positions


def test_numbers_that_do_not_grow_from_label_to_label_are_places():
    """By hand: other texts among the labels, two labels of one step, and steps of less than 1."""
    assert read_positions(["m step 100", "m step 200", "final"]).tolist() == [1, 2, 3]
    assert read_positions(["step 1k", "step 1000", "step 2k"]).tolist() == [1, 2, 3]
    assert read_positions(["0.25 epoch", "0.5 epoch"]).tolist() == [0.25, 0.5]


def test_each_text_has_its_own_training_run():
    runs = [[f"{name} step {i}" for i in (1, 2, 3)] for name in ("one", "two")]
    assert find_training_runs([*runs[0], *runs[1]]) == runs


def test_labels_that_are_alone_have_no_positions():
    assert not have_positions(["m step 1", "other"])
    assert not have_positions(["m step 1", "m step 2", "llama-7b", "llama-13b"])
