"""Scores of a judge corrected by labels, through the public functions and the command line.

Kind of truth: labels that were planted, and the statistics on the same arrays.
"""

import json
import re

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from helpers.judged_runs import write_judged_run

import howsure as hs
from howsure.api.judged_results import describe_labels, open_sample, plan_verdicts
from howsure.cli import cli
from howsure.errors import HowsureWarning, InputError
from howsure.judging.judge_run import read_completions
from howsure.judging.random_labels import append_lines
from howsure.review.queue import RunTexts, build_queue
from howsure.store.responses import read

pytestmark = pytest.mark.filterwarnings("ignore:.*a judge's opinion:howsure.errors.HowsureWarning")


@pytest.fixture
def run(tmp_path):
    """Model a: 40 of 120 judged wrong; b: 60 of 120."""
    return write_judged_run(tmp_path / "run", n_questions=60, generations=2, wrong={"a": 40, "b": 60})


def label(run, file, n, say):
    """Label a sample by a function of (model, completion); return the sample."""
    sample = open_sample(run, n, file)
    append_lines(
        file,
        [
            msgspec.structs.replace(
                task.label,
                inclusion=None,
                verdict="CORRECT" if right else "INCORRECT",
                score=float(right),
                reviewer="ann",
            )
            for task in sample.tasks
            for right in [say(task.label.model, task.completion)]
        ],
    )
    return sample


def test_labels_of_everything_are_the_score(run, tmp_path):
    """People say that model b is always right: its score becomes 1, and that of a stays."""
    file = tmp_path / "labels.jsonl"
    label(run, file, 1000, lambda model, text: model == "b" or text.startswith("yes"))
    result = hs.score(run, calibrate=file)
    by_model = {row["model"]: row for row in result}
    assert by_model["a"]["score"] == pytest.approx(2 / 3)
    assert by_model["b"]["score"] == pytest.approx(1.0)
    assert by_model["b"]["judge_score"] == pytest.approx(0.5)
    difference = hs.compare(run, "a", "b", calibrate=file)
    assert difference["difference"][0] == pytest.approx(-1 / 3)
    assert difference["judge_difference"][0] == pytest.approx(1 / 6)
    errors = hs.judge_errors(run, file)
    assert errors["difference"][0] == pytest.approx(0.5)


def test_refusals_score_0_and_unreadable_verdicts_are_counted(tmp_path):
    """Of 100 completions 30 are refused and 10 have no readable verdict: 60 judged, all right, and people agree."""
    run = write_judged_run(
        tmp_path / "run", n_questions=100, generations=1, wrong={"a": 0, "b": 20}, refused=30, unreadable=10
    )
    file = tmp_path / "labels.jsonl"
    sample = label(run, file, 60, lambda _, text: text.startswith("yes"))
    assert all(task.label.generation == 1 and int(task.label.question[1:]) < 60 for task in sample.tasks)
    by_model = {row["model"]: row for row in hs.score(run, calibrate=file)}
    assert by_model["a"]["score"] == pytest.approx(60 / 90)
    assert by_model["a"]["high"] < 0.9
    assert by_model["b"]["score"] == pytest.approx(40 / 90)
    assert "without a readable verdict, left out: 10" in by_model["a"]["note"]
    assert hs.compare(run, "a", "b", calibrate=file)["difference"][0] == pytest.approx(20 / 90)


def test_labels_that_differ_are_counted_out(run, tmp_path):
    file = tmp_path / "labels.jsonl"
    sample = label(run, file, 60, lambda _, text: text.startswith("yes"))
    drawn = next(task.label for task in sample.tasks if task.completion.startswith("yes"))
    append_lines(file, [msgspec.structs.replace(drawn, inclusion=None, verdict="INCORRECT", score=0.0, reviewer="bo")])
    lines = describe_labels(run, file)
    assert any("says right of 1.000 [0." in line and "(59 labels)" in line for line in lines)
    assert any("reviewers differ: 1" in line for line in lines)


def test_a_sample_corrects_the_scores(run, tmp_path):
    """Half of the completions: the interval covers what all labels would give."""
    file = tmp_path / "labels.jsonl"
    sample = label(run, file, 120, lambda model, text: text.startswith("yes") and model == "a")
    assert 115 <= len(sample.tasks) <= 125
    by_model = {row["model"]: row for row in hs.score(run, calibrate=file)}
    assert by_model["a"]["low"] <= 2 / 3 <= by_model["a"]["high"]
    assert by_model["b"]["low"] == 0
    assert by_model["b"]["high"] < 0.3
    raw = {row["model"]: row for row in hs.score(run, calibrate=file, method="raw")}
    assert raw["b"]["score"] == pytest.approx(0.5)
    assert "opinion" in raw["b"]["note"]


def test_the_commands_print_it(run, tmp_path):
    file = tmp_path / "labels.jsonl"
    label(run, file, 60, lambda model, text: text.startswith("yes") or model == "b")
    runner = CliRunner()
    scored = runner.invoke(cli, ["score", str(run), "--calibrate", str(file)])
    assert scored.exit_code == 0
    assert "judge_score" in scored.stdout
    assert "self-preference: the judge's error on a differs by" in scored.stdout
    compared = runner.invoke(cli, ["compare", str(run), "--a", "a", "--b", "b", "--calibrate", str(file)])
    assert "the judge's own difference" in compared.stdout
    below = "\n".join(describe_labels(run, file))
    assert "self-preference" in below
    for printed in (scored.stdout, compared.stdout):
        assert below.split() == printed.split()[-len(below.split()) :]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"claim": "these-questions"}, "new questions"),
        ({"method": "t"}, "unknown method of calibration"),
        ({"missing": "as-zero"}, "missing with calibrate"),
        ({"method": "rogan"}, "unknown method of calibration"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(run, tmp_path, options, message):
    file = tmp_path / "labels.jsonl"
    label(run, file, 20, lambda _, text: text.startswith("yes"))
    with pytest.raises(InputError, match=message):
        hs.score(run, calibrate=file, **options)


def test_labels_without_a_run_or_of_another_are_refused(run, tmp_path):
    file = tmp_path / "labels.jsonl"
    open_sample(run, 20, file)
    with pytest.raises(InputError, match="no line has a score or a verdict"):
        hs.score(run, calibrate=file)
    label(run, file, 20, lambda _, text: text.startswith("yes"))
    with pytest.raises(InputError, match="the sample in it has"):
        open_sample(run, 200, file)
    other = write_judged_run(tmp_path / "other", n_questions=3, generations=1, wrong={"c": 1})
    with pytest.raises(InputError, match="none of the labels"):
        hs.score(other, calibrate=file)
    cells = hs.read(run).cells()
    with pytest.raises(InputError, match="need a run folder"):
        hs.score(cells, calibrate=file)
    table = tmp_path / "t.csv"
    table.write_text("model,question,score\na,1,1\na,2,0\n")
    with pytest.raises(InputError, match="none of the labels"):
        hs.score(table, calibrate=file)


def test_labels_made_elsewhere_need_a_question_and_a_score_or_a_verdict(run, tmp_path):
    """The labels of a sample, with the fields left out that the run has one of, give the corrected scores of all."""
    file = tmp_path / "labels.jsonl"
    label(run, file, 1000, lambda model, text: text.startswith("yes") != (model == "a"))
    whole = hs.score(run, calibrate=file)
    lines = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]
    lines = [line for line in lines if "verdict" in line]
    for left_out in ("score", "verdict"):
        kept = [name for name in ("model", "question", "generation", "score", "verdict") if name != left_out]
        rows = [{name: line[name] for name in kept} for line in lines]
        (tmp_path / "short.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        text = [kept, *([str(row[name]) for name in kept] for row in rows)]
        (tmp_path / "short.csv").write_text("".join(",".join(row) + "\n" for row in text))
        for name in ("short.jsonl", "short.csv"):
            scores = hs.score(run, calibrate=tmp_path / name)
            for column in ("score", "low", "n_labels"):
                assert scores[column].tolist() == pytest.approx(whole[column].tolist())
    for text, message in (
        ('{"model": "a", "question": "q1", "score": 1}', "2 completions .* add generation"),
        ('{"model": "a", "question": "q1", "generation": 1, "verdict": "MAYBE"}', "MAYBE.*CORRECT, INCORRECT"),
        ('{"model": "a", "score": 1}', "line 1.*`question`.*question and score"),
    ):
        (tmp_path / "bad.jsonl").write_text(text + "\n")
        with pytest.raises(InputError, match=message):
            hs.score(run, calibrate=tmp_path / "bad.jsonl")


def test_a_table_of_judged_scores_is_corrected_by_labels(howsure, run, tmp_path):
    """The same scores and labels give the same result from a run folder and from a table, except for the lengths."""
    file = tmp_path / "labels.jsonl"
    label(run, file, 1000, lambda model, text: text.startswith("yes") != (model == "a"))
    whole = hs.score(run, calibrate=file)
    people = {
        (line["model"], line["question"], line["generation"]): line["score"]
        for line in map(msgspec.json.decode, file.read_bytes().splitlines())
        if "verdict" in line
    }
    rows = [
        f"{model},{question},{generation},{score:g},{people[model, question, generation]:g}"
        for model, question, generation, score in zip(
            *read(run, ["model", "question", "generation"]).to_pydict().values(),
            hs.show(run, limit=None)["score"].tolist(),
            strict=True,
        )
    ]
    table = tmp_path / "judged.csv"
    table.write_text("model,question,generation,judge_score,human\n" + "\n".join(rows) + "\n")
    code, out, _ = howsure("score", table, "--columns", "score=judge_score", "--calibrate", table, "--format", "json")
    assert code == 0
    scores = json.loads(out)
    for name in ("model", "score", "low", "judge_score", "n_labels"):
        wanted = whole[name].tolist()
        assert [row[name] for row in scores] == (wanted if name == "model" else pytest.approx(wanted))
    columns = {"score": "judge_score"}
    assert set(hs.judge_errors(hs.read(table, columns=columns), table)["test"]) == {"self-preference"}
    judged = hs.read(table, columns=columns)
    with pytest.warns(HowsureWarning, match="people's labels correct the headline"):
        written = hs.report(judged, tmp_path / "page.html", texts=False, static_figures=False, calibrate=table)
    page = written.read_text(encoding="utf-8")
    [verdict] = re.findall(r'<p class="verdict">(.*?)</p>', page)
    best = max(whole, key=lambda row: row["score"])
    assert f"Corrected by people&#39;s labels, {best['model']} has the highest score, {best['score']:.3f}" in verdict
    assert "people&#39;s labels correct the headline" in page
    assert "judge&#39;s scores were read from a table" in page
    assert "The judge is" not in page
    twice = tmp_path / "twice.csv"
    twice.write_text("model,question,judge_score,human\na,q1,1,1\na,q1,0,1\n")
    with pytest.raises(InputError, match="several rows"):
        hs.score(hs.read(twice, columns=columns), calibrate=twice)


EXPERIMENT = """
benchmark: directions-small
limit: 40
models: [simulated/medium, simulated/small]
generations: 3
judge: {model: simulated/large, repeats: 3}
"""


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repeated")
    (folder / "exp.yaml").write_text(EXPERIMENT)
    hs.run(folder / "exp.yaml")
    return folder / "exp"


def test_repeated_verdicts_have_an_error_of_their_own(repeated):
    result = hs.score(repeated)
    noise = hs.judge_noise(repeated)
    by_model = {row["model"]: row for row in noise}
    assert all(0 < row["se_judge"] == by_model[row["model"]]["se_judge"] < row["se"] for row in result)
    verdicts = read(next((repeated / "judges").iterdir())).to_pylist()
    pairs = [
        (a["answer"], b["answer"])
        for a in verdicts
        for b in verdicts
        if a["question"] == b["question"] and a["generation"] < b["generation"] and a["answer"] and b["answer"]
    ]
    share = np.mean([a != b for a, b in pairs])
    assert noise["flip_rate"].mean() == pytest.approx(share, abs=0.1)
    assert np.all((noise["low"] < noise["flip_rate"]) & (noise["flip_rate"] < noise["high"]))


def compute_judge_error(folder, model, is_read):
    """se_judge by loops over the completions of a model that are read: sum of w^2 s2/r over what was judged."""
    [place] = (folder / "judges").iterdir()
    verdicts = {}
    for row in read(place).to_pylist():
        if row["answer"]:
            verdicts.setdefault(row["question"], []).append(float(row["answer"] == "CORRECT"))
    of_question = {}
    for one in read_completions(place)[1].to_pylist():
        if one["model"] == model and is_read(one) and one["units"][0] in verdicts:
            of_question.setdefault(one["question"], []).append(one["units"][0])
    weight = {}
    for units in of_question.values():
        for unit in units:
            weight[unit] = weight.get(unit, 0) + 1 / (len(of_question) * len(units))
    variances = {u: np.var(verdicts[u], ddof=1) for u in weight if len(verdicts[u]) > 1}
    usual = np.mean(list(variances.values()))
    return np.sqrt(sum(w**2 * variances.get(u, usual) / len(verdicts[u]) for u, w in weight.items()))


def test_the_noise_of_the_judge_is_that_of_the_completions_that_are_read(repeated, tmp_path):
    """Against loops: first generations alone, and without the questions that reviewers rejected."""
    first = hs.read(repeated, generations=1)
    assert (hs.judge_noise(first)["n_completions"] <= 40).all()
    assert (hs.judge_noise(repeated)["n_completions"] > 80).all()
    for result in (hs.score(first), hs.judge_noise(first)):
        for row in result:
            expected = compute_judge_error(repeated, row["model"], lambda one: one["generation"] == 1)
            assert row["se_judge"] == pytest.approx(expected)
    questions = sorted({row["question"] for row in read(repeated).to_pylist()})
    rejected, file = questions[::2], tmp_path / "verdicts.jsonl"
    line = {"benchmark": "directions-small", "verdict": "ambiguous", "reviewer": "ann", "note": "", "answer": ""}
    lines = [{**line, "question": q, "key": q, "when": "2026-11-23T00:00:00.000000Z"} for q in rejected]
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))
    with pytest.warns(HowsureWarning, match="20 of 40 questions left out"):
        result = CliRunner().invoke(cli, ["score", str(repeated), "--exclude", str(file), "--format", "json"])
    for row in json.loads(result.stdout):
        expected = compute_judge_error(repeated, row["model"], lambda one: one["question"] not in rejected)
        assert row["se_judge"] == pytest.approx(expected)


def test_the_commands_show_the_judge(repeated, tmp_path):
    runner = CliRunner()
    assert "se_judge" in runner.invoke(cli, ["score", str(repeated)]).stdout
    for form in ("table", "wide"):
        assert "flip_rate" in runner.invoke(cli, ["repeats", str(repeated), "--format", form]).stdout
    planned = runner.invoke(cli, ["plan", str(repeated), "--cost", "verdict=0.25", "--budget", "300"])
    assert any("verdicts" in line.split() for line in planned.stdout.splitlines())
    (tmp_path / "t.csv").write_text("model,question,score\na,1,1\na,2,0\n")
    plain = runner.invoke(cli, ["score", str(tmp_path / "t.csv")]).stdout
    assert "judge" not in plain
    assert runner.invoke(cli, ["plan", str(repeated), "--cost", "verdict=0.25"]).exit_code != 0


def test_a_plan_of_verdicts_heeds_its_budget(repeated):
    plan = plan_verdicts(hs.read(repeated), budget=100, verdict_cost=0.1)
    assert np.all(plan["cost"] <= 100)
    assert np.all(np.diff(plan["se"]) >= 0)
    with pytest.raises(InputError, match="unknown model"):
        plan_verdicts(hs.read(repeated), budget=100, verdict_cost=0.1, model="none")


def test_the_judge_is_said(run):
    with pytest.warns(HowsureWarning, match="a judge's opinion"):
        hs.score(run)


def test_a_dry_run_counts_the_verdicts(tmp_path):
    """40 questions, 2 models, 3 completions and 3 verdicts of each: 720."""
    (tmp_path / "exp.yaml").write_text(EXPERIMENT)
    estimated = CliRunner().invoke(cli, ["run", str(tmp_path / "exp.yaml"), "--dry-run"])
    assert "up to 720 verdicts of simulated/large" in estimated.stderr


def test_a_report_says_what_labels_say_of_the_judge(run, tmp_path):
    """People say that model b is always right, so that the judge errs against it; without labels it is an opinion."""
    plain = hs.report(run, tmp_path / "plain.html", texts=False, static_figures=False).read_text(encoding="utf-8")
    assert "The judge is simulated/large, with the template correct." in plain
    assert "the judge&#39;s opinion" in plain
    file = tmp_path / "labels.jsonl"
    label(run, file, 1000, lambda model, text: model == "b" or text.startswith("yes"))
    with pytest.warns(HowsureWarning, match="people's labels correct the headline, the table and figure") as caught:
        written = hs.report(run, tmp_path / "page.html", texts=False, static_figures=False, calibrate=file)
    assert not any("opinion" in str(one.message) for one in caught)
    page = written.read_text(encoding="utf-8")
    assert "The judge errs in favour of a: its error there differs by +0.500" in page
    assert "in favour of b" not in page
    assert "the judge&#39;s opinion" not in page
    assert "people&#39;s labels correct the headline" in page


def test_a_report_with_labels_has_the_scores_of_score_and_the_test_of_compare(run, tmp_path):
    """By the judge a is ahead of b, 2/3 to 1/2; people say that b is always right."""
    file = tmp_path / "labels.jsonl"
    label(run, file, 100, lambda model, text: model == "b" or text.startswith("yes"))
    rows = {row["model"]: row for row in hs.score(run, calibrate=file)}
    assert rows["b"]["score"] > rows["a"]["score"]
    with pytest.warns(HowsureWarning, match="people's labels correct"):
        written = hs.report(run, tmp_path / "page.html", texts=False, static_figures=False, calibrate=file)
    page = written.read_text(encoding="utf-8")
    [verdict] = re.findall(r'<p class="verdict">(.*?)</p>', page)
    one = rows["b"]
    assert (
        f"b has the highest score, {one['score']:.3f} (95% interval {one['low']:.3f} to {one['high']:.3f})" in verdict
    )
    is_different = hs.compare(run, "a", "b", calibrate=file)["p_value"][0] < 0.05
    assert ("b clearly differs from the other model" in verdict) == is_different
    assert "By the judge&#39;s own scores, a is the highest, 0.667." in verdict
    [table] = re.findall(r"<tbody>(.*?)</tbody>", page[page.index("Judge's own score") :], re.DOTALL)[:1]
    found = re.findall(r"<bdi>([ab])</bdi>.*?strong\">([\d.]+)<.*?nowrap\">([\d.]+) to ([\d.]+)<", table, re.DOTALL)
    assert found == [(name, *(f"{rows[name][key]:.3f}" for key in ("score", "low", "high"))) for name in "ba"]


def test_corrected_scores_are_of_the_generations_that_are_read(tmp_path):
    """Of the first 5 of 20 completions, which are wrong, 3 are first generations: .7 of 10 questions, and .75 of all."""
    run, file = write_judged_run(tmp_path / "run", n_questions=10, generations=2, wrong={"a": 5}), tmp_path / "l.jsonl"
    label(run, file, 1000, lambda _, text: text.startswith("yes"))
    [first] = hs.score(hs.read(run, generations=1), calibrate=file)
    assert (first["n_completions"], first["judge_score"], first["score"]) == (10, 0.7, pytest.approx(0.7))
    assert [row["score"] for row in hs.score(run, calibrate=file)] == [pytest.approx(0.75)]


def test_a_report_with_too_few_labels_says_so(run, tmp_path):
    """One label of each model corrects nothing: the headline is the judge's, who puts a first."""
    file = tmp_path / "labels.jsonl"
    label(run, file, 1000, lambda model, _: model == "b")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    rows = {one["model"]: one for one in lines if one.get("reviewer") == "ann"}
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    with pytest.warns(HowsureWarning, match="the labels are too few to correct the score of any model") as caught:
        written = hs.report(run, tmp_path / "page.html", texts=False, static_figures=False, calibrate=few)
    assert not any("collects people's labels" in str(one.message) for one in caught)
    page = written.read_text(encoding="utf-8")
    assert '<p class="verdict">a has the highest score' in page
    assert "the labels are too few to correct" in page


def test_rejected_questions_are_left_out_of_corrected_scores(run, tmp_path):
    """Without the first 20 questions, whose 40 completions of a are all those that are wrong, a is always right."""
    file, verdicts = tmp_path / "labels.jsonl", tmp_path / "verdicts.jsonl"
    label(run, file, 1000, lambda _, text: text.startswith("yes"))
    lines = [
        {
            "benchmark": "facts",
            "question": f"q{i}",
            "key": f"k{i}",
            "verdict": "ambiguous",
            "reviewer": "ann",
            "when": "2026-11-23T00:00:00.000000Z",
        }
        for i in range(20)
    ]
    verdicts.write_text("".join(json.dumps({**line, "note": "", "answer": ""}) + "\n" for line in lines))
    for command in (["score", str(run)], ["compare", str(run), "--a", "a", "--b", "b"]):
        options = ["--calibrate", str(file), "--exclude", str(verdicts), "--format", "json"]
        with pytest.warns(HowsureWarning, match="20 of 60 questions left out") as caught:
            result = CliRunner().invoke(cli, [*command, *options])
        assert not any("opinion" in str(one.message) for one in caught)
        [first, *_] = json.loads(result.stdout)
        assert first["n_questions"] == 40
        assert first.get("score", first.get("difference")) == pytest.approx(1.0 if command[0] == "score" else 0.25)


def test_labels_for_a_report_that_no_judge_scored_are_refused(tmp_path):
    table, experiment, run = tmp_path / "t.csv", tmp_path / "exp.yaml", tmp_path / "exp"
    table.write_text("model,question,score\na,1,1\na,2,0\nb,1,0\nb,2,1\n")
    experiment.write_text("{benchmark: directions-small, models: [simulated/medium], generations: 1, limit: 5}")
    hs.run(experiment)
    result = CliRunner().invoke(cli, ["report", str(run), "-o", str(tmp_path / "r.html"), "--calibrate", str(table)])
    assert result.exit_code != 0
    assert "no judge has scored these results" in str(result.exception) + result.output
    plain = hs.report(table, tmp_path / "r.html", static_figures=False).read_text(encoding="utf-8")
    assert "The judge is" not in plain
    assert "judge&#39;s scores were read" not in plain


def test_a_table_with_too_few_labels_has_the_judges_scores_in_its_report(tmp_path):
    """One label of each model corrects nothing; the second benchmark has no label at all."""
    table = tmp_path / "t.csv"
    rows = [
        f"{benchmark},{model},q{i},{i % 2},{'1' * (benchmark == 'one' and i == 0)}"
        for benchmark in ("one", "two")
        for model in "ab"
        for i in range(10)
    ]
    table.write_text("benchmark,model,question,judge_score,human\n" + "\n".join(rows) + "\n")
    judged = hs.read(table, columns={"score": "judge_score"})
    with pytest.warns(HowsureWarning, match="too few to correct the score of any model"):
        written = hs.report(judged, tmp_path / "site", texts=False, static_figures=False, calibrate=table)
    index, [one], [two] = written, *(list((tmp_path / "site").glob(f"*{name}*.html")) for name in ("one", "two"))
    assert "too few to correct" in index.read_text(encoding="utf-8")
    assert "too few to correct" in one.read_text(encoding="utf-8")
    page = two.read_text(encoding="utf-8")
    assert "No row is labelled by people, so that these scores are the judge&#39;s opinion." in page
    assert "howsure review" not in page


def test_the_review_of_a_judged_run_has_its_questions_and_suspects_none(tmp_path):
    """All completions of half of the questions are judged wrong: the models share a verdict, and no other answer."""
    run = write_judged_run(tmp_path / "run", n_questions=20, generations=2, wrong={"a": 20, "b": 20, "c": 20})
    queue = build_queue(RunTexts([run]))
    assert len(queue) == 20
    assert not any(entry.evidence.is_outvoted or entry.evidence.is_on_map for entry in queue)


def test_only_the_benchmarks_that_are_read_are_corrected(tmp_path):
    experiment = tmp_path / "exp.yaml"
    experiment.write_text(
        "benchmark: [{name: directions-small, limit: 12}, {name: directions-large, limit: 12}]\n"
        "models: [simulated/medium]\ngenerations: 2\njudge: {model: simulated/large, repeats: 2}\n"
    )
    hs.run(experiment)
    file = tmp_path / "labels.jsonl"
    label(tmp_path / "exp", file, 1000, lambda _, text: bool(text))
    one = hs.read(tmp_path / "exp", benchmarks=["directions-small"])
    assert len(hs.score(tmp_path / "exp", calibrate=file)["benchmark"]) == 2
    assert hs.score(one, calibrate=file)["benchmark"].tolist() == ["directions-small"]
    assert hs.judge_noise(one)["benchmark"].tolist() == ["directions-small"]
    plans = plan_verdicts(one, budget=100, verdict_cost=1)
    assert set(plans["benchmark"]) == {"directions-small"}


def test_verdicts_are_no_answers_on_which_models_agree_against_a_target(tmp_path):
    """By hand: all models are judged wrong on the first questions, where they answered otherwise than each other."""
    run = write_judged_run(tmp_path / "run", n_questions=30, generations=1, wrong={"a": 5, "b": 5, "c": 5})
    results = hs.read(run)
    assert results.answers() == {}
    assert "models_agreeing" not in hs.audit(results)
    with pytest.raises(InputError, match="there are no answers, which majority@k needs"):
        hs.attempts(results, k=[1], majority=True)
