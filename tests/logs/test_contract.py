"""The contract of all log readers, on one example log or more of each program.

To test a new reader, put a log into `examples/` and add a line to `EXAMPLES`. What is read of an example is recorded in
`golden/`: `HOWSURE_RECORD=1 pytest tests/logs/test_contract.py -k recorded` records it anew, for a person to read.
"""

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from helpers.damage import damaged, survives
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure import logs
from howsure.errors import HowsureWarning, InputError, UnknownNameError
from howsure.logs import find_reader, get_reader, list_readers
from howsure.logs.base import UNSCORED, ReadOptions
from howsure.logs.file_formats import FileHead
from howsure.logs.log_names import DistinctLog, LogNames
from howsure.logs.log_source import LogSource
from howsure.logs.spec import list_specs
from howsure.rows.to_cells import make_cells

FOLDER, GOLDEN = (Path(__file__).parent / name for name in ("examples", "golden"))
GEN, MC = (next((FOLDER / "lm_eval").glob(f"samples_tiny_{name}_*.jsonl")).name for name in ("gen", "mc"))


class Example(NamedTuple):
    """A log, by the name of its reader in the registry and its path in the examples."""

    reader: str
    path: str
    field: str | None
    """A field that each record has, for `--columns`; None where the log has no records."""
    damaged: tuple[str, ...] = ()
    """Files of a folder that are damaged; otherwise it is the log itself."""
    has_texts: bool = True


EXAMPLES = [
    Example("deepeval", "deepeval/test_run.json", "input"),
    Example("deepeval", "deepeval/latest_test_run.json", "input"),
    Example("lm_eval", "lm_eval_api/results.json", "doc_id"),
    Example("every_eval_ever", "every_eval_ever/u_samples.jsonl", "metadata.subject"),
    Example("helm", "helm/gen", "instance.id", ("run_spec.json", "per_instance_stats.json", "scenario_state.json")),
    Example("inspect", "inspect/finished.eval", "metadata.passage"),
    Example("inspect", "inspect/stored.eval", "metadata.passage"),
    Example("inspect", "inspect/killed.eval", "metadata.passage"),
    Example("inspect", "inspect/torn.eval", "eval.task_args.template"),
    Example("inspect", "inspect/finished.json", "metadata.passage"),
    Example("lighteval", "lighteval/single/details.parquet", "doc.specific.subject"),
    Example("lighteval", "lighteval/several/details.parquet", "doc.specific.subject"),
    Example("lm_eval", f"lm_eval/{GEN}", "doc.q"),
    Example("lm_eval", f"lm_eval/{MC}", "doc_id"),
    Example("openai_evals", "openai_evals/test-match.jsonl", "sample_id"),
    Example("openai_evals", "openai_evals/test-fuzzy-match.jsonl", "data.expected"),
    Example("openai_evals", "openai_evals/joke-fruits.jsonl", "spec.run_id"),
    Example("openai_evals_api", "openai_evals_api/output_items.json", "datasource_item.input"),
    Example("promptfoo", "promptfoo/results.json", "provider.id"),
    Example("promptfoo", "promptfoo/results.jsonl", "provider.id"),
    Example("simple_evals", "simple_evals/gpqa_gpt-4o_chatgpt_20260102_030405_allresults.json", "index"),
    Example("swe_bench", "swe_bench/report.json", "id", has_texts=False),
    Example("swe_bench", "swe_bench/stages.json", "id", has_texts=False),
    Example("swe_bench", "swe_bench/details.json", "id", has_texts=False),
    Example("terminal_bench", "terminal_bench/results.json", "task_id"),
    Example("tau_bench", "tau_bench/tool-calling-gpt-4o-0.0_range_0--1_user-gpt-4o-llm_0612073827.json", "task_id"),
    Example("tau2_bench", "tau2_bench/results.json", "termination_reason"),
    Example("evalplus", "evalplus/Qwen--Qwen2.5-0.5B_vllm_temp_0.8/eval_results.json", "task_id"),
    Example("bfcl", "bfcl/BFCL_v4_simple_python_score.json", "valid"),
    Example("alpaca_eval", "alpaca_eval/annotations.json", "dataset"),
    Example("mt_bench", "mt_bench/gpt-4_single.jsonl", "judge.1"),
    Example("olmes", "olmes/task-000-arc_challenge-predictions.jsonl", "native_id"),
    Example("verifiers", "verifiers/sums--gpt-x/results.jsonl", "info.level"),
    Example("verifiers", "verifiers/traces.jsonl", "env.id"),
    Example("mlflow", "mlflow/my-model/eval_results_table.json", "ground_truth"),
    Example("ragas", "ragas/my-rag/ragas_results.csv", "user_input"),
    Example("ragas", "ragas/my-rag/ragas_results.json", "question"),
    Example("langsmith", "langsmith/exp-gpt-x.csv", "inputs.question"),
    Example("langfuse", "langfuse/scores.json", "traceId"),
    Example("langfuse", "langfuse/page.json", "traceId"),
    Example("opencompass", "opencompass/results/internlm2-1.8b/gsm8k.json", "index"),
    Example("opencompass", "opencompass/results/internlm2-1.8b/aime2024.json", "index", has_texts=False),
    Example("harbor", "harbor/2025-12-01__10-00-00", "task_name", ("result.json", "sqlite__ccc/result.json"), False),
    Example("waza", "waza/results.json", "status"),
    Example("ifeval", "ifeval/eval_results_strict.jsonl", "instruction_id_list"),
    Example(
        "livecodebench", "livecodebench/my-model/Scenario.codegeneration_3_0.2_eval_all.json", "value", has_texts=False
    ),
    Example("skythought", "skythought/my-model.json", "content"),
]
QUIET = list(HealthCheck)


class Log(NamedTuple):
    """A copy of an example, with its reader."""

    example: Example
    path: Path

    @property
    def reader(self):
        return get_reader(self.example.reader)

    def read(self, **options):
        notes = []
        return list(self.reader.rows(self.path, ReadOptions(**options), notes.append)), notes

    @property
    def files(self):
        return [self.path / name for name in self.example.damaged] or [self.path]


def copied(example, folder):
    """The example in a folder of its own, with what lies beside it."""
    source = FOLDER / example.path
    shutil.copytree(source if source.is_dir() else source.parent, folder / source.parent.name, dirs_exist_ok=True)
    return Log(example, folder / source.parent.name / ("" if source.is_dir() else source.name))


@pytest.fixture(params=EXAMPLES, ids=lambda example: example.path)
def log(request, tmp_path):
    return copied(request.param, tmp_path)


def key(row):
    return row.benchmark, row.model, row.question, row.variant, row.generation


def outcome(row):
    return *key(row), row.score, row.status, row.answer, row.error


def test_every_reader_has_an_example():
    assert {example.reader for example in EXAMPLES} == set(list_specs())


# --- what is read of it, as it was recorded ---


def shorten(value):
    """A long text or a list of messages as a hash, so that golden files stay small."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return (
        value
        if not isinstance(value, (list, tuple, str)) or len(text) <= 60
        else hashlib.sha256(text.encode()).hexdigest()[:12]
    )


def record(log, **options):
    """Lines of JSON: what the log says of itself, its notes, and its rows without what is missing."""
    info = msgspec.to_builtins(log.reader.describe(log.path))
    rows, notes = log.read(texts=True, **options)
    head = {
        "models": {name: model["settings"] for name, model in info["models"].items()},
        **{name: info[name] for name in ("benchmarks", "scorers", "created", "conditions", "prompts") if info[name]},
        "notes": [note.code for note in notes],
        "notes without texts": [note.code for note in log.read(**options)[1]],
    }
    empty = (None, [], (), {})
    lines = [
        {name: shorten(value) for name, value in msgspec.to_builtins(row).items() if value not in empty} for row in rows
    ]
    return "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in [head, *lines])


def test_rows_are_those_that_were_recorded(log):
    golden = GOLDEN / (log.example.path.replace("/", "--") + ".jsonl")
    recorded = record(log)
    if os.environ.get("HOWSURE_RECORD"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(recorded, encoding="utf-8")
    assert recorded == golden.read_text(encoding="utf-8")


# --- what a log is, and who reads it ---


def test_only_its_own_reader_recognises_it(log):
    recognising = [reader.name for reader in list_readers() if reader.recognises(FileHead(log.path))]
    assert recognising == [log.reader.name]
    assert find_reader(log.path) is log.reader
    assert find_reader(Path(__file__)) is None


def test_it_is_recognised_under_another_name(log):
    if not log.path.is_dir():
        rows = log.read()[0]
        renamed = Log(log.example, log.path.rename(log.path.with_name("some file")))
        assert find_reader(renamed.path) is log.reader
        assert [(row.generation, row.score) for row in renamed.read()[0]] == [
            (row.generation, row.score) for row in rows
        ]


def test_a_packed_file_reads_the_same(log):
    rows, notes = log.read(texts=True)
    for file in log.files:
        if FileHead(file).kind != "json":
            return
        file.write_bytes(gzip.compress(file.read_bytes()))
    assert find_reader(log.path) is log.reader
    assert log.read(texts=True) == (rows, notes)


def test_the_description_is_of_the_rows(log):
    info, (rows, _) = log.reader.describe(log.path), log.read()
    assert {row.model for row in rows} <= info.models.keys()
    assert {row.benchmark for row in rows} <= info.benchmarks.keys()
    assert {model.kind for model in info.models.values()} == {log.reader.name}
    assert info.run
    assert info == log.reader.describe(log.path)
    json.dumps([info.benchmarks, {name: model.settings for name, model in info.models.items()}])


# --- rows ---


def test_generations_are_numbered_from_1_in_each_question(log):
    rows, _ = log.read(texts=True)
    assert rows
    numbers = {}
    for row in rows:
        numbers.setdefault(key(row)[:4], []).append(row.generation)
    assert all(sorted(each) == list(range(1, len(each) + 1)) for each in numbers.values())


def test_texts_change_nothing_but_texts(log):
    lean, full = log.read()[0], log.read(texts=True)[0]
    outcomes = {key(row): outcome(row)[:6] for row in full}
    assert all(outcomes[key(row)] == outcome(row)[:6] for row in lean)
    assert [key(row) for row in full if row.score is not None] == [key(row) for row in lean if row.score is not None]
    assert {(row.completion, row.target, row.messages, row.choices) for row in lean} == {(None, None, None, ())}
    has_texts = log.example.has_texts and log.example.field is not None
    assert any(row.completion is not None or row.messages is not None for row in full) or not has_texts


def test_a_row_has_a_score_or_a_status_that_says_why_not(log):
    rows, _ = log.read()
    for row in rows:
        assert (row.score is None) == (row.status in ("error", UNSCORED))
        assert (row.error is None) == (row.status != "error")
        assert row.error is None or "\n" not in row.error


def test_each_scorer_is_read_and_the_first_is_the_default(log):
    scorers = log.reader.describe(log.path).scorers
    for scorer in scorers:
        assert log.read(scorer=scorer)[0]
    if scorers and not any(note.code == "log-scores-of-all-read" for note in log.read(scorer=scorers[0])[1]):
        rows = log.read(scorer=scorers[0])[0]
        benchmarks = {row.benchmark for row in rows}  # each benchmark of a log may have a first scorer of its own
        assert rows == [row for row in log.read()[0] if row.benchmark in benchmarks]
    with pytest.raises(UnknownNameError, match="no such scorer|scorer 'no such scorer'"):
        log.read(scorer="no such scorer")


def test_notes_are_lines_without_the_path(log):
    for texts in (False, True):
        for note in log.read(texts=texts)[1]:
            assert not note.where
            assert "\n" not in note.text
            assert str(log.path) not in note.text


# --- options that are the same for all readers ---


def test_columns_map_fields_of_the_records(log):
    if log.example.field is None:
        with pytest.raises(UnknownNameError, match="unknown field 'x'"):
            log.read(columns={"cluster": "x"})
        return
    rows, _ = log.read(columns={"cluster": log.example.field})
    assert rows
    assert all(isinstance(row.cluster, str) and row.cluster for row in rows)
    assert [outcome(row) for row in rows if row.score is not None] == [
        outcome(row) for row in log.read()[0] if row.score is not None
    ]
    merged, _ = log.read(columns={"question": log.example.field})
    assert {row.question for row in merged} >= {row.cluster for row in rows}
    assert len({key(row) for row in merged}) == len(merged)


def test_unknown_columns_and_fields_are_named(log):
    with pytest.raises(UnknownNameError, match="unknown column 'colour'"):
        log.read(columns={"colour": "x"})
    if log.example.field is not None:
        parent, dot, _ = log.example.field.rpartition(".")
        field = f"{parent}{dot}no such field"
        with pytest.raises(UnknownNameError, match=f"unknown field '{field}'"):
            log.read(columns={"cluster": field})


def test_a_source_has_the_labels_that_it_is_given(log):
    info = log.reader.describe(log.path)
    labels = {name: f"{name} (hot)" for name in info.models}
    source = LogSource(DistinctLog(log.reader, log.path, info, names=LogNames(models=labels)))
    assert {row.model for row in source.generations()} <= set(labels.values())
    assert source.manifest()["models"].keys() == set(labels.values())
    if any(row.score is not None for row in log.read()[0]):
        assert {model for cells in source.group(make_cells) for model in cells.models} <= set(labels.values())


# --- damage: every row, or fewer and a note, or one clear line ---


def is_json(file):
    return FileHead(file).kind == "json"


@pytest.mark.filterwarnings("ignore:.*the text is not UTF-8:howsure.errors.HowsureWarning")
@pytest.mark.parametrize(
    "content", [b"", b" \n", b"{", b"[]", b"3", b"null", b"[" * 10_000, b"\xff\xfe\x00", b"PK\x03\x04"]
)
def test_a_file_without_records_is_one_clear_line(log, content):
    log.files[0].write_bytes(content)
    with contextlib.suppress(InputError):  # some describe a log by its name, or by the totals beside it
        log.reader.describe(log.path)
    with pytest.raises(InputError) as raised:
        log.read()
    assert str(log.path.parent) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_empty_object_has_no_rows(log):
    log.files[0].write_bytes(b"{}")
    try:
        rows, notes = log.read()
    except InputError:
        return
    assert notes
    assert not rows


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.99])
def test_a_file_that_breaks_off(log, share):
    rows = len(log.read(texts=True)[0])
    for file in log.files:
        whole = file.read_bytes()
        file.write_bytes(whole[: int(len(whole) * share)])
        survives(log.path, rows, reader=log.reader)
        file.write_bytes(whole)


def edited(value, edit, depth):
    """Copies of a JSON value with one key edited, at most `depth` objects deep; of a list the first element is."""
    if isinstance(value, dict):
        for name in value:
            yield edit(value, name)
            if depth > 1:
                yield from ({**value, name: inner} for inner in edited(value[name], edit, depth - 1))
    elif isinstance(value, list) and value:
        yield from ([inner, *value[1:]] for inner in edited(value[0], edit, depth))


def is_json_lines(file):
    """Whether the first line of a file is a record of its own."""
    with contextlib.suppress(ValueError):
        return isinstance(json.loads(file.read_text(encoding="utf-8").partition("\n")[0]), dict)
    return False


def edited_files(log, edit):
    """The log, once for each edit of one of its JSON files."""
    for file in filter(is_json, log.files):
        whole = file.read_text(encoding="utf-8")
        first, _, rest = whole.partition("\n")
        is_lines = is_json_lines(file)
        for value in edited(json.loads(first if is_lines else whole), edit, 3):
            file.write_text(json.dumps(value) + "\n" + rest if is_lines else json.dumps(value, indent=2))
            yield file
        file.write_text(whole)


def test_missing_fields(log):
    rows, _ = log.read(texts=True)
    for _ in edited_files(log, lambda value, name: {other: value[other] for other in value if other != name}):
        survives(log.path, 0, reader=log.reader)
    assert log.read(texts=True)[0] == rows


@pytest.mark.parametrize(
    "odd",
    [
        "odd",
        *(pytest.param(odd, marks=pytest.mark.long) for odd in (None, 7, {}, -1.5, [], ["odd"], [{"odd": 1}], True)),
    ],
)
def test_fields_of_other_types(log, odd):
    for _ in edited_files(log, lambda value, name: {**value, name: odd}):
        survives(log.path, 0, reader=log.reader)


def test_records_that_come_twice_do_not_give_a_key_twice(log):
    for file in filter(is_json, log.files):
        whole = file.read_bytes()
        if is_json_lines(file):
            file.write_bytes(whole + whole)
        else:
            value = json.loads(whole)
            if isinstance(value, dict):
                value = {name: inner * 2 if isinstance(inner, list) else inner for name, inner in value.items()}
            file.write_text(json.dumps(value if isinstance(value, dict) else value * 2, indent=2))
        survives(log.path, 0, reader=log.reader)
        file.write_bytes(whole)


def damage(folder, data):
    example = data.draw(st.sampled_from(EXAMPLES))
    log = copied(example, folder)
    texts = data.draw(st.booleans())
    rows = len(log.read(texts=texts)[0])
    file = data.draw(st.sampled_from(log.files))
    file.write_bytes(data.draw(damaged(file.read_bytes())))
    log.reader.recognises(FileHead(log.path))
    survives(log.path, rows, texts=texts, reader=log.reader)
    shutil.rmtree(folder)


@pytest.mark.filterwarnings("ignore:.*the text is not UTF-8:howsure.errors.HowsureWarning")
@settings(max_examples=400, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_damage(tmp_path_factory, data):
    damage(tmp_path_factory.mktemp("damage"), data)


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_much_damage(tmp_path_factory, data):
    damage(tmp_path_factory.mktemp("damage"), data)


# --- readers of other packages ---

TINY = """
import json
from howsure.logs.base import LogInfo, LogReader, RowKey
from howsure.rows.to_cells import make_cells
from howsure.store.manifest import ModelRecord

class TinyReader(LogReader):
    name = "Tiny"

    def recognises(self, head):
        return head.kind == "json" and "tiny" in head.keys

    def describe(self, path):
        return LogInfo(run=path.name, models={"m": ModelRecord(name="m", kind=self.name)}, benchmarks={"b": {}})

    def read(self, path, build):
        for record in json.loads(path.read_text())["tiny"]:
            yield build.row(RowKey("b", "m", record["id"]), **build.score_fields(record["score"]))
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """A folder on Python's path, where packages are installed; what was found before is forgotten."""
    logs._list_plugins.cache_clear()
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield tmp_path / "site"
    logs._list_plugins.cache_clear()
    sys.modules.pop("tiny_reader", None)


def install(folder, place):
    information = folder / "tiny-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / "tiny_reader.py").write_text(TINY)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{logs.ENTRY_POINTS}]\ntiny = {place}\n")


def test_a_package_adds_a_reader_by_an_entry_point(plugins, tmp_path):
    from howsure.results.evaluations import read

    path = tmp_path / "log"
    path.write_text('{"tiny": [{"id": "a", "score": 1}, {"id": "a", "score": "I"}, {"id": "b", "score": true}]}')
    assert find_reader(path) is None
    logs._list_plugins.cache_clear()
    install(plugins, "tiny_reader:TinyReader")
    assert find_reader(path).name == "Tiny"
    (cells,) = read(path)
    assert (cells.total.tolist(), cells.n.tolist()) == ([[1.0, 1.0]], [[2, 1]])


def test_a_reader_that_cannot_be_loaded_is_named_and_left_out(plugins, tmp_path):
    install(plugins, "tiny_reader:NoReader")
    (tmp_path / "log").write_text('{"tiny": []}')
    with pytest.warns(HowsureWarning, match=r"the log reader 'tiny' \(tiny_reader:NoReader\) cannot be loaded"):
        assert find_reader(tmp_path / "log") is None
