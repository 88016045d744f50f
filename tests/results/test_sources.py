"""What lies at paths: logs, runs, tables and frames, found by what they hold. Kind of truth: written by hand."""

import json
import os
import pickle
import shutil
import subprocess
import warnings
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from helpers.inspect_log import write_inspect_log
from helpers.lm_eval_log import harness
from helpers.noted import noted
from helpers.stored_rows import open_run
from helpers.stored_rows import row as stored_row

import howsure as hs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.judging.random_labels import Label
from howsure.logs.log_source import LogSource
from howsure.results.answers import count_answers, count_unparsed
from howsure.results.evaluations import Evaluations
from howsure.results.run_source import RunSource
from howsure.results.sources import find_sources
from howsure.results.table_source import TableSource
from howsure.review.verdicts import Verdict, moment
from howsure.store import manifest

LOGS = Path(__file__).resolve().parents[2] / "../shared/data/logs"


def quietly(call, *arguments, **more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HowsureWarning)
        result = call(*arguments, **more)
    return result, [str(one.message) for one in caught]


def read_cells(given, **options):
    return hs.read(given, **options).cells()


def test_a_folder_of_a_log_a_run_and_a_table(tmp_path):
    harness(tmp_path / "m")
    (tmp_path / "other.csv").write_text("benchmark,model,question,score\nsums,n,hash0,1\nsums,n,hash1,1\n")
    (tmp_path / "notes.md").write_text("# nothing")
    (tmp_path / "strange.json").write_text('{"what": "is this"}')
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "bad.csv").write_text("a,b\n1\n")
    found, said = quietly(find_sources, tmp_path)
    assert [type(one) for one in found] == [LogSource, TableSource]
    assert said == [f"{tmp_path}: 1 file that no reader recognises: strange.json"]
    evaluations = Evaluations(found)
    [both], said = quietly(evaluations.cells)
    assert (both.models, both.questions) == (("m", "n"), ("hash0", "hash1"))
    assert both.total.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert len(said) == 1
    assert "howsure rescore scores the others" in said[0]
    assert [str(note) for note in evaluations.notes()] == said
    [about] = evaluations.manifests()
    assert about["models"]["m"]["settings"]["temperature"] == 0.7


def test_a_renamed_log_is_a_log_and_totals_stand_for_their_samples(tmp_path):
    file = harness(tmp_path / "m")
    [whole], _ = quietly(read_cells, tmp_path)
    totals = next((tmp_path / "m").glob("results_*.json"))
    [same], _ = quietly(read_cells, [totals, file])  # the samples, once
    assert same.n.tolist() == whole.n.tolist()
    shutil.move(file, tmp_path / "m" / "renamed.txt")
    [renamed], _ = quietly(read_cells, tmp_path / "m" / "renamed.txt")
    assert renamed.total.tolist() == whole.total.tolist()


def test_the_same_run_twice_is_one_and_says_so(tmp_path):
    harness(tmp_path / "m")
    shutil.copytree(tmp_path / "m", tmp_path / "copy")
    found, said = quietly(find_sources, tmp_path)
    assert len(found) == 1
    assert len(said) == 1
    assert "the same run as" in said[0]


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "conda-meta/history"])
def test_an_environment_of_python_beside_results_is_not_searched(tmp_path, marker):
    harness(tmp_path / "m")
    table = tmp_path / "env" / "lib" / "package" / "data.csv"
    for file, text in ((tmp_path / "env" / marker, ""), (table, "model,question,score\nn,1,1\n")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert quietly(find_sources, tmp_path)[1] == []
    assert [cells.benchmark for cells in quietly(read_cells, tmp_path)[0]] == ["sums"]
    assert [source.path for source in find_sources(tmp_path / "env")] == [table]  # it was named


def test_verdicts_and_labels_of_the_review_beside_results_are_no_results(tmp_path):
    (tmp_path / "t.csv").write_text("model,question,score\nm,1,1\n")
    verdict = Verdict(benchmark="t", question="1", key="0" * 16, verdict="fine", when=moment(0.0))
    (tmp_path / "verdicts.jsonl").write_bytes(msgspec.json.encode(verdict))
    label = Label(benchmark="t", model="m", question="1", inclusion=0.5, scorer="judge:correct", score=0.0)
    (tmp_path / "labels.jsonl").write_bytes(msgspec.json.encode(label))
    [cells], said = quietly(read_cells, tmp_path)
    assert (cells.total.tolist(), said) == ([[1.0]], [])


def test_a_log_or_table_and_the_run_folder_it_was_converted_to_count_once(tmp_path):
    harness(tmp_path / "m")
    table = tmp_path / "t.csv"
    table.write_text("benchmark,model,question,score\nproducts,n,1,1\nproducts,n,2,0\n")
    alone, _ = quietly(read_cells, tmp_path)
    quietly(hs.convert, tmp_path, tmp_path / "run")
    both, said = quietly(read_cells, tmp_path)
    assert [cells.n.tolist() for cells in both] == [cells.n.tolist() for cells in alone] == [[[1, 1]], [[1, 1]]]
    left_out = "left out, because its generations are those of"
    assert [line for line in said if left_out in line] == [
        f"{next((tmp_path / 'm').glob('samples*'))} and 1 more: {left_out} {tmp_path / 'run'}, which was converted from it"
    ]
    harness(tmp_path / "m", date="2026-11-21T10-00-00.000001")
    table.write_text("benchmark,model,question,score\nproducts,n,1,1\nproducts,n,2,1\n")
    further, _ = quietly(read_cells, tmp_path)  # another run, and a table with other content
    assert [cells.n.tolist() for cells in further] == [[[2, 2]], [[2, 2]]]


@pytest.mark.parametrize(("name", "to"), [("rows.csv", None), ("counts.jsonl", "eval-arena")])
def test_a_table_that_was_written_of_a_run_folder_is_refused_beside_it(tmp_path, name, to):
    model = {"m": manifest.ModelRecord(name="m", kind="made")}
    run, table = tmp_path / "run", tmp_path / name
    with open_run(run) as folder:
        folder.append([stored_row(f"q{i}", request="r", created=1e9 + i / 8, completion="=1") for i in range(3)])
    manifest.Manifest(models=model).save(run)
    hs.convert(run, table, to) if to else hs.convert(run, table)
    for given in ([run, table], tmp_path):
        with pytest.raises(InputError, match="has the columns that howsure convert writes, and the models of the run"):
            quietly(read_cells, given)
    [cells], _ = quietly(read_cells, table)
    assert cells.n.tolist() == [[1, 1, 1]]
    changed = tmp_path / "changed.csv"
    hs.convert(run, changed)
    changed.write_text(changed.read_text().replace('"m"', '"m by my rule"'))  # other scores of the same generations
    [cells], _ = quietly(read_cells, [run, changed])
    assert cells.models == ("m", "m by my rule")


def test_other_settings_are_another_model_and_a_second_run_adds_up(tmp_path):
    harness(tmp_path / "a")
    harness(tmp_path / "b", date="2026-11-21T10-00-00.000001")
    [two], _ = quietly(read_cells, tmp_path)
    assert (two.models, two.n.tolist()) == (("m",), [[2, 2]])
    harness(tmp_path / "c", temperature=0.1, date="2026-11-22T10-00-00.000001")
    [three], _ = quietly(read_cells, tmp_path)
    assert three.models == ("m (temperature=0.1)", "m (temperature=0.7)")
    each, _ = quietly(quietly(hs.read, tmp_path)[0].runs)
    assert [run.models for run in each["sums"]] == [("m (temperature=0.7)",)] * 2 + [("m (temperature=0.1)",)]


def test_clusters_variants_and_scorers_of_a_log(tmp_path):
    harness(tmp_path / "m")
    [clustered], _ = quietly(read_cells, tmp_path, columns={"cluster": "doc.topic"})
    assert clustered.clusters == ("t0", "t1")
    with pytest.raises(UnknownNameError, match="unknown scorer 'f1'"):
        quietly(read_cells, tmp_path, scorer="f1")
    found = quietly(find_sources, tmp_path)[0]
    [cube], _ = quietly(Evaluations(found).cubes)
    assert cube.variants == ("default",)
    assert count_unparsed(found, [cube])["sums"].tolist() == [[[0], [0]]]
    with pytest.raises(InputError, match="a log has no dimension 'tone'"):
        Evaluations(found, dimensions=["tone"]).cubes()


def test_benchmarks_that_share_a_name_and_no_question(tmp_path):
    harness(tmp_path / "m")
    table = tmp_path / "t.csv"
    table.write_text("benchmark,model,question,score\nsums,n,1,1\nsums,n,2,1\n")
    _, said = quietly(read_cells, [tmp_path / "m", table])
    assert any("no question of sums occurs in" in line for line in said)


def test_frames_globs_and_addresses(tmp_path):
    frame = pa.table({"benchmark": ["b", "b"], "model": ["m", "m"], "question": ["1", "2"], "score": [1.0, 0.0]})
    (tmp_path / "1.csv").write_text("benchmark,model,question,score\nb,n,1,1\n")
    (tmp_path / "2.csv").write_text("benchmark,model,question,score\nb,n,2,1\n")
    [both] = hs.read([frame, str(tmp_path / "*.csv")])
    assert both.total.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert hs.read(frame)[0].models == ("m",)
    [run] = hs.read(frame).runs()["b"]
    [cube] = hs.read(frame).cubes()
    assert run.n.tolist() == [[1, 1]]
    assert cube.n.tolist() == [[[1], [1]]]
    assert hs.read(frame).manifests() == []
    with pytest.raises(InputError, match="s3://nobody/rows.parquet"):
        hs.read("s3://nobody/rows.parquet").cells()


def test_what_is_no_log_and_no_table(tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match="picture.png: no reader recognises this file, and it is no table; give"):
        find_sources(tmp_path / "picture.png")
    with pytest.raises(InputError, match="no such file or folder"):
        find_sources(tmp_path / "nothing")
    with pytest.raises(InputError, match="no run folder, no log and no table here"):
        find_sources(tmp_path)


def test_a_log_without_a_score_says_what_to_do(tmp_path):
    file = harness(tmp_path / "m")
    rows = [json.loads(line) | {"metrics": ["bypass"], "bypass": None} for line in file.read_text().splitlines()]
    for row in rows:
        row.pop("exact_match")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError):
        quietly(read_cells, file)


@pytest.mark.shared
@pytest.mark.skipif(not LOGS.is_dir(), reason="the data folder ../shared is not here")
def test_the_real_logs_as_a_new_user_gives_them():
    """Another program's output: Inspect's accuracies and lm-eval's exact_match, from the logs' own headers."""
    found, said = quietly(read_cells, LOGS)
    scores = {(one.benchmark, m): float(one.mean[i].mean()) for one in found for i, m in enumerate(one.models)}
    assert scores == {
        ("gsm8k", "mockllm/atlas-70b"): pytest.approx(185 / 240),
        ("gsm8k", "mockllm/atlas-8b"): pytest.approx(148 / 240),
        ("gsm8k_30", "atlas-70b"): pytest.approx(0.5666666666666667),
        ("gsm8k_30", "atlas-8b"): pytest.approx(0.5333333333333333),
        ("gsm8k_choices", "mockllm/atlas-70b"): 1.0,
        ("gsm8k_choices", "mockllm/atlas-8b"): 0.9375,
    }
    assert len(said) == 3  # copies; two filters, and completions without a score, of both models in one line each
    assert not any(isinstance(one, RunSource) for one in quietly(find_sources, LOGS)[0])


def test_links_that_lead_back_and_pipes_do_not_hold_up_a_search(tmp_path):
    """Two links to the folder itself are 2 ** 40 paths to whoever follows each of them; a pipe never ends."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/t.csv").write_text("model,question,score\nm,q,1\n")
    for name in ("again", "a/above"):
        (tmp_path / name).symlink_to(tmp_path)
    (tmp_path / "itself.json").symlink_to("itself.json")
    (tmp_path / "nothing.csv").symlink_to("not there")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    deep = tmp_path / "deep"
    subprocess.run(["mkdir", "-p", str(deep) + "/d" * 1500], check=True)
    with pytest.warns(HowsureWarning) as caught:
        sources = find_sources(tmp_path)
    first, second = sorted(str(one.message).removeprefix(f"{tmp_path}: ") for one in caught)
    assert first == "1 link leads out of the folder and is not followed: zero.csv"
    assert second == "3 files that no reader recognises: itself.json, nothing.csv, pipe.jsonl"
    assert [source.path.name for source in sources] == ["t.csv"]
    subprocess.run(["rm", "-r", str(deep)], check=True)  # deeper than shutil removes


def test_a_pipe_that_is_named_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match=r"pipe\.jsonl: a pipe or a device, not a file; write what it gives to a file"):
        find_sources(tmp_path / "pipe.jsonl")


def test_files_beside_logs_and_odd_files_are_left_out_of_a_folder_with_a_note(tmp_path):
    write_inspect_log(tmp_path / "a.json", {"1": "C", "2": "I"})
    for name in ("b", "c"):
        write_inspect_log(tmp_path / f"{name}.json", {}, task="empty")
    (tmp_path / "prices.csv").write_text("item,price\npen,3\n")
    (tmp_path / "eval-set.json").write_text("{}")
    (tmp_path / "logs.json").write_text("{}")
    with noted() as notes:
        [cells] = read_cells(tmp_path)
    assert cells.total.tolist() == [[1.0, 0.0]]
    [note] = notes
    assert str(note).startswith(f"{tmp_path / 'b.json'} and 2 more: left out: no samples are kept")
    assert [(Path(part.where).name, part.code) for part in note.parts] == [
        (name, "left-out") for name in ("b.json", "c.json", "prices.csv")
    ]


def test_an_odd_file_that_is_named_itself_is_an_error(tmp_path):
    good = write_inspect_log(tmp_path / "a.json", {"1": "C", "2": "I"})
    empty = write_inspect_log(tmp_path / "b.json", {})
    with pytest.raises(InputError, match="no samples are kept"):
        quietly(read_cells, [good, empty])


def test_a_folder_of_odd_files_only_is_an_error(tmp_path):
    for name in ("b", "c"):
        write_inspect_log(tmp_path / f"{name}.json", {})
    with pytest.raises(InputError, match=r"b\.json: no samples are kept"):
        quietly(read_cells, tmp_path)
    with pytest.raises(InputError, match="the logs hold no generation"):
        quietly(hs.convert, tmp_path, tmp_path / "run")


def test_convert_and_audit_go_on_without_an_odd_file(tmp_path):
    write_inspect_log(tmp_path / "logs/a.json", {"1": "C", "2": "I"})
    write_inspect_log(tmp_path / "logs/b.json", {}, task="empty")
    _, lines = quietly(hs.convert, tmp_path / "logs", tmp_path / "run")
    assert any("b.json" in line for line in lines)
    [cells], _ = quietly(read_cells, tmp_path / "run")
    assert (cells.benchmark, cells.n.tolist()) == ("sums", [[1, 1]])
    assert quietly(count_answers, find_sources(tmp_path / "logs"))[0].keys() <= {"sums"}


def test_a_missing_manifest_and_a_missing_journal_are_said(tmp_path):
    from howsure.store import manifest
    from howsure.store.responses import RunFolder
    from howsure.store.schema import Response

    with RunFolder(tmp_path / "run") as run:
        manifest.begin(tmp_path / "run", manifest.Manifest(seed=1))
        run.append([Response("b", "m", f"q{i}", "v", 1, score=1.0) for i in range(4)])
        # As a kill leaves it: the session has not finished, and its journal is beside the database.
        shutil.copytree(tmp_path / "run", tmp_path / "killed")
    assert "lost-journal" not in [note.code for note in hs.read(tmp_path / "killed").notes()]
    (tmp_path / "killed" / "responses.sqlite-wal").unlink()
    assert "lost-journal" in [note.code for note in hs.read(tmp_path / "killed").notes()]
    with RunFolder(tmp_path / "run"):
        manifest.finish(tmp_path / "run")
    assert hs.read(tmp_path / "run").notes() == []
    (tmp_path / "run" / "manifest.json").unlink()
    assert [note.code for note in hs.read(tmp_path / "run").notes()] == ["no-manifest"]


def _write_settings(path, score, *, label="m", name="m", prompt="v", benchmark="b", url="", **settings):
    """A run folder of four questions and two generations whose manifest states the settings of its one model."""
    model = manifest.ModelRecord(name=name, kind="openai", base_url=url, settings=settings)
    about = manifest.Manifest(models={label: model}, benchmarks={benchmark: {}}, prompts={prompt: {"template": prompt}})
    with open_run(path) as folder:
        about.save(path)
        folder.append(
            [
                stored_row(
                    f"q{q}",
                    g,
                    model=label,
                    benchmark=benchmark,
                    variant=prompt,
                    score=score,
                    created=1e9 + score,
                    request=f"{path.name} {q} {g}",
                    completion=path.name,
                    answer="a",
                )
                for q in range(4)
                for g in (1, 2)
            ]
        )
    return path


@pytest.mark.parametrize(
    ("one", "other", "labels"),
    [
        ({"temperature": 0.2}, {"temperature": 1.0}, ("m (temperature=0.2)", "m (temperature=1.0)")),
        ({"name": "small"}, {"name": "large"}, ("m (model=small)", "m (model=large)")),
        ({"extra": {"top_k": 5, "seed": 1}}, {"extra": {"top_k": 9, "seed": 2}}, ("m (top_k=5)", "m (top_k=9)")),
        ({"max_tokens": 9}, {}, ("m (max_tokens=9)", "m (max_tokens=default)")),
    ],
)
def test_run_folders_of_one_label_at_other_settings_are_two_models(tmp_path, one, other, labels):
    """Planted: one folder is always right, the other never, and each way to read them keeps them apart."""
    paths = [_write_settings(tmp_path / "one", 1.0, **one), _write_settings(tmp_path / "other", 0.0, **other)]
    with pytest.warns(HowsureWarning, match="other settings"):
        results = hs.read(paths)
    [cells], [cube] = results.cells(), results.cubes()
    assert {model: float(cells.mean[i].mean()) for i, model in enumerate(cells.models)} == dict(
        zip(labels, (1.0, 0.0), strict=True)
    )
    assert {run.models for run in results.runs()["b"]} == {(label,) for label in labels}
    assert set(cube.models) == set(results.answers()["b"].models) == set(labels)
    assert [name for about in results.manifests() for name in about["models"]] == list(labels)
    shown = hs.show(results, question=("q1",))
    assert {(one.model, one.completion) for one in (each.row for each in shown.generations)} == set(
        zip(labels, ("one", "other"), strict=True)
    )


def test_run_folders_at_one_setting_are_pooled_and_a_line_names_other_addresses_and_prompts(tmp_path, recwarn):
    """A seed and the number of generations are no other model."""
    first = _write_settings(tmp_path / "a", 1.0, temperature=0.5, extra={"seed": 1}, url="http://one/v1")
    second = _write_settings(tmp_path / "b", 0.0, temperature=0.5, extra={"seed": 2}, url="http://one/v1")
    [cells] = hs.read([first, second])
    assert (cells.models, float(cells.mean.mean())) == (("m",), 0.5)
    assert not recwarn.list
    third = _write_settings(tmp_path / "c", 0.0, temperature=0.5, prompt="w", url="http://two/v1")
    with pytest.warns(HowsureWarning) as caught:
        [cells] = hs.read([first, third])
    assert cells.models == ("m",)
    lines = [str(one.message) for one in caught]
    assert [(str(first) in line, str(third) in line) for line in lines] == [(True, True)] * 2
    assert "http://two/v1" in lines[0]
    assert "prompts" in lines[1]


def test_one_name_for_the_benchmarks_of_folders_keeps_settings_apart(tmp_path):
    paths = [
        _write_settings(tmp_path / name, 1.0, benchmark=name, temperature=t) for name, t in (("one", 0.0), ("two", 1.0))
    ]
    with pytest.warns(HowsureWarning, match="other settings"):
        [cells] = hs.read(paths, benchmark="b")
    assert cells.models == ("m (temperature=0.0)", "m (temperature=1.0)")
    assert [cells.models for cells in hs.read(paths)] == [("m",), ("m",)]


def test_lines_on_several_folders_at_other_settings_are_counted_in_one(tmp_path):
    paths = [_write_settings(tmp_path / f"{t}", t, temperature=t) for t in (0.0, 0.5, 1.0)]
    with pytest.warns(HowsureWarning) as caught:
        [cells] = hs.read(paths)
    assert cells.models == ("m (temperature=0.0)", "m (temperature=0.5)", "m (temperature=1.0)")
    assert [one.message.note.code for one in caught] == ["folders-at-settings"]


@pytest.mark.parametrize(("suffix", "protocol"), [(".pkl", 5), (".pickle", 2), ("", 4)])
def test_a_pickle_is_refused_with_what_to_write_instead(tmp_path, suffix, protocol):
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(pickle.dumps({"model": ["a"], "question": ["1"], "score": [1]}, protocol=protocol))
    with pytest.raises(InputError, match=r"a pickle, which is not read.*frame.to_parquet"):
        hs.read(path)


@pytest.mark.parametrize("name", ["a.csv.bz2", "a.csv.xz", "a.zip", "a.csv.zst"])
def test_a_compressed_file_that_is_not_read_is_said_to_be_one(tmp_path, name):
    """In a folder it was left out in silence."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"model": ["a"], "id": [1], "score": [1]})
    table.to_csv(tmp_path / name)
    with pytest.raises(InputError, match="a compressed file, which is not read; unpack it"):
        hs.read(tmp_path / name)
    table.to_csv(tmp_path / "b.csv")
    with pytest.warns(HowsureWarning, match=f"1 file that no reader recognises: {name}"):
        hs.read(tmp_path).cells()
