"""Questions whose label may be wrong."""

import math

import numpy as np
import pytest
from helpers.long_cases import mark_long
from oracles import suspects as slow
from scipy.special import expit

from howsure.errors import InputError
from howsure.stats.questions.consistency import AnswerCounts
from howsure.stats.questions.label_errors import Audit, audit, find_label_errors


def of(answers, target):
    models = sorted({m for own in answers.values() for m in own})
    given = {m: {q: own[m] for q, own in answers.items() if m in own} for m in models}
    return AnswerCounts.from_generations("b", given, target)


def planted(seed, *, n_questions=14, models=4, letters="ABCD"):
    """Mostly right answers, some unread, counts unequal, cells missing; two labels that nearly all contradict."""
    rng = np.random.default_rng(seed)
    answers, target = {}, {}
    for q in range(n_questions):
        truth = str(rng.choice(list(letters)))
        target[f"q{q}"] = truth if q > 1 else next(x for x in letters if x != truth)
        pool = [truth] * 8 + [*letters, None]
        answers[f"q{q}"] = {
            f"m{m}": [pool[i] for i in rng.integers(0, len(pool), rng.integers(1, 6))]
            for m in range(models)
            if m == 0 or rng.random() < 0.85
        }
    return answers, target


# an independent slow version


@pytest.mark.parametrize("seed", range(4))
def test_evidence_is_what_pairs_and_single_generations_say(seed):
    answers, target = planted(seed)
    found = find_label_errors(of(answers, target))
    expected = slow.evidence(answers, target)
    assert set(found.questions) == set(answers)
    assert min(found.evidence) < 0 < max(found.evidence)  # some label is trusted less than others
    for i, question in enumerate(found.questions):
        answer, odds = expected[question]
        assert found.evidence[i] == pytest.approx(odds, abs=1e-10)
        assert found.answer[i] == answer
        own = answers[question]
        each = [s for s in (slow.consistency(given) for given in own.values()) if not math.isnan(s)]
        np.testing.assert_allclose(found.consistency[i], sum(each) / len(each) if each else math.nan, atol=1e-12)
        right = [sum(x == target[question] for x in given) / len(given) for given in own.values()]
        assert found.p_correct[i] == pytest.approx(sum(right) / len(right))
        assert (found.n_models[i], found.n_sets[i]) == (len(own), len({x for g in own.values() for x in g} - {None}))
        agreeing = sum(
            all(g.count(answer) > g.count(x) for x in set(g) - {answer, None}) and answer in g for g in own.values()
        )
        assert found.models_agreeing[i] == (agreeing if answer else 0)


@pytest.mark.parametrize(("seed", "n_questions", "max_share"), [(0, 60, 0.1), (1, 45, 0.3), (2, 80, 0.05)])
def test_the_upper_limit_is_what_single_planted_labels_say(seed, n_questions, max_share):
    answers, target = planted(seed, n_questions=n_questions)
    found = find_label_errors(of(answers, target), max_share=max_share)
    expected = slow.upper_limit(answers, target, "ABCD", max_share)
    assert min(found.p_wrong_max) < max_share < 0.5 < max(found.p_wrong_max)
    np.testing.assert_allclose(found.p_wrong_max, [expected[q] for q in found.questions], atol=1e-9)
    assert (np.diff(found.p_wrong_max) <= 1e-12).all()  # never more with less evidence


# a guarantee by seeded simulation


def gsm8k_like(seed, *, moved=0.05, skills=(0.5, 1.2, 2, 2.8, 3.5), k=10, n_questions=1319):
    """Numeric answers, hard and easy questions, a wrong number that many fall for; some labels moved on purpose.

    Of the moved labels 3 in 10 are that very number, which is the hardest case; the others are numbers nobody means.
    """
    rng = np.random.default_rng(seed)
    easy, lure = rng.normal(0, 1.6, n_questions), rng.beta(1, 1, n_questions)
    bad = rng.random(n_questions) < moved
    label = np.where(bad, np.where(rng.random(n_questions) < 0.3, 1, rng.integers(2, 40, n_questions)), 0)
    answer = []
    for skill in skills:
        right = rng.random((n_questions, k)) < expit(skill + easy + rng.normal(0, 0.7, n_questions))[:, None]
        fooled = rng.random((n_questions, k)) < lure[:, None]
        answer.append(np.where(right, 0, np.where(fooled, 1, 2 + rng.geometric(0.1, right.shape) % 38)))
    model, question, _ = np.indices((len(skills), n_questions, k)).reshape(3, -1)
    said = np.concatenate(answer).ravel()
    names = [f"{x:02d}" for x in range(40)]
    questions = [f"q{i:04d}" for i in range(n_questions)]
    made = AnswerCounts.of(
        "gsm8k-like",
        ([f"m{i}" for i in range(len(skills))], questions, names),
        (model, question, said),
        n=np.ones(len(said)),
        scored=np.ones(len(said)),
        total=said == label[question],
        targets={q: names[t] for q, t in zip(questions, label, strict=True)},
    )
    return made, {q for q, moved_ in zip(questions, bad, strict=True) if moved_}


def studied(seeds, **how):
    """Precision (= recall) of as many questions from the top as were moved: ours, and by P(correct)."""
    ours, theirs = [], []
    for seed in seeds:
        made, moved = gsm8k_like(seed, **how)
        found = find_label_errors(made)
        there = np.array([q in moved for q in found.questions])
        ours.append(there[: len(moved)].mean())
        theirs.append(there[np.argsort(found.p_correct, kind="stable")][: len(moved)].mean())
    return np.mean(ours), np.mean(theirs)


@pytest.mark.parametrize(
    ("how", "least", "gain"),
    mark_long(
        [
            ({}, 0.9, 0.01),
            ({"k": 1}, 0.8, 0.0),
            ({"skills": (2.8,)}, 0.87, -0.04),  # of one model P(correct) alone does as well
            ({"skills": tuple(range(5)) * 4}, 0.9, 0.02),
        ],
        after=1,
    ),
)
def test_moved_labels_come_first(how, least, gain):
    ours, theirs = studied(range(4), **how)
    print(f"\n{how}: precision = recall {ours:.3f}, by P(correct) {theirs:.3f}")
    assert ours > least
    assert ours > theirs + gain


def four_options(seed, kind, share, *, models, k, n_questions=400):
    """Answers A to D of models from weak to good, and which labels are wrong.

    Kinds: random, popular (the most frequent wrong answer), traps (the label is right, nearly all answers are one wrong
    option), unsolvable (answers at random, any label), hard (a random answer, on questions of the harder half).
    """
    rng = np.random.default_rng(seed)
    skill = np.linspace(-0.2, 2.2, models)[:, None] if models > 1 else np.ones((1, 1))
    p = expit(skill + rng.normal(0, 1.6, n_questions) + rng.normal(0, 0.7, (models, n_questions)))
    lure = rng.dirichlet([0.5] * 3, n_questions)
    wrong = 0.6 * lure + 0.4 * rng.dirichlet([0.5] * 3, p.shape)
    chance = np.concatenate([p[..., None], (1 - p)[..., None] * wrong], axis=2)
    chosen = rng.random(n_questions) < share
    if kind == "hard":
        chosen = (p.mean(axis=0) < np.median(p.mean(axis=0))) & (rng.random(n_questions) < 2 * share)
    label = np.zeros(n_questions, int)
    if kind in {"random", "hard"}:
        label[chosen] = rng.integers(1, 4, chosen.sum())
    elif kind == "popular":
        label[chosen] = 1 + lure[chosen].argmax(axis=1)
    elif kind == "traps":
        fooled = rng.beta(9, 1, n_questions) * chosen
        chance = chance * (1 - fooled)[:, None]
        chance[:, np.arange(n_questions), 1 + lure.argmax(axis=1)] += fooled
    elif kind == "unsolvable":
        chance[:, chosen] = rng.dirichlet([1] * 4, (models, chosen.sum()))
        label[chosen] = rng.integers(0, 4, chosen.sum())
    counts = rng.multinomial(k, chance / chance.sum(axis=2, keepdims=True))
    letters = rng.permuted(np.tile(np.arange(4), (n_questions, 1)), axis=1)  # of the truth, and of the wrong answers
    model, question, answer = np.nonzero(counts)
    n = counts[model, question, answer]
    questions = [f"q{i:03d}" for i in range(n_questions)]
    made = AnswerCounts.of(
        "four options",
        ([f"m{i:02d}" for i in range(models)], questions, list("ABCD")),
        (model, question, letters[question, answer]),
        n=n,
        scored=n,
        total=n * (answer == label[question]),
        targets={q: "ABCD"[letters[i, label[i]]] for i, q in enumerate(questions)},
    )
    return made, dict(zip(questions, chosen & (kind != "traps"), strict=True))


@pytest.mark.parametrize(("models", "k"), mark_long([(6, 5), (1, 10), (3, 1), (15, 2)], after=1))
@pytest.mark.parametrize("kind", ["random", "popular", "traps", "unsolvable", "hard"])
def test_no_more_labels_are_wrong_than_the_upper_limit_says(kind, models, k):
    limit, wrong = [], []
    for seed in range(3):
        for share in (0.02, 0.1):
            made, truth = four_options([seed, models], kind, share, models=models, k=k)
            found = find_label_errors(made)
            limit.append(found.p_wrong_max)
            wrong.append([truth[q] for q in found.questions])
    limit, wrong = np.concatenate(limit), np.concatenate(wrong)
    assert (limit < 0.1).mean() > 0.4  # it says something of the others
    for low, high in ((0, 0.02), (0.02, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 1.01)):
        some = (limit >= low) & (limit < high)
        if some.sum() >= 10:
            said = limit[some].mean()
            assert wrong[some].mean() <= said + 3 * math.sqrt(said * (1 - said) / some.sum())


def test_the_same_evidence_is_a_wrong_label_here_and_a_right_one_there():
    """Why no probability is given: of suspects with the same evidence most, or none, may be wrong."""
    share = {}
    for kind in ("popular", "traps"):
        some = []
        for seed in range(4):
            made, truth = four_options([seed, 6], kind, 0.1, models=6, k=5)
            found = find_label_errors(made)
            alike = (found.evidence > 2) & (found.evidence < 3)
            assert found.p_wrong_max[alike].min() > 0.9
            some += [truth[q] for q, one in zip(found.questions, alike.tolist(), strict=True) if one]
        assert len(some) > 20
        share[kind] = np.mean(some)
    assert share["popular"] > 0.6
    assert share["traps"] == 0


def test_gen_s_corner_is_precise_and_most_models_find_more():
    made, moved = gsm8k_like(7)
    found = find_label_errors(made)
    there = np.array([q in moved for q in found.questions])
    assert there[found.on_map].mean() > 0.9
    assert there[found.suspected].sum() / len(moved) > 0.85 > there[found.on_map].sum() / len(moved)


def test_right_labels_leave_few_suspects():
    made, _ = gsm8k_like(3, moved=0.0)
    found = find_label_errors(made)
    assert found.suspected.mean() < 0.06  # of 1,319, the questions that most models are fooled by
    assert found.on_map.mean() < 0.01
    assert (found.evidence > 3).mean() < 0.01


# theory


def one(models, target="A"):
    """The question q, beside three that every model gets right."""
    easy = {f"r{i}": {m: ["A"] for m in models} for i in range(3)}
    found = find_label_errors(of({"q": models, **easy}, {"q": target} | dict.fromkeys(easy, "A")))
    return found.select(np.array([found.questions.index("q")]))


@pytest.mark.parametrize(
    ("models", "by"),
    [
        ({"m": ["B"] * 10}, "data map"),
        ({"m": ["A"] + ["B"] * 9}, "data map"),  # P(correct) = .1, S = -.38
        ({"m": ["A", "A"] + ["B"] * 8}, ""),
        ({"m": list("BBBBCCCDDD")}, ""),  # S = -1.2
        ({"m": ["B", "B", "A"], "n": ["B", "B", "A"]}, "models"),
        ({"m": ["B", "B"], "n": ["B", "B"]}, "data map and models"),
        ({"m": ["B", "B", "A"], "n": ["A"]}, ""),
        ({"m": ["A"], "n": ["A"]}, ""),
        ({"m": ["B"]}, ""),  # one generation of one model
        ({"m": [None]}, ""),
    ],
)
def test_who_is_a_suspect_and_why(models, by):
    assert one(models).columns()["suspected_by"].tolist() == [by]
    assert one(models).suspected.tolist() == [by != ""]


def test_the_largest_share_moves_the_limit_and_no_order():
    answers, target = planted(1, n_questions=60)
    few, many = (
        find_label_errors(of(answers, target), max_share=0.1),
        find_label_errors(of(answers, target), max_share=0.3),
    )
    assert few.questions == many.questions
    np.testing.assert_array_equal(few.evidence, many.evidence)
    assert (few.p_wrong_max <= many.p_wrong_max).mean() > 0.9
    assert few.p_wrong_max.mean() < many.p_wrong_max.mean()
    for max_share in (0, 1, -0.1, math.nan):
        with pytest.raises(InputError, match="max_share is"):
            find_label_errors(of(answers, target), max_share=max_share)


def test_of_few_questions_no_limit_is_given():
    """Fewer than 2 (1 + s)/s."""
    for n_questions, there in ((21, False), (22, True)):
        answers, target = planted(1, n_questions=n_questions)
        found = find_label_errors(of(answers, target))
        assert (~np.isnan(found.p_wrong_max)).all() == there
        assert ("too few questions for p_wrong_max" in found.columns()["note"].tolist()[0]) == (not there)


def test_what_is_not_known_is_none_or_nan_and_says_why():
    found = find_label_errors(
        of({"q": {"m": ["A"]}, "r": {"m": [None, None]}, "s": {"m": ["B", "B"]}}, {"q": "A", "s": "A"})
    )
    columns = found.columns()
    row = {q: {name: values[i] for name, values in columns.items()} for i, q in enumerate(found.questions)}
    assert row["q"]["answer"] is None
    assert row["r"]["target"] is None
    assert math.isnan(row["q"]["evidence"])
    assert math.isnan(row["q"]["consistency"])
    assert row["q"]["note"].startswith("no answer but the target; consistency is unknown")
    assert row["r"]["note"].startswith("no answer was read")
    assert row["s"]["note"] == "too few questions for p_wrong_max"
    assert row["s"]["evidence"] > 0


def test_without_scores_and_target_nothing_is_said_against_a_label():
    def unscored(targets):
        names = (["m"], ["q", "r"], ["A", "B"])
        places = ([0, 0, 0], [0, 1, 1], [0, 0, 1])
        return find_label_errors(
            AnswerCounts.of("b", names, places, n=[2, 3, 1], scored=[0] * 3, total=[0] * 3, targets=targets)
        )

    found = unscored({"r": "B"})
    assert found.questions == ("r", "q")
    assert found.p_correct.tolist()[0] == 0.25
    assert found.answer == ("A", None)
    assert np.isnan([found.p_correct[1], found.evidence[1], found.columns()["evidence"][1], found.p_wrong_max[1]]).all()
    assert found.columns()["note"][1] == "neither a score nor a target is known"
    assert not unscored({}).suspected.any()


def test_scores_without_answers_order_by_score():
    rows = [4, 1, 3, 0, 2]
    made = AnswerCounts.of(
        "b", (["m"], [f"q{i}" for i in rows], []), ([0] * 5, range(5), [-1] * 5), n=[4] * 5, scored=[4] * 5, total=rows
    )
    found = find_label_errors(made)
    assert found.questions == ("q0", "q1", "q2", "q3", "q4")
    assert found.p_correct.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert set(found.answer) == {None}


@pytest.mark.parametrize("answer", ["A", "B"])
def test_all_right_and_all_wrong_are_finite(answer):
    found = find_label_errors(
        of({f"q{i}": {m: [answer] * 3 for m in "mn"} for i in range(4)}, {f"q{i}": "A" for i in range(4)})
    )
    assert np.isfinite(found.evidence).all()
    assert (found.p_correct == (answer == "A")).all()


def test_a_printed_audit_is_short_and_a_frame_is_whole():
    long = "one\ntwo " * 50
    found = find_label_errors(
        of({"q": {"m": [long, long], "n": [long, long]}, "r": {"m": ["A"], "n": ["A"]}}, {"q": "A", "r": "A"})
    )
    audited = Audit((found.select(found.suspected),))
    assert max(map(len, audited.fit_text(80).split("\n"))) <= 80
    assert audited.to_frame()["answer"][0] == long
    assert str(Audit((found.select(np.zeros(2, bool)),))) == "no suspects"


def test_an_audit_is_of_every_benchmark():
    first = of({"q": {"m": ["B"] * 3}, "r": {"m": ["A"] * 3}}, {"q": "A", "r": "A"})
    both = {"b": first, "c": first}
    assert audit(both).columns()["question"].tolist() == ["q", "q"]
    assert audit(both, every=True).columns()["question"].tolist() == ["q", "r", "q", "r"]
    with pytest.raises(InputError, match="no answers to audit"):
        audit({})


def test_nothing_is_no_suspects():
    assert find_label_errors(AnswerCounts.from_generations("b", {}, {})).questions == ()


def test_a_greedy_run_has_no_vote_of_its_own():
    given = {"m": {"q1": ["7", "7"], "q2": ["3", "3"]}, "n": {"q1": ["8", "8"], "q2": ["3", "3"]}}
    targets = {"q1": "8", "q2": "3"}
    alone = find_label_errors(AnswerCounts.from_generations("b", given, targets))
    greedy = {"m:greedy": {"q1": ["7"], "q2": ["3"]}}
    both = find_label_errors(AnswerCounts.from_generations("b", given | greedy, targets))
    assert both.n_models.tolist() == alone.n_models.tolist() == [2, 2]
    assert both.models_agreeing.tolist() == alone.models_agreeing.tolist()
    assert both.suspected.tolist() == alone.suspected.tolist()
    np.testing.assert_allclose(both.evidence, alone.evidence)


def test_an_audit_fits_the_width_that_is_given():
    suspects = audit({"b": of(*planted(1))})
    for width in (60, 100):
        assert max(map(len, suspects.fit_text(width).splitlines())) <= width
    nothing = audit({"b": of({"q": {"m": ["x", "x"], "n": ["x"]}}, {"q": "x"})})
    assert nothing.fit_text(80) == "no suspects"
