"""What each scorer makes of a completion and a target."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from helpers.scored_runs import judged, place, response, run_of

from howsure.benchmarks import load
from howsure.benchmarks.question import Benchmark, Prompt, Question
from howsure.errors import InputError
from howsure.perturb.instructions import packaged
from howsure.perturb.variants import Own, sampled
from howsure.scorers import base, registry
from howsure.scorers.base import Asked, rules
from howsure.scorers.choice_scorer import choice
from howsure.scorers.own_benchmark import own
from howsure.scorers.registry import SCORERS, scorer
from howsure.store.manifest import Manifest

GSM8K = "She makes 9 * 2 = $<<9*2=18>>18 every day.\n#### 18"

# theory: cases whose answer anybody can tell


@pytest.mark.parametrize(
    ("completion", "target", "wanted"),
    [
        ("The answer is 18.", GSM8K, (1.0, "18")),
        ("So $18.00", "18", (1.0, "18")),
        ("It is 17, no: 19", "18", (0.0, "19")),
        ("I cannot say.", "18", (0.0, None)),
        ("3/4", "0.75", (1.0, "0.75")),
        ("#### 1,000", "The total is 1000", (1.0, "1000")),
    ],
)
def test_numeric(completion, target, wanted):
    assert judged("numeric", completion, target) == wanted


def test_a_target_without_a_number_is_told():
    with pytest.raises(ValueError, match="the target 'blue' gives no number"):
        judged("numeric", "18", "blue")
    with pytest.raises(ValueError, match=r"\.\.\.' gives no number"):
        judged("numeric", "18", "blue " * 50)


@pytest.mark.parametrize(
    ("completion", "target", "wanted"),
    [
        (" New\n  York ", "new york", (1.0, "new york")),
        ("Ｐａｒｉｓ", "Paris", (1.0, "paris")),
        ("Paris.", "Paris", (0.0, "paris.")),
        ("  \n", "Paris", (0.0, None)),
    ],
)
def test_exact(completion, target, wanted):
    assert judged("exact", completion, target) == wanted


@pytest.mark.parametrize(
    ("spec", "completion", "target", "wanted"),
    [
        (r"regex:#### (-?[0-9.,]+)", "#### 1\n#### 1,000", "1000", (1.0, "1,000")),
        (r"regex-first:#### (-?[0-9.,]+)", "#### 1\n#### 1,000", GSM8K, (0.0, "1")),
        (r"regex:#### (-?[0-9.,]+)", "#### 18", GSM8K, (1.0, "18")),
        (r"regex:color: (\w+)|colour: (\w+)", "colour: BLUE", "blue", (1.0, "BLUE")),
        (r"regex:color: (\w+)", "no idea", "blue", (0.0, None)),
        (r"regex:a:b", "xa:b", "a:b", (1.0, "a:b")),
    ],
)
def test_regex(spec, completion, target, wanted):
    assert judged(spec, completion, target) == wanted


def test_a_pattern_that_never_ends_is_an_error_of_the_row_and_soon_refused(monkeypatch):
    monkeypatch.setattr(registry, "SEARCHING", 0.1)
    monkeypatch.setattr(registry, "STUCK", 2)
    chosen = scorer("regex:(a+)+$", place())
    asked = Asked("b", "q", "v", "a")
    try:
        assert chosen.score("aaa", asked).score == 0.0
        with pytest.raises(Exception, match=r"more than 0\.1 s"):
            chosen.score("a" * 40 + "b", asked)
        with pytest.raises(
            InputError, match=r"'\(a\+\)\+\$' takes more than 0\.1 s on 2 completions; write it without"
        ):
            chosen.score("a" * 40 + "b", asked)
    finally:
        chosen.close()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("numeri", "unknown scorer 'numeri'; did you mean 'numeric'"),
        ("numeric:3", "--scorer: numeric takes nothing after it, got '3'"),
        ("regex:(", r"the pattern '\(' cannot be read: missing \)"),
        ("regex", "no pattern; write regex:PATTERN"),
        ("choice:word", "unknown kind of target 'word'"),
    ],
)
def test_a_name_that_is_none_is_told(spec, told):
    with pytest.raises(InputError, match=told):
        scorer(spec, place())


def test_versions_change_with_the_code_that_decides(tmp_path, monkeypatch):
    assert scorer("numeric", place()).version != scorer("exact", place()).version
    code = tmp_path / "planted.py"
    code.write_text("a = 1\n")
    monkeypatch.setattr(base, "_PACKAGE", tmp_path)
    assert rules("planted") == hashlib.sha256(b"a = 1\n").hexdigest()[:8]
    code.write_text("a = 2\n")
    assert rules("planted") == hashlib.sha256(b"a = 2\n").hexdigest()[:8]


def test_every_scorer_is_told_of_in_the_module():
    assert all(re.search(rf"^.*\b{name}\b", registry.__doc__, re.MULTILINE) for name in SCORERS)


# maths: what math-verify says, through our process


@pytest.mark.parametrize(
    ("completion", "target", "score"),
    [
        (r"So it is $\boxed{\frac{1}{2}}$.", "0.5", 1.0),
        (r"$x=\frac{\sqrt2}{2}$", r"\frac{1}{\sqrt{2}}", 1.0),
        ("$(x+1)^2$", "x^2+2x+1", 1.0),
        ("The answer is $1+x$", "$x + 2$", 0.0),
        (r"\boxed{\{1,2\}}", r"\{2,1\}", 1.0),
        ("The answer is 18", GSM8K, 1.0),
        ("The answer is 17", GSM8K, 0.0),
        (r"\boxed{(1,2]}", r"The interval is $\boxed{(1,2]}$.", 1.0),
        ("$1,250.50", "$1,250.50", 1.0),
    ],
)
def test_maths(completion, target, score):
    pytest.importorskip("math_verify")
    from howsure.scorers.maths import judge

    found, answer = judge(completion, target)[::-1]
    assert (found, answer is not None) == (score, True)


def test_maths_of_nothing_is_no_answer_and_a_target_of_nothing_is_told():
    pytest.importorskip("math_verify")
    from howsure.scorers.maths import judge, ready

    ready()
    assert judge("Who knows?", "18") == (None, 0.0)
    with pytest.raises(ValueError, match="the target '' is no mathematics"):
        judge("18", "")


def test_maths_that_never_ends_is_an_error_of_the_row_in_any_thread(monkeypatch):
    pytest.importorskip("math_verify")
    import threading

    monkeypatch.setattr(registry, "COMPARING", 0.5)
    found = []

    def run():
        chosen = scorer("maths", place())
        asked = Asked("b", "q", "v", "3")
        for completion in ("$9^{9^{9^{9}}}$", "$3$", "$3$", "nothing at all"):
            try:
                found.append(chosen.score(completion, asked))
            except Exception as error:  # noqa: BLE001  whatever comes
                found.append(str(error))
        try:
            chosen.score("$3$", Asked("b", "q", "v", ""))
        except ValueError as error:
            found.append(str(error))
        chosen.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(120)
    assert found[0].startswith("it took more than 0.5 s")
    assert found[1:] == [
        (1.0, "3", "math-verify"),
        (1.0, "3", "math-verify"),
        (0.0, None, "no mathematics"),
        "the target '' is no mathematics",
    ]


def test_maths_names_the_library_in_its_version_and_the_extra_where_it_is_absent(monkeypatch):
    monkeypatch.setattr(registry.metadata, "version", lambda _: "0.9.0")
    monkeypatch.setattr(registry.util, "find_spec", lambda _: object())
    assert scorer("maths", place()).version.startswith("math-verify-0.9.0-")
    monkeypatch.setattr(registry.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r'not installed; pip install "howsure\[maths\]"'):
        scorer("maths", place())


# choice

CITIES = ("Rome", "Oslo", "Bern")


def asked_of(path, targets, choices=CITIES, **record):
    """A run whose questions q0, q1, ... show these choices."""
    rows = [response(f"q{i}", completion="?", target=target) for i, target in enumerate(targets)]
    kept = [("b", f"q{i}", "default", [], t, {"choices": list(choices), **record}) for i, t in enumerate(targets)]
    return run_of(path, rows, kept)


def chosen_of(path, spec, completion, target, question="q0"):
    found = scorer(spec, place(path)).score(completion, Asked("b", question, "default", target))
    return found.score, found.answer


@pytest.mark.parametrize(
    ("targets", "target", "right"),
    [
        (["B", "A"], "B", "B"),
        (["Oslo", "Rome"], "Oslo", "B"),
        (["1", "0"], "1", "B"),
        (["3", "1"], "3", "C"),
        (["b", "Rome", "C", "A"], "b", "B"),
    ],
)
def test_a_target_is_a_letter_a_place_or_a_text(tmp_path, targets, target, right):
    path = asked_of(tmp_path, targets)
    text = CITIES["ABC".index(right)]
    assert chosen_of(path, "choice", f"The answer is ({right}).", target) == (1.0, right)
    assert chosen_of(path, "choice", f"It must be {text}", target) == (1.0, right)
    wrong = "A" if right != "A" else "B"
    assert chosen_of(path, "choice", wrong, target) == (0.0, wrong)
    assert chosen_of(path, "choice", "Who knows?", target) == (0.0, None)


def test_a_target_that_may_be_two_places_is_asked_about_and_can_be_told(tmp_path):
    path = asked_of(tmp_path, ["1", "2"])
    with pytest.raises(InputError, match=r"b: the targets can be read in several ways: index, number; say which: "):
        scorer("choice", place(path))
    assert chosen_of(path, "choice:index", "B", "1") == (1.0, "B")
    assert chosen_of(path, "choice:number", "A", "1") == (1.0, "A")


def test_a_target_that_is_no_choice_is_an_error_of_its_row(tmp_path):
    path = asked_of(tmp_path, ["Oslo", "Rome", "Paris"])
    assert chosen_of(path, "choice", "B", "Oslo") == (1.0, "B")
    with pytest.raises(ValueError, match="the target 'Paris' is none of the choices"):
        chosen_of(path, "choice", "B", "Paris", "q2")


def test_labels_that_a_log_names_are_those_of_the_prompt(tmp_path):
    path = asked_of(tmp_path, ["2", "3"], labels=["1", "2", "3"])
    assert chosen_of(path, "choice:label", "The answer is (2).", "2") == (1.0, "B")
    assert chosen_of(path, "choice:label", "2", "3", "q1") == (0.0, "B")


def test_without_choices_a_letter_is_read_and_only_a_letter_is_a_target(tmp_path):
    path = run_of(tmp_path, [response(completion="?", target="B")], [("b", "q0", "default", [], "B", None)])
    assert chosen_of(path, "choice", "The answer is B", "B") == (1.0, "B")
    assert chosen_of(path, "choice", "no idea", "B") == (0.0, None)
    with pytest.raises(ValueError, match="no choices are kept, and the target 'Oslo' is no letter"):
        chosen_of(path, "choice", "B", "Oslo")


def test_more_choices_than_letters_are_not_lettered(tmp_path):
    path = asked_of(tmp_path, ["B"], choices=[f"text {i}" for i in range(30)])
    assert chosen_of(path, "choice", "The answer is B", "B") == (1.0, "B")


# own: another program's output, the variants that asked; here they read what our scorer reads from the folder

COMPLETIONS = ["The answer is (II).", "b", "B", "Oslo", "2", "(C)", "I think it is Rome or Oslo", "β", "", "3: Bern"]


def multiple_choice(folder: Path) -> Benchmark:
    lines = [
        {"q": f"Question {i}?", "options": ["Rome", "Oslo", "Bern"] if i % 2 else ["1", "2", "3"], "a": "ABC"[i % 3]}
        for i in range(8)
    ]
    (folder / "cities.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return load({"file": "cities.jsonl", "question": "q", "choices": "options", "target": "a"}, base=folder)


def sampled_run(path, benchmark, variants):
    rows, prompts = [], []
    for question in benchmark.questions:
        for variant in variants:
            record = variant.record(question)
            prompts.append((benchmark.name, question.id, variant.id, [], question.target, record))
            texts = [*COMPLETIONS, variant.say(question, question.target)]
            for k, text in enumerate(texts, 1):
                common = {"benchmark": benchmark.name, "variant": variant.id, "target": question.target}
                rows.append(response(question.id, k, completion=text, score=0.0, **common))
    about = Manifest(
        benchmarks={benchmark.name: {"questions": len(benchmark.questions), **benchmark.source}},
        prompts={variant.id: dict(variant.values) for variant in variants},
    )
    return run_of(path, rows, prompts, about), rows


@pytest.mark.parametrize("nested", [["order"], ["order", "instruction", "answer"]])
def test_own_reads_what_the_variants_that_asked_read(tmp_path, nested):
    benchmark = multiple_choice(tmp_path)
    spec = {"space": "multiple-choice", "sample": 60, "seed": 4, "default": True, "hold_out": 2, "nested": nested}
    spec["dimensions"] = {
        "demonstrations": [0, 2],
        "answer": ["label", "text"],
        "enumerator": ["digits", "roman"],
        "instruction": ["none", packaged("multiple-choice")[0].id],
    }
    found = sampled(spec, benchmark)
    path, rows = sampled_run(tmp_path / "runs" / "one", found.benchmark, found.variants)
    questions, variants = ({each.id: each for each in group} for group in (benchmark.questions, found.variants))
    chosen = own("own", place(path))
    read = 0
    for row in rows:
        wanted = variants[row.variant].read(questions[row.question], row.completion)
        got = chosen.score(row.completion, Asked(row.benchmark, row.question, row.variant, row.target))
        assert (got.answer, got.rule) == wanted
        assert got.score == float(wanted.answer == row.target)
        read += wanted.answer is not None
    assert 0.3 < read / len(rows) < 0.95


def test_own_without_choices_reads_as_the_kind_of_the_file_says_without_the_file(tmp_path):
    (tmp_path / "sums.jsonl").write_text('{"q": "9 * 2", "a": "#### 18"}')
    spec = {"file": "sums.jsonl", "question": "q", "target": "a", "target_after": "####", "answer": "numeric"}
    benchmark = load(spec, base=tmp_path)
    path, _ = sampled_run(tmp_path / "run", benchmark, [Own(benchmark, benchmark.prompt)])
    (tmp_path / "sums.jsonl").unlink()
    chosen = own("own", place(path))
    asked = Asked("sums", benchmark.questions[0].id, benchmark.prompt.id, "18")
    assert chosen.score("It makes 18.0", asked) == (1.0, "18", "benchmark")
    assert chosen.score("no", asked) == (0.0, None, "benchmark")


@pytest.mark.parametrize("spec", ["directions-small", {"name": "population", "size": 20, "seed": 3}])
def test_own_reads_built_in_benchmarks_as_they_read(tmp_path, spec):
    benchmark = load(spec)
    path, _ = sampled_run(tmp_path, Benchmark(**{**vars(benchmark), "questions": benchmark.questions[:3]}), [])
    chosen = own("own", place(path))
    for question in benchmark.questions[:3]:
        for answer in (question.target, *question.alternatives):
            got = chosen.score(f"The answer is {answer}.", Asked(benchmark.name, question.id, "v", question.target))
            assert (got.answer, got.score) == (answer, float(answer == question.target))


def test_own_reads_recorded_scores_and_benchmarks_that_are_handed_in(tmp_path):
    sources = {"rec": {"kind": "replay", "file": "gone.csv"}, "mine": {"kind": "custom"}}
    path = run_of(tmp_path, [], manifest=Manifest(benchmarks=sources))
    with pytest.raises(InputError, match="does not say how answers to 'mine' are read; name a scorer such as numeric"):
        own("own", place(path))
    mine = Benchmark("mine", [Question("q", "?", "yes")], Prompt(), extract=lambda text: text.strip() or None)
    chosen = own("own", place(path, {"mine": mine}))
    assert chosen.score("0.25", Asked("rec", "q", "v", "1.0")) == (0.25, "0.25", "benchmark")
    assert chosen.score(" yes ", Asked("mine", "q", "v", "yes")) == (1.0, "yes", "benchmark")


def test_own_wants_the_file_as_it_was_and_finds_it_where_it_is_said(tmp_path):
    (tmp_path / "data").mkdir()
    benchmark = multiple_choice(tmp_path / "data")
    variant = Own(benchmark, benchmark.prompt)
    path, _ = sampled_run(tmp_path / "run", benchmark, [variant])
    with pytest.raises(InputError, match=r"cities\.jsonl, the file of 'cities', is not near; say in which folder"):
        own("own", place(path))
    chosen = own("own", place(path, base=tmp_path / "data"))
    question = benchmark.questions[0]
    asked = Asked("cities", question.id, variant.id, question.target)
    assert chosen.score(question.target, asked).score == 1.0
    with pytest.raises(ValueError, match="does not have this question"):
        chosen.score("A", asked._replace(question="other"))
    with (tmp_path / "data" / "cities.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match="was changed since"):
        own("own", place(path, base=tmp_path / "data"))


def test_a_choice_of_our_own_run_is_read_by_its_labels(tmp_path):
    # the order and the labels of the prompt are kept, the texts of the choices are not
    benchmark = multiple_choice(tmp_path)
    found = sampled({"space": "multiple-choice", "sample": 6, "seed": 1}, benchmark)
    path, _ = sampled_run(tmp_path / "run", found.benchmark, found.variants)
    chosen = choice("choice", place(path))
    for question in benchmark.questions:
        for variant in found.variants:
            for letter in "ABC":
                said = f"The answer is {variant.say(question, letter)}"
                got = chosen.score(said, Asked(benchmark.name, question.id, variant.id, question.target))
                assert (got.answer, got.score) == (letter, float(letter == question.target))
