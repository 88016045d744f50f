"""`howsure report`, `run --live` and `audit` as a user would type them. Kind of truth: written by hand."""

import json
import re
import urllib.request
from html import unescape

import pytest

from howsure.api.report_facts import list_facts
from howsure.cli.sampling_commands import _serve_live
from howsure.results.sources import find_sources
from howsure.store.manifest import Manifest, ModelRecord, begin
from howsure.store.responses import RunFolder
from howsure.store.schema import Response


def folder_of(path, *, benchmarks=("sums",), name="openai/gpt-4o-mini", tokens=True):
    """Two models; they agree on another answer than the label of q0."""
    models = {
        "a": ModelRecord(name=name, kind="openai", base_url="https://api.openai.com/v1", settings={"temperature": 0.5}),
        "b": ModelRecord(name=name, kind="openai", base_url="https://api.openai.com/v1", settings={"temperature": 1}),
    }
    with RunFolder(path) as run:
        begin(path, Manifest(benchmarks={one: {} for one in benchmarks}, models=models))
        for benchmark in benchmarks:
            run.put_prompts([(benchmark, f"q{q}", "v", [{"role": "user", "content": f"Sum {q}?"}], f"{q}", None)
                             for q in range(8)])  # fmt: skip
            run.append([
                Response(
                    benchmark=benchmark, model=model, question=f"q{q}", variant="v", generation=g,
                    score=float(q > 0), answer=str(q) if q else "77", completion=f"It is {q or 77}.", target=str(q),
                    prompt_tokens=1000 if tokens else None, completion_tokens=500 if tokens else None,
                )
                for model in models for q in range(8) for g in (1, 2, 3)
            ])  # fmt: skip
    return path


def text_of(file):
    return re.sub(
        r"\s+",
        " ",
        unescape(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", file.read_text(), flags=re.DOTALL)),
    )


def test_the_page_of_a_run_says_how_it_was_made_and_whom_it_suspects(howsure, tmp_path):
    code, out, _ = howsure("report", folder_of(tmp_path / "run"), "--no-static", "-o", tmp_path / "page.html")
    assert (code, out.strip()) == (0, str(tmp_path / "page.html"))
    page = text_of(tmp_path / "page.html")
    assert "Settings temperature 0.5 to 1" in page
    assert "48,000 of prompts, 24,000 of completions" in page
    assert "Which labels contradict the models?" in page
    html = (tmp_path / "page.html").read_text()
    assert "Sum 0?" in html
    assert "2 of 2 models prefer another answer: 77" in html
    code, out, _ = howsure("report", tmp_path / "run", "-o", tmp_path / "lean.html", "--no-texts", "--no-static")
    assert code == 0
    assert "Sum 0?" not in (tmp_path / "lean.html").read_text()


def test_several_benchmarks_are_a_folder_and_figures_are_files(howsure, tmp_path):
    run = folder_of(tmp_path / "run", benchmarks=("sums", "more/sums"))
    code, out, err = howsure(
        "report", run, "--no-static", "-o", tmp_path / "page.html", "--figures", tmp_path / "figures"
    )
    assert (code, out.strip()) == (0, str(tmp_path / "page" / "index.html"))
    each = f"several benchmarks: each has a page in the folder {tmp_path / 'page'}"
    assert err.endswith(f"howsure: {each}, and {tmp_path / 'page.html'} is not written\n")
    assert {file.name for file in (tmp_path / "page").iterdir()} >= {"index.html", "sums.html", "more-sums.html"}
    drawn = sorted(file.name for file in (tmp_path / "figures" / "sums").glob("*.svg"))
    assert "forest.svg" in drawn
    assert len(list((tmp_path / "figures" / "sums").glob("*.csv"))) == len(drawn)


def test_audit_prints_the_suspect(howsure, tmp_path):
    code, out, _ = howsure("audit", folder_of(tmp_path / "run"), "--format", "json")
    [row] = json.loads(out)
    assert (code, row["question"], row["target"], row["answer"], row["models_agreeing"]) == (0, "q0", "0", "77", 2)
    code, out, _ = howsure("audit", tmp_path / "run", "--every", "--format", "json")
    assert len(json.loads(out)) == 8
    (tmp_path / "t.csv").write_text("model,question,score\nm,q1,1\n")
    code, _, err = howsure("audit", tmp_path / "t.csv")
    assert (code, "there are no answers to audit; give run folders or logs" in err) == (2, True)


def test_facts_that_are_unknown_are_left_out(tmp_path):
    found = find_sources(folder_of(tmp_path / "priced"))
    known = dict(list_facts(found, [one.manifest() for one in found]))
    assert set(known) <= {"Settings", "Tokens", "Cost, at list prices"}
    found = find_sources(folder_of(tmp_path / "own", name="no-such-model", tokens=False))
    assert list(dict(list_facts(found, [one.manifest() for one in found]))) == ["Settings"]
    assert list(list_facts([], [])) == []


def test_the_page_is_served_while_the_run_lasts(tmp_path, capsys):
    run = folder_of(tmp_path / "run")
    with _serve_live(run):
        url = capsys.readouterr().err.split()[-1]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(url, timeout=60) as answer:
            assert answer.status == 200
            assert b"howsure" in answer.read()
    with pytest.raises(OSError, match="refused|reset"):
        urllib.request.urlopen(url, timeout=10)


def test_the_page_of_one_of_two_benchmarks_has_the_tokens_of_this_one(howsure, tmp_path):
    run = folder_of(tmp_path / "run", benchmarks=("sums", "more"))
    howsure("report", run, "--benchmark", "more", "-o", tmp_path / "page.html", "--no-texts", "--no-static")
    assert "48,000 of prompts, 24,000 of completions" in text_of(tmp_path / "page.html")


def test_audit_of_a_run_folder_without_answers_looks_at_the_scores_and_says_so(howsure, tmp_path):
    """By hand: nobody solves q0."""
    table = tmp_path / "scores.csv"
    rows = [
        f"{model},q{i},{int(i > 0 and (i + len(model)) % 3 > 0)}" for model in ("a", "bb", "ccc") for i in range(12)
    ]
    table.write_text("\n".join(["model,question,score", *rows]) + "\n")
    assert howsure("convert", table, "-o", tmp_path / "run")[0] == 0
    _, of_table, _ = howsure("audit", table)
    code, out, _ = howsure("audit", tmp_path / "run")
    assert code == 0
    assert "no answers are recorded" in out
    assert "question      q0\n" in out
    lines, others = ([one for one in text.splitlines() if "next: " not in one] for text in (out, of_table))
    assert lines == others
