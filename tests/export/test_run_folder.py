"""Logs and tables to run folders."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from helpers.tables import read_cells

import howsure as hs
import howsure.export.run_folder as folder_module
from howsure.errors import HowsureWarning, InputError, StoreError
from howsure.export.run_folder import convert_logs
from howsure.logs.base import UNSCORED, LogInfo, LogReader, LogRow, ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.inspect.reader import InspectReader
from howsure.logs.lm_eval.reader import LmEvalReader
from howsure.notes import Note
from howsure.results.table_log import TableLogReader
from howsure.rows import to_cells
from howsure.rows.columns import TableOptions
from howsure.rows.mapping import read_map
from howsure.store import manifest
from howsure.store.lookup import find_generations, find_prompts, read_clusters
from howsure.store.manifest import ModelRecord
from howsure.store.responses import RunFolder, is_run, read, read_prompts

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/logs"


class Made(LogReader):
    """A reader whose logs are made up here."""

    name = "made"

    def __init__(self, rows, *, run="r", settings=None, source=None, told=(), files=None, fails=None, created="2026"):
        self._rows, self._told, self._files, self._fails = rows, told, files, fails
        self._run, self._settings, self._source, self._created = run, settings or {}, source or {}, created

    def recognises(self, _head):
        return False

    def members(self, path):
        return [path] if self._files is None else self._files

    def describe(self, _path):
        n = max((row.generation for row in self._rows), default=1)
        models = {
            row.model: ModelRecord(name=row.model, kind=self.name, settings=self._settings, generations=n)
            for row in self._rows
        }
        benchmarks = {row.benchmark: self._source for row in self._rows}
        return LogInfo(run=self._run, models=models, benchmarks=benchmarks, created=self._created)

    def read(self, _path, _build):
        raise NotImplementedError

    def rows(self, _path, asked, tell):
        assert asked.texts
        yield from self._rows
        if self._fails:
            raise self._fails
        for line in self._told:
            tell(line)


def made(question="q", generation=1, **rest):
    values = {"benchmark": "b", "model": "m", "variant": "default", "score": 1.0, "completion": "It is 4.", **rest}
    return LogRow(question=question, generation=generation, **values)


def converted(tmp_path, *readers, told=None, **asked):
    logs = [(reader, tmp_path / f"{i}.log") for i, reader in enumerate(readers)]
    return convert_logs(
        logs, tmp_path / "run", options=ReadOptions(**asked), note=(told if told is not None else []).append
    )


# theory: what goes in is what is there


def test_counts_and_rows_are_those_of_the_log(tmp_path):
    rows = [
        made("q1", 1),
        made("q1", 2, score=0.0, variant="other"),
        made("q2", 1, score=None, status="error", error="timeout: no answer"),
        made("q2", 2, score=None, status=UNSCORED),
        made("q2", 1, model="n", score=0.5),
    ]
    result = converted(tmp_path, Made(rows))
    assert {name: list(values) for name, values in result.columns().items()} == {
        "benchmark": ["b", "b"],
        "model": ["m", "n"],
        "n_questions": [2, 1],
        "n_variants": [2, 1],
        "n_generations": [4, 1],
        "n_scored": [2, 1],
        "n_failed": [1, 0],
        "n_unscored": [1, 0],
    }
    found = read(tmp_path / "run").to_pylist()
    wanted = sorted(rows, key=lambda row: (row.benchmark, row.model, row.question, row.variant, row.generation))
    names = list(found[0])
    assert found == [{name: getattr(row, name) for name in names} for row in wanted]
    assert is_run(tmp_path / "run")
    assert (tmp_path / "run" / "responses.parquet").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_prompts_are_kept_once_with_choices_and_clusters(tmp_path):
    asked = ({"role": "user", "content": "2 + 2?"},)
    rows = [
        made("q1", 1, target="4"),  # a failure that never had its prompt
        made("q1", 2, target="4", messages=asked, choices=("3", "4"), cluster="sums"),
        made("q1", 3, target="5", messages=({"role": "user", "content": "again"},)),
        made("q1", 1, variant="w", messages=asked),
        made("q2", 1),
    ]
    converted(tmp_path, Made(rows))
    first, second = find_prompts(tmp_path / "run", "b", "q1").to_pylist()
    assert json.loads(first["messages"]) == list(asked)
    assert first["target"] == "4"
    assert json.loads(first["record"]) == {"choices": ["3", "4"], "cluster": "sums"}
    assert (second["variant"], second["record"]) == ("w", None)
    assert read_prompts(tmp_path / "run").num_rows == 2
    assert read_clusters(tmp_path / "run") == {("b", "q1"): "sums"}


def test_a_second_run_of_a_model_continues_its_generations(tmp_path):
    first = Made([made("q1", 1, score=0.0), made("q1", 3, score=0.0), made("q2", 1)], run="1")
    second = Made([made("q1", 1), made("q1", 2), made("q3", 1), made("q2", 1, benchmark="c")], run="2")
    converted(tmp_path, first, second)
    found = [(row["benchmark"], row["question"], row["generation"]) for row in read(tmp_path / "run").to_pylist()]
    assert found == [("b", "q1", n) for n in (1, 3, 4, 5)] + [("b", "q2", 1), ("b", "q3", 1), ("c", "q2", 1)]
    about = manifest.load(tmp_path / "run")
    assert about.models["m"].generations == 5  # 3 and 2 of benchmark b


def test_the_same_run_is_read_once_and_told(tmp_path):
    told: list[Note] = []
    log = Made([made()], run="1")
    same = Made([made()], run="1", files=[tmp_path / "0.log"])
    converted(tmp_path, log, Made([made()], run="1"), same, told=told)
    assert read(tmp_path / "run").num_rows == 1
    assert told == [
        Note("same-run", str(tmp_path / "1.log"), facts={"other": "0.log"}),
        Note("given-twice", str(tmp_path / "0.log")),
    ]


def test_files_of_one_run_with_another_benchmark_each_are_all_read(tmp_path):
    converted(tmp_path, Made([made()], run="1"), Made([made(benchmark="c")], run="1"))
    assert read(tmp_path / "run").num_rows == 2


def test_another_temperature_is_another_model_and_another_seed_is_told(tmp_path):
    told: list[Note] = []
    cold, hot, again = (
        Made([made()], run=str(i), settings={"temperature": t, "seed": i}) for i, t in enumerate((0, 1, 1))
    )
    converted(tmp_path, cold, hot, again, told=told)
    found = {(row["model"], row["generation"]) for row in read(tmp_path / "run").to_pylist()}
    assert found == {("m (temperature=0)", 1), ("m (temperature=1)", 1), ("m (temperature=1)", 2)}
    stored = [note.text for note in manifest.load(tmp_path / "run").source_notes]
    assert "logs are read as repeats: 2 logs of m (temperature=1) on b" in stored
    facts = {"what": "model m (temperature=1)", "name": "seed", "value": "2", "before": "1"}
    assert told == [Note("other-settings", str(tmp_path / "2.log"), ("b",), facts=facts)]


def test_lines_on_logs_of_other_benchmarks_are_left_out_where_one_is_read(tmp_path):
    """Two logs of one benchmark each; the folder stores of which benchmark the line of a log is."""
    told: list[Note] = []
    first = Made([made()], run="1", told=[Note("no-samples")], settings={"top_p": 0.9})
    second = Made([made(benchmark="c")], run="2", told=[Note("no-samples")])
    converted(tmp_path, first, second, told=told)
    facts = {"what": "model m", "name": "top_p", "value": "not stated", "before": "0.9"}
    assert [(Path(note.where).name, note.code) for note in told] == [
        ("1.log", "other-settings"),
        ("0.log", "no-samples"),
        ("1.log", "no-samples"),
    ]
    assert told[0].facts == facts
    notes = {}
    for name in "bc":
        results = hs.read(tmp_path / "run", benchmarks=[name])
        with pytest.warns(HowsureWarning):
            results.cells()
        notes[name] = [(note.where.rpartition(": ")[2], note.code) for note in results.notes()]
    assert notes == {"b": [("0.log", "no-samples")], "c": [("1.log", "other-settings"), ("1.log", "no-samples")]}
    both = hs.read(tmp_path / "run")
    with pytest.warns(HowsureWarning):
        assert len(both.cells()) == 2
    assert [(note.code, len(note.parts)) for note in both.notes()] == [("other-settings", 0), ("no-samples", 2)]
    assert len(both.notes("c")) == 2


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        (("2025-03-02T10:00:00Z", "2025-03-01 08:00", "2025-03-09"), ("2025-03-01", "2025-03-09")),
        (("2025-03-02T10:00:00Z", "2025-03-02T11:00:00Z", ""), ("2025-03-02",)),
        (("2026", "", "last week"), ()),
    ],
)
def test_the_manifest_has_the_days_of_the_logs_beside_its_own(tmp_path, created, expected):
    converted(tmp_path, *(Made([made(f"q{i}")], run=str(i), created=text) for i, text in enumerate(created)))
    about = manifest.load(tmp_path / "run")
    assert about.sampled == expected
    assert about.created[:4] >= "2026"


def test_the_manifest_says_where_rows_are_from_and_what_was_told(tmp_path):
    source = {"dataset": "sums", "version": 2}
    told: list[Note] = []
    log = Made([made()], run="7", settings={"temperature": 0.7}, source=source, told=[Note("no-samples")])
    converted(tmp_path, log, told=told)
    about = manifest.load(tmp_path / "run")
    assert about.benchmarks == {"b": source}
    assert about.models == {"m": ModelRecord(name="m", kind="made", settings={"temperature": 0.7})}
    assert about.notes == ("converted from 0.log: made, run 7, made 2026",)
    assert [note.to_note() for note in about.source_notes] == [Note("no-samples", "0.log", ("b",))]
    assert told == [Note("no-samples", str(tmp_path / "0.log"), ("b",))]
    assert about.sessions[0].finished
    assert str(tmp_path) not in (tmp_path / "run" / "manifest.json").read_text()


def test_many_batches_hold_what_a_dictionary_would(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_module, "_MAX_ROWS", 7)
    monkeypatch.setattr(folder_module, "_MAX_TEXT", 400)
    rows = [made(f"q{i % 13}", 1 + i // 13, completion=f"{i} " * (i % 30)) for i in range(200)]
    converted(tmp_path, Made(rows))
    found = read(tmp_path / "run").to_pylist()
    wanted = sorted(rows, key=lambda row: (row.question, row.generation))
    assert found == [{name: getattr(one, name) for name in found[0]} for one in wanted]


# what goes wrong leaves nothing that looks like a run


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    converted(tmp_path, Made([made()]))  # an empty folder is no obstacle
    with pytest.raises(
        InputError, match="run: there is already a file or a folder here; name another folder, or remove it"
    ):
        converted(tmp_path, Made([made("other")]))
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file: there is already a file or a folder here"):
        convert_logs([(Made([made()]), tmp_path)], tmp_path / "file", options=ReadOptions(), note=print)
    assert read(tmp_path / "run").num_rows == 1


def test_a_log_that_cannot_be_read_leaves_nothing(tmp_path):
    broken = Made([made()], fails=InputError("torn", where="x"))
    with pytest.raises(InputError, match="x: torn"):
        converted(tmp_path, broken)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="the logs hold no generation"):
        converted(tmp_path, Made([]))
    with pytest.raises(StoreError, match="run: disk is full; free space"):
        converted(tmp_path, Made([made()], fails=OSError(28, "disk is full")))
    assert list(tmp_path.iterdir()) == []


def _half(place):
    half = place / ".run.new"
    with RunFolder(half) as run:
        run.append([made("old")])


def test_what_a_killed_conversion_left_is_cleared_unless_it_lives(tmp_path):
    process = multiprocessing.get_context("spawn").Process(target=_half, args=(tmp_path,))
    process.start()
    process.join()
    with RunFolder(tmp_path / ".run.new"), pytest.raises(StoreError, match="is writing this run"):
        converted(tmp_path, Made([made()]))
    assert (tmp_path / ".run.new").exists()
    converted(tmp_path, Made([made()]))
    assert [row["question"] for row in read(tmp_path / "run").to_pylist()] == ["q"]
    assert not (tmp_path / ".run.new").exists()


# tables


def table(tmp_path, text, columns=None, name="sums.csv"):
    path = tmp_path / name
    path.write_text(text)
    told: list[Note] = []
    reader = TableLogReader(TableOptions(read_map(columns or {}), benchmark="sums"))
    assert reader.recognises(FileHead(path))
    convert_logs([(reader, path)], tmp_path / "run", options=ReadOptions(), note=told.append)
    return read(tmp_path / "run").to_pylist(), told


@pytest.mark.parametrize(
    ("column", "wanted"),
    [("012", [1, 2, 3]), ("345", [3, 4, 5])],
)
def test_generations_of_a_table_keep_their_numbers(tmp_path, column, wanted):
    lines = [f"m,q,{name},{score}" for name, score in zip(column, ("1", "0.25", ""), strict=True)]
    found, told = table(tmp_path, "\n".join(["model,question,run,score", *lines]))
    scores = dict(zip(wanted, (1.0, 0.25, None), strict=True))
    assert {row["generation"]: row["score"] for row in found} == scores
    assert {row["error"] for row in found if row["score"] is None} == {"missing: the table has no score here"}
    assert {row["benchmark"] for row in found} == {"sums"}
    assert told == []


def test_a_run_that_is_a_word_is_refused(tmp_path):
    lines = [f"m,q{q},{name},1" for q in range(2) for name in "cab"]
    with pytest.raises(InputError, match="differ in 'run'") as caught:
        table(tmp_path, "\n".join(["model,question,run,score", *lines]))
    assert caught.value.code == "repeated-key"


def test_rows_without_a_generation_are_generations_and_told(tmp_path):
    found, told = table(
        tmp_path, "model,item,variant,group,score\nm,1,a,x,1\nm,1,a,x,0\nm,2,b,y,1\n", {"cluster": "group"}
    )
    cells = [(row["question"], row["variant"], row["generation"]) for row in found]
    assert cells == [("1", "a", 1), ("1", "a", 2), ("2", "b", 1)]
    assert read_clusters(tmp_path / "run") == {("sums", "1"): "x", ("sums", "2"): "y"}
    assert len(told) == 1
    assert told[0].code == "rows-are-generations"


def test_a_table_of_cells_has_no_generations(tmp_path):
    with pytest.raises(InputError, match="each row is a cell, and there are no generations to convert"):
        table(tmp_path, "model,example_id,pass1,count\nm,q,0.5,2\n")
    with pytest.raises(InputError, match="cannot be read"):
        table(tmp_path, "PAR1 torn", name="torn.parquet")
    assert not (tmp_path / "run").exists()


def test_cells_of_a_converted_table_are_those_of_the_table(tmp_path):
    lines = [f"{m},q{i},{g},{(i * g + ord(m)) % 3 / 2}" for m in "xy" for i in range(9) for g in range(1, 4)]
    table(tmp_path, "\n".join(["model,question,generation,score", *lines]))
    (direct,) = read_cells(tmp_path / "sums.csv")
    (stored,) = to_cells.make_cells(read(tmp_path / "run", ["benchmark", "model", "question", "score"]))
    assert (direct.models, direct.questions) == (stored.models, stored.questions)
    for name in ("n", "total", "total_sq"):
        assert (getattr(direct, name) == getattr(stored, name)).all()


# another program's output


@pytest.mark.shared
def test_shared_logs_are_the_same_rows_in_the_run_folder(tmp_path):
    if not SHARED.exists():
        pytest.skip("needs ../shared/data/logs")
    logs = [(LmEvalReader(), path) for path in sorted(SHARED.glob("lm_eval/*/samples_*.jsonl"))]
    logs += [(InspectReader(), path) for path in sorted(SHARED.glob("inspect/*gsm8k_*.eval"))]
    result = convert_logs(logs, tmp_path / "run", options=ReadOptions(), note=lambda _: None)
    direct = {}
    for reader, path in logs:
        for one in reader.rows(path, ReadOptions(texts=True), lambda _: None):
            direct[one.benchmark, one.model, one.question, one.variant, one.generation] = one
    assert result.n_generations.sum() == len(direct)
    found = read(tmp_path / "run").to_pylist()
    for row in found:
        one = direct[row["benchmark"], row["model"].split(" (")[0], row["question"], row["variant"], row["generation"]]
        assert {name: getattr(one, name) for name in row if name != "model"} == {
            name: value for name, value in row.items() if name != "model"
        }
    some = find_generations(tmp_path / "run", found[0]["benchmark"], found[0]["question"])
    assert some.to_pylist()[0] == found[0]
