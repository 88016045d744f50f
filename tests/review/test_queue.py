"""What a review shows of run folders and logs, and the order of suspicion."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.planted_review import HOSTILE, QUESTIONS, SYSTEM, folder, row, rows
from scipy.stats import binomtest

import howsure
from howsure.errors import HowsureWarning, InputError
from howsure.review.queue import (
    MAX_GENERATIONS,
    MAX_OPEN,
    MAX_TEXT,
    Entry,
    QuestionView,
    QueueFilter,
    RunTexts,
    build_queue,
    describe_wrong_share,
    estimate_wrong_share,
    group_generations,
    rank_label_errors,
    sort_queue,
)
from howsure.review.verdicts import content_key
from howsure.stats.questions import AnswerCounts
from howsure.store.manifest import Manifest
from howsure.store.responses import RunFolder


def run(path, some, asked=(), **manifest):
    with RunFolder(path) as store:
        if manifest:
            Manifest(**manifest).save(path)
        store.put_prompts(asked)
        store.append(some)
    return path


def sent(question, text, *, variant="v", target="A", record=None):
    return "planted", question, variant, [{"role": "user", "content": text}], target, record


def counts(texts, benchmark):
    """The counts of a benchmark: generations, those with a score, and sum of scores, by model, question and answer."""
    answers = texts.count_answers(benchmark)
    names = (answers.models, answers.questions, (*answers.answers, None))  # index -1: no answer
    columns = (answers.model, answers.question, answers.answer, answers.n, answers.scored, answers.total)
    return {
        tuple(own[place] for own, place in zip(names, row[:3], strict=True)): row[3:]
        for row in zip(*(column.tolist() for column in columns), strict=True)
    }


# an independent version: the questions as they were planted


def test_questions_and_choices_come_back_out_of_the_template(tmp_path):
    found = {view.question: view for view in RunTexts([folder(tmp_path / "run")]).questions()}
    for question, text, choices, target, _ in QUESTIONS:
        view = found[question]
        assert (view.text, view.choices, view.target) == (text, tuple(choices), target)
        assert view.key == content_key("\n".join([text, *choices]), target)
    assert len(found) == len(QUESTIONS)


def test_counts_and_generations_are_those_of_all_folders(tmp_path):
    again = [
        row("hard", 9, model="new", score=1.0, answer="C"),
        row("easy 1", score=None, status="unscored", answer="A"),
    ]
    parent = tmp_path / "runs"
    folder(parent / "deep" / "one")
    run(parent / "two", again)
    texts = RunTexts([parent])
    slow = {}
    for one in [*rows(), *again]:
        if one.status not in ("error", "unscored"):
            n, scored, total = slow.get((one.model, one.question, one.answer), (0, 0, 0.0))
            known = one.score is not None
            slow[one.model, one.question, one.answer] = (n + 1, scored + known, total + (one.score or 0.0))
    assert counts(texts, "planted") == slow
    assert texts.count_answers("nothing") is None
    assert texts.generations("planted", "hard") == [
        *sorted((one for one in rows() if one.question == "hard"), key=lambda one: (one.model, one.generation)),
        again[0],
    ]


def test_a_question_is_the_default_variants_and_others_stand_beside(tmp_path):
    prompts = [
        sent("q", "first way", variant="a"),
        sent("q", "the default way", variant="b"),
        sent("q", "third", variant="c"),
    ]
    path = run(
        tmp_path / "run",
        [row("q", answer="A", score=1.0)],
        prompts,
        variants={"planted": {"default": "b"}},
        prompts={"b": {}},
    )
    texts = RunTexts([path])
    assert [view.text for view in texts.questions()] == ["the default way"]
    assert [prompt.variant for prompt in texts.prompts("planted", "q")] == ["b", "a", "c"]
    assert texts.prompts("planted", "q")[0].messages == (("user", "the default way"),)


def test_choices_of_a_converted_log_are_in_its_record(tmp_path):
    prompts = [sent("q", "Which?\nyes\nno", record={"choices": ["yes", "no"]}), sent("never answered", "?")]
    (view,) = RunTexts([run(tmp_path / "run", [row("q", score=1.0)], prompts)]).questions()
    assert view.choices == ("yes", "no")


@pytest.mark.parametrize(
    ("template", "text", "told"),
    [
        ("{question}", "Say {choices}.", ("Say {choices}.", ())),
        ("Q: {question}\n{choices}", "Q: what\nA. x\nB. y\nz", ("what", ("x", "y\nz"))),
        ("Q: {question}\n{choices}", "Q: what\nA. x\nC. y", ("Q: what\nA. x\nC. y", ())),
        ("{question} {question}", "what what", ("what what", ())),
        ("Q: {question}", "another prompt", ("another prompt", ())),
        ("{choices}", "A. x", ("A. x", ())),
        (".* {question}?", ".* why?", ("why", ())),
    ],
)
def test_what_does_not_fit_the_template_stays_whole(tmp_path, template, text, told):
    path = run(
        tmp_path / "run", [row("q", score=1.0)], [sent("q", text)], prompts={"v": {"system": "", "template": template}}
    )
    (view,) = RunTexts([path]).questions()
    assert (view.text, view.choices) == told


def test_questions_without_a_prompt_have_keys_of_their_own(tmp_path):
    path = run(tmp_path / "run", [row("q1", score=1.0, target="A"), row("q2", score=1.0, target="A")])
    first, second = RunTexts([path]).questions()
    assert first.text == second.text == ""
    assert first.key != second.key


# another program's output: a log that lm-evaluation-harness wrote, read here line by line


LOG = Path(__file__).resolve().parents[1] / "logs" / "examples" / "lm_eval"


def test_a_log_is_reviewed_as_it_is(tmp_path):
    file = next(LOG.glob("samples_tiny_gen_*.jsonl"))
    lines = {line["doc_hash"]: line for line in map(json.loads, file.read_text().splitlines())}
    texts = RunTexts([file, folder(tmp_path / "run")])
    views = {view.question: view for view in texts.questions() if view.benchmark == "tiny_gen"}
    assert {name: (view.text, view.target) for name, view in views.items()} == {
        name: (line["arguments"]["gen_args_0"]["arg_0"], line["target"]) for name, line in lines.items()
    }
    for name, line in lines.items():
        assert [one.completion for one in texts.generations("tiny_gen", name)] == line["resps"][0]
        assert texts.prompts("tiny_gen", name)[0].messages == (("user", views[name].text),)
    assert texts.count_answers("tiny_gen").n.sum() == len(lines)  # two of three have no score
    assert texts.prompts("tiny_gen", "no such") == texts.generations("tiny_gen", "no such") == []
    assert texts.count_answers("planted").n.sum() > 0


def test_a_table_beside_is_told_and_alone_is_no_use(tmp_path):
    folder(tmp_path / "both" / "run")
    for place in ("both", "alone"):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "table.csv").write_text("model,question,score\nm,q,1\n")
    with pytest.warns(HowsureWarning, match="table.csv: tables hold no texts: left out"):
        assert RunTexts([tmp_path / "both"]).folders == [tmp_path / "both" / "run"]
    with pytest.raises(InputError, match="tables hold no texts"):
        RunTexts([tmp_path / "alone"])


def test_parts_of_a_message_are_shown_as_json(tmp_path):
    prompts = [("planted", "q", "v", [{"role": "user", "content": [{"type": "text", "text": "é"}]}], "A", None)]
    texts = RunTexts([run(tmp_path / "run", [row("q", score=1.0)], prompts)])
    assert texts.prompts("planted", "q")[0].messages == (("user", '[{"type": "text", "text": "é"}]'),)


def test_a_path_without_a_run_says_what_to_do(tmp_path):
    (tmp_path / "log.json").write_text("{}")
    with pytest.raises(InputError, match="no run folder here; a review reads run folders and logs: howsure convert"):
        RunTexts([tmp_path])
    with pytest.raises(InputError, match="no such file or folder"):
        RunTexts([tmp_path / "none"])
    with pytest.raises(InputError, match="no run folder here"):
        RunTexts([tmp_path / "log.json"])


# theory: groups


def test_groups_are_ordered_by_share_over_models_with_what_has_none_last():
    some = [row("q", g, model="much", answer="B", score=0.0) for g in range(1, 9)]
    some += [row("q", 1, model="one", answer="A", score=1.0), row("q", 1, model="two", answer="A", score=1.0)]
    some += [
        row("q", 9, model="much", status="unparsed", score=0.0),
        row("q", 10, model="much", status="error", error="x"),
    ]
    groups = group_generations(some, "A")
    assert [(g.title, g.n, g.is_correct, g.n_favourite) for g in groups] == [
        ("A", 2, True, 2),
        ("B", 8, False, 1),
        ("no answer was extracted", 1, False, 0),
        ("the request failed", 1, False, 0),
    ]
    assert [g.share for g in groups] == pytest.approx([2 / 3, 8 / 27, 1 / 27, 0])
    assert groups[1].models == (("much", 8, 9),)
    assert groups[3].models == (("much", 1, 1),)
    assert [[one.is_open for one in g.generations].count(True) for g in groups] == [1, 1, 1, 0]


def test_few_generations_are_open_and_long_ones_are_cut_and_counted():
    some = [row("q", g, answer="A", completion="x" * (MAX_TEXT + 7)) for g in range(1, 31)]
    (group,) = group_generations(some, "A")
    assert group.is_correct
    assert (group.n, len(group.generations)) == (30, MAX_GENERATIONS)
    assert [one.is_open for one in group.generations] == [True] * MAX_OPEN + [False] * (MAX_GENERATIONS - MAX_OPEN)
    assert (len(group.generations[0].text), group.generations[0].n_cut) == (MAX_TEXT, 7)
    assert len(group_generations(some, "A", expanded=0)[0].generations) == 30
    assert group_generations([], "A") == []


def test_hostile_text_is_kept_as_it_is(tmp_path):
    texts = RunTexts([folder(tmp_path / "run")])
    assert HOSTILE in texts.generations("planted", "hostile")[0].completion
    assert texts.prompts("planted", "hostile")[0].messages[0] == ("system", SYSTEM)


# theory: the order of suspicion


def one(models, target="A"):
    given = {model: {"q": answers, "r": ["A"]} for model, answers in models.items()}
    ranked = rank_label_errors(AnswerCounts.from_generations("b", given, {"q": target, "r": "A"}))
    return next(suspect for suspect in ranked if suspect.question == "q")


def test_the_numbers_of_the_data_map():
    found = one({"m": ["A", "A", "B", "B"], "n": ["B", "B", "B", None]})
    assert found.p_correct == pytest.approx((0.5 + 0) / 2)
    # Of the answers that were read: 2 and 2 of 4, in the form sum of p (psi(n p) - psi(n)), and 3 of 3
    assert found.consistency == pytest.approx(-(1 / 2 + 1 / 3) / 2)
    assert (found.n_sets, found.n_models, found.models_agreeing, found.answer) == (2, 2, 1, "B")  # m is undecided


@pytest.mark.parametrize(
    ("models", "suspect", "on_map"),
    [
        ({"m": ["B"] * 10}, True, True),
        ({"m": ["A"] + ["B"] * 9}, True, True),  # P(correct) = .1, S = -.325
        ({"m": ["A", "A"] + ["B"] * 8}, False, False),
        ({"m": list("BBBBCCCDDD")}, False, False),  # S = -1.09
        ({"m": ["B", "B", "A"], "n": ["B", "B", "A"]}, True, False),
        ({"m": ["B", "B", "A"], "n": ["A"]}, False, False),
        ({"m": ["A"], "n": ["A"]}, False, False),
        ({"m": [None]}, False, False),
    ],
)
def test_who_is_a_suspect(models, suspect, on_map):
    assert (one(models).is_suspected, one(models).is_on_map) == (suspect, on_map)


def test_without_scores_the_target_says_what_is_right():
    names, places = (["m"], ["q"], ["B", "A"]), ([0, 0], [0, 0], [0, 1])
    found = rank_label_errors(
        AnswerCounts.of("b", names, places, n=[3, 1], scored=[0, 0], total=[0, 0], targets={"q": "A"})
    )
    assert found[0].p_correct == 0.25
    assert found[0].answer == "B"


def test_scores_without_answers_order_by_score():
    names, totals = (["m"], [f"q{i}" for i in range(5)], []), [4, 1, 3, 0, 2]
    found = rank_label_errors(
        AnswerCounts.of("b", names, ([0] * 5, totals, [-1] * 5), n=[4] * 5, scored=[4] * 5, total=totals)
    )
    assert [(one.question, one.p_correct) for one in found] == [(f"q{i}", i / 4) for i in range(5)]
    assert all(one.answer is None and math.isnan(one.consistency) for one in found)


def test_nothing_is_no_suspects():
    assert rank_label_errors(AnswerCounts.from_generations("b", {}, {})) == []


def controls(words, order=None):
    """A queue of questions with these verdicts, the most suspicious first, whose places in the draw are `order`."""
    order = range(len(words)) if order is None else order
    entries, verdicts = [], {}
    for i, (word, place) in enumerate(zip(words, order, strict=True)):
        view = SimpleNamespace(benchmark="b", key=f"k{i}", question=f"q{i}", text="")
        entries.append(Entry(view, SimpleNamespace(is_suspected=False), place))
        if word != "open":
            verdicts[view.key] = SimpleNamespace(verdict=word)
    return entries, verdicts


def test_the_share_of_wrong_labels_is_that_of_random_questions():
    """Another program: scipy's exact binomial interval."""
    queue, verdicts = controls(["fine"] * 37 + ["mislabeled"] * 2 + ["ambiguous"] + ["open"] * 60)
    share = estimate_wrong_share(queue, "b", verdicts)
    exact = binomtest(2, 40).proportion_ci(0.95, method="exact")
    assert (share.n, share.n_wrong) == (40, 2)
    assert (share.low, share.high) == pytest.approx((exact.low, exact.high))
    assert describe_wrong_share(share).startswith(
        "2 of the first 40 random questions are mislabeled, an estimate of 5.0% of all labels"
    )


def test_the_share_of_a_benchmark_that_is_reviewed_completely_is_known():
    """By hand: 2 of all 20 labels are wrong, with nothing to estimate; the page had an interval of 1.2% to 31.7%."""
    queue, verdicts = controls(["mislabeled"] * 2 + ["fine"] * 18)
    share = estimate_wrong_share(queue, "b", verdicts)
    assert (share.low, share.high, share.n_questions) == (0.1, 0.1, 20)
    assert describe_wrong_share(share) == "2 of all 20 questions are mislabeled (10.0%)."
    only = share._replace(n=1, n_wrong=1, n_questions=1)
    assert describe_wrong_share(only) == "The only question is mislabeled."
    queue, verdicts = controls(["mislabeled"] * 2 + ["fine"] * 17 + ["open"])
    exact = binomtest(2, 19).proportion_ci(0.95, method="exact")
    assert describe_wrong_share(estimate_wrong_share(queue, "b", verdicts)) == (
        "2 of the first 19 random questions are mislabeled, an estimate of 10.5% of all labels "
        f"(95% interval {exact.low:.1%} to {exact.high:.1%})."
    )


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (["fine", "open"], "The first random question is not mislabeled, an estimate of 0.0% of all labels"),
        (["mislabeled", "open"], "The first random question is mislabeled, an estimate of 100.0% of all labels"),
        (["fine", "mislabeled", "open"], "1 of the first 2 random questions is mislabeled, an estimate of 50.0%"),
        (["fine", "unsure", "open"], "0 of the first 2 random questions are mislabeled, an estimate of 0.0%"),
    ],
)
def test_the_sentence_on_wrong_labels_counts_those_that_are_mislabeled(words, start):
    queue, verdicts = controls(words)
    exact = binomtest(words.count("mislabeled"), len(words) - 1).proportion_ci(0.95, method="exact")
    text = describe_wrong_share(estimate_wrong_share(queue, "b", verdicts))
    assert text.startswith(start)
    assert text.endswith(f"(95% interval {exact.low:.1%} to {exact.high:.1%}).")


def test_equal_questions_count_once_among_the_random_ones():
    """By hand: three ids of one text and target have one verdict, which says as much as one question."""
    queue, verdicts = controls(["mislabeled", "fine", "fine", "open"])
    views = [SimpleNamespace(**vars(queue[0].view) | {"question": f"copy {i}"}) for i in range(2)]
    copies = [queue[0]._replace(view=view) for view in views]
    share = estimate_wrong_share([*queue, *copies], "b", verdicts)
    assert (share.n, share.n_wrong, share.n_questions) == (3, 1, 4)


def test_verdicts_on_chosen_questions_do_not_bias_the_share():
    # only mislabeled questions got a verdict, none of them the first of the draw: nothing can be said
    queue, verdicts = controls(["open", "mislabeled", "mislabeled", "fine"], order=[0, 1, 2, 3])
    assert estimate_wrong_share(queue, "b", verdicts).n == 0
    assert describe_wrong_share(estimate_wrong_share(queue, "b", verdicts)) == ""
    # questions that were not drawn never count
    queue, verdicts = controls(["mislabeled"] * 3 + ["fine"] * 2, order=[-1, -1, -1, 0, 1])
    assert estimate_wrong_share(queue, "b", verdicts)[:2] == (2, 0)


@pytest.mark.long
def test_the_share_holds_for_a_number_fixed_beforehand_and_not_for_a_stop_at_the_first_wrong_label():
    """Guarantee by seeded simulation, and theory: with 5 % wrong labels, a stop at the first reports p log(1/p)/(1-p)."""
    rng, p = np.random.default_rng(21), 0.05
    fixed, stopped = [], []
    for _ in range(2000):
        words = np.where(rng.random(100) < p, "mislabeled", rng.choice(["fine", "unsure", "ambiguous"], 100)).tolist()
        first = words.index("mislabeled") + 1 if "mislabeled" in words else 100
        for n, shares in ((40, fixed), (first, stopped)):
            queue, verdicts = controls(words[:n] + ["open"] * (100 - n))
            share = estimate_wrong_share(queue, "b", verdicts)
            assert share.n == n
            shares.append(share.n_wrong / share.n)
    assert np.mean(fixed) == pytest.approx(p, abs=0.003)
    assert np.mean(stopped) == pytest.approx(p * math.log(1 / p) / (1 - p), abs=0.02)


def test_controls_do_not_depend_on_what_models_answered(tmp_path):
    queue = build_queue(RunTexts([folder(tmp_path / "run")]))
    places = {entry.view.key: entry.control for entry in queue}
    assert sorted(places.values()) == list(range(len(queue)))  # fewer than are drawn: all of them
    order = sorted(places, key=lambda key: hashlib.sha256(f"control {key}".encode()).digest())
    assert [places[key] for key in order] == list(range(len(queue)))
    random = QueueFilter.of({"show": "random"})
    assert [entry.view.key for entry in sort_queue(queue, random) if random.holds(entry)] == order


@pytest.mark.parametrize("seed", range(8, 14))
def test_a_label_that_every_generation_contradicts_comes_before_chance_agreements_of_single_answers(seed):
    """Two models: 150 questions with one answer each and right labels, 60 with four each, of which one label is wrong."""
    rng = np.random.default_rng(seed)
    given, targets = {"single": {}, "many": {}}, {"single": {}, "many": {}}
    for benchmark, n_questions, k, options in (("single", 150, 1, 4), ("many", 60, 4, 7)):
        ease = rng.normal(0, 1.6, n_questions)
        targets[benchmark] = {f"{benchmark}{i}": "0" for i in range(n_questions)}
        for model, ability in (("x", 0.5), ("y", 1.2)):
            right = rng.random((n_questions, k)) < 1 / (1 + np.exp(-ability - ease[:, None]))
            chosen = np.where(right, 0, rng.integers(1, options, (n_questions, k)))
            given[benchmark][model] = {f"{benchmark}{i}": [str(one) for one in chosen[i]] for i in range(n_questions)}
    for model in ("x", "y"):
        given["many"][model]["many7"] = ["0"] * 4
    targets["many"]["many7"] = "5"

    class Made:
        def questions(self):
            return [QuestionView(b, q, f"{b} {q}", q, target=t) for b, own in targets.items() for q, t in own.items()]

        def count_answers(self, benchmark):
            return AnswerCounts.from_generations(benchmark, given[benchmark], targets[benchmark])

    queue = build_queue(Made())
    assert queue[0].view.question == "many7"
    first = [entry.evidence.evidence for entry in queue if entry.view.benchmark == "single"]
    assert first == sorted(first, reverse=True)
    assert sum(entry.evidence.is_suspected for entry in queue if entry.view.benchmark == "single") > 0


def test_a_reference_solution_is_that_of_the_file_of_questions(tmp_path):
    """Questions as GSM8K has them: by hand."""
    lines = [
        {"question": "Two and two?", "answer": "2 + 2 = 4\n#### 4"},
        {"question": "Three?", "answer": "It is #### less.\n<b>3</b>\n#### 3"},
    ]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    benchmark = {"file": "sums.jsonl", "question": "question", "target": "answer", "target_after": "####"}
    experiment = {"benchmark": benchmark | {"scorer": "numeric"}, "models": ["simulated/medium"], "generations": 2}
    (tmp_path / "exp.yaml").write_text(json.dumps(experiment))
    howsure.run(tmp_path / "exp.yaml", tmp_path / "run")
    views = {view.text.partition("?")[0]: view for view in RunTexts([tmp_path / "run"]).questions()}
    assert views["Two and two"].solution == "2 + 2 = 4"
    assert views["Three"].solution == "It is #### less.\n<b>3</b>"
    assert views["Three"].target == "3"
    assert "less" not in (views["Three"].text)


def test_a_reference_solution_in_the_target_of_a_log_is_read(tmp_path):
    with RunFolder(tmp_path / "run") as run:
        Manifest().save(tmp_path / "run")
        for name, target in [("q1", "2 + 2 = 4\n#### 4"), ("q2", "4"), ("q3", "x = 1  #### one\ny = 2")]:
            run.put_prompts([("planted", name, "v", [{"role": "user", "content": name}], target, None)])
            run.append([row(name, score=1.0, answer="4", completion="4", target=target)])
    views = RunTexts([tmp_path / "run"]).questions()
    assert [view.solution for view in views] == ["2 + 2 = 4", "", ""]
