"""Runs, reports, conversions and new scores from Python, as the commands make them."""

import asyncio
import threading

import pytest

import howsure as hs
from howsure.api import run_folders
from howsure.errors import HowsureWarning, InputError


@pytest.fixture
def experiment(tmp_path):
    file = tmp_path / "exp.yaml"
    file.write_text("{benchmark: directions-small, models: [simulated/medium, simulated/small], generations: 2}")
    return file


def test_a_run_returns_its_results(experiment, capsys):
    results = hs.run(experiment)
    columns = hs.score(results).columns()
    assert columns["model"].tolist() == ["simulated/medium", "simulated/small"]
    assert columns["n_generations"].tolist() == [200, 200]
    assert "400 generations in" in capsys.readouterr().err
    assert hs.run(experiment).cells()[0].n.sum() == 400  # nothing was missing


def test_a_run_works_where_an_event_loop_runs(experiment, tmp_path):
    async def notebook():
        loop_before = asyncio.get_running_loop()
        results = hs.run(experiment, tmp_path / "folder")
        assert asyncio.get_running_loop() is loop_before
        return results

    assert asyncio.run(notebook()).cells()[0].n.sum() == 400
    assert (tmp_path / "folder").is_dir()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("howsure")]


def test_an_interrupted_run_is_interrupted_here_too(experiment, monkeypatch):
    interrupted = run_folders.SampledExperiment(run_folders.INTERRUPTED)
    monkeypatch.setattr(run_folders, "sample_experiment", lambda *_, **__: interrupted)
    with pytest.raises(KeyboardInterrupt):
        hs.run(experiment)


def test_a_part_of_the_questions(experiment):
    assert hs.run(experiment, shard="2/4").cells()[0].n.sum() == 100
    with pytest.raises(InputError, match="write it as 2/8"):
        hs.run(experiment, shard="5/4")


def test_report_rescore_and_convert(experiment, tmp_path):
    results = hs.run(experiment)
    steps = []
    page = hs.report(
        results,
        tmp_path / "page.html",
        title="Two simulated models",
        texts=False,
        static_figures=False,
        progress=steps.append,
    )
    assert steps[:3] == ["reading scores", "reading runs", "reading answers"]
    assert len(steps) == 4
    assert page == tmp_path / "page.html"
    assert "Two simulated models" in page.read_text()
    agreement = hs.rescore(experiment.with_suffix(""), "own").columns()
    assert agreement["agreement"].tolist() == [1.0, 1.0]
    hs.convert(results, tmp_path / "rows.parquet", to="parquet")
    assert (
        hs.score(tmp_path / "rows.parquet").columns()["score"].tolist() == hs.score(results).columns()["score"].tolist()
    )
    content = (tmp_path / "rows.parquet").read_bytes()
    for form in ("parquet", "eval-arena"):
        with pytest.raises(InputError, match="rows.parquet: the file exists; give another name with -o, or remove it"):
            hs.convert(results, tmp_path / "rows.parquet", to=form)
    assert (tmp_path / "rows.parquet").read_bytes() == content


def test_rejected_questions_are_left_out_of_a_report_and_never_of_a_conversion(experiment, tmp_path):
    results = hs.run(experiment)
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.write_text("")
    with pytest.warns(HowsureWarning, match="0 of 100 questions left out"):
        assert hs.report(results, tmp_path / "page.html", exclude=verdicts, static_figures=False).exists()
    with pytest.raises(InputError, match="a conversion keeps every question"):
        hs.convert(run_folders.open_results(results, verdicts), tmp_path / "rows.parquet", to="parquet")


def test_a_report_is_not_written_among_the_results_it_reads(tmp_path):
    """Of two benchmarks, both.html is the folder both, which has the tables."""
    (tmp_path / "both").mkdir()
    for name in ("one", "two"):
        rows = "".join(f"{name},{row}\n" for row in ("m,1,1", "m,2,0", "n,1,1", "n,2,1"))
        (tmp_path / "both" / f"{name}.csv").write_text(f"benchmark,model,question,score\n{rows}")
    with pytest.raises(InputError, match=r"both.html: of several benchmarks this is the folder .*both, which has res"):
        hs.report(tmp_path / "both", tmp_path / "both.html")
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["one.csv", "two.csv"]
    assert hs.report(tmp_path / "both" / "one.csv", tmp_path / "both.html", static_figures=False).is_file()
