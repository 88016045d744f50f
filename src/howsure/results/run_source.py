"""A run folder as a source of cells, cubes and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from howsure.errors import InputError, StoreError
from howsure.logs.base import OF_OWN_SCORES
from howsure.notes import Note
from howsure.results import merging
from howsure.rows import to_cells
from howsure.rows.source import Source
from howsure.rows.to_cells import keep_first_rows
from howsure.store import database, manifest, responses, scorer_files
from howsure.store import manifest as manifests
from howsure.store.lookup import read_clusters
from howsure.store.schema import KEY, UNSCORED, WITHOUT_ANSWER, has_scoring_error

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_COLUMNS = (*KEY, "score", "answer", "created")
#: Name of the column with the clusters that a run folder stores.
_CLUSTER = "cluster"
#: Largest number of models that a note names.
_N_NAMED = 3
#: Codes of the notes on models that were sampled adaptively, by what is made of the rows.
_OF_STAGES = {"make_cells": "stages-weighted", "make_runs": "stages-as-runs", "make_cubes": "stages-of-variants"}


class RunSource(Source):
    """One run folder.

    Parameters
    ----------
    path
        The folder.
    columns
        Only `cluster=cluster` is allowed, because clusters that the folder stores are used in any case.
    scorer
        Name of the scorer whose scores are read; None reads those of the run's judge, else those that `howsure rescore`
        wrote last, with the own score of each row that has none of these; "run" reads the own scores.
    earlier
        Run folders that are read before this one; copies of their generations are left out.
    labels
        New labels of models by those that the folder has, where another folder has the label for other settings.

    Attributes
    ----------
    plans
        Plans of the models that were sampled adaptively.
    """

    path: Path

    def __init__(
        self,
        path: Path,
        *,
        columns: Mapping[str, str],
        scorer: str | None = None,
        most_generations: int | None = None,
        earlier: Sequence[RunSource] = (),
        labels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(path, most_generations)
        self.columns, self.earlier, self.labels = columns, tuple(earlier), labels or {}
        self.plans = {
            benchmark: {self.labels.get(label, label): plan for label, plan in plans.items()}
            for benchmark, plans in manifest.load_plans(path).items()
        }
        self.scorer = self._find_default_scorer() if scorer is None else scorer
        if scorer == scorer_files.OWN_SCORES:
            self.scorer = None
        self.notes += self._read_notes()
        is_newest = self.scorer == scorer_files.NEWEST
        name = scorer_files.find_newest(path) if is_newest else self.scorer
        if name is not None and name.startswith("judge:"):
            self.note(Note("judge-opinion"))
        elif name is not None and "+judge:" in name:
            self.note(Note("judge-read-unparsed", facts={"scorer": scorer_files.split_name(name)[0]}))

    def group(self, make: Callable[..., T], dimensions: Sequence[str] = ()) -> T | None:
        """Return what a function of `to_cells` makes of the rows; None where all are copies.

        Cubes have the values that the manifest states for the variants.
        """
        if self.plans:
            labels = sorted({label for models in self.plans.values() for label in models})
            more = f" and {len(labels) - _N_NAMED} more" if len(labels) > _N_NAMED else ""
            self.note(Note(_OF_STAGES[make.__name__], facts={"models": ", ".join(labels[:_N_NAMED]) + more}))
        if not self.rows.num_rows and self.earlier and len(self.marks):
            return None
        passes = {"pass_at": self.pass_at} if make is to_cells.make_cells else {}
        result: Any = make(self.rows, where=str(self.path), plans=self.plans, **passes)
        if make is to_cells.make_cubes:
            about = self._manifest or manifests.Manifest()
            result = merging.describe_variants(result, about, dimensions, where=str(self.path))
        return cast("T", result)

    def manifest(self) -> dict[str, object] | None:
        """Return the manifest, with the labels under which models are read; None if the run never wrote one.

        Where the scores that are read were written beside the rows, it has their scorer and time as "scored", and how
        many targets of each benchmark were replaced for them.
        """
        import msgspec

        if self._manifest is None:
            return None
        about = dict(msgspec.to_builtins(self._manifest))
        about["models"] = {self.labels.get(label, label): model for label, model in about["models"].items()}
        if self.scorer is not None:
            name, written = scorer_files.read_name_and_time(self.path, self.scorer)
            scored: dict[str, object] = {"by": name, "at": manifests.format_time(written)}
            about["scored"] = scored
            if replaced := scorer_files.read_replaced_targets(self.path, self.scorer):
                scored["replaced_targets"] = {benchmark: counts._asdict() for benchmark, counts in replaced.items()}
        return about

    @cached_property
    def _manifest(self) -> manifests.Manifest | None:
        return manifests.load(self.path) if (self.path / manifests.NAME).is_file() else None

    @property
    def models(self) -> set[str]:
        """The labels under which models are read; empty without a manifest."""
        return set() if self._manifest is None else {self.labels.get(label, label) for label in self._manifest.models}

    @cached_property
    def marks(self) -> pa.Array:
        """The distinct marks of the generations; see `merging.mark_rows`."""
        from pyarrow import compute

        return compute.unique(merging.mark_rows(responses.stream(self.path, merging.MARKS).read_all()))

    @cached_property
    def rows(self) -> pa.Table:
        """The rows from which cells are computed: scored and failed generations, with their clusters."""
        from pyarrow import compute

        columns = dict.fromkeys([*_COLUMNS, "status", *merging.MARKS])
        stored = self._stream(list(columns)).read_all()
        if not stored.num_rows:
            remedy = "run its experiment again to sample them"
            raise InputError("the run has no generations yet", where=str(self.path), remedy=remedy)
        table = self.rename_models(self._drop_copies(stored, note=True))
        unscored = compute.equal(table["status"], UNSCORED)
        self._note_newest(compute.sum(compute.equal(stored["status"], UNSCORED)).as_py() or 0)
        if number := compute.sum(unscored).as_py():
            table = table.filter(compute.invert(unscored))
            remedy = self._suggest_scorer()
            if not table.num_rows:
                raise InputError("no completion has a score", where=str(self.path), remedy=remedy)
            of = "" if self.scorer is None else f" by {self.scorer}"
            self.note(Note("unscored-completions", n=number, facts={"of": of, "remedy": remedy}))
        names = [name for name in _COLUMNS if name != "answer" or has_answers(table)]
        if set(compute.unique(table["status"]).to_pylist()) & set(WITHOUT_ANSWER):
            names.append("status")  # refusals are not unparsed
        table = keep_first_rows(table.select([*names, "request"]), self.most_generations, str(self.path))
        table, models = merging.pool_requests(table)
        if models:
            more = f" and {len(models) - _N_NAMED} more models" if len(models) > _N_NAMED else ""
            self.note(Note("requests-as-units", facts={"models": ", ".join(models[:_N_NAMED]) + more}))
        return self._add_clusters(table.drop_columns("request"))

    def _suggest_scorer(self) -> str:
        """Return how completions without a score get one, or how the scores that they have are read."""
        if self.scorer is not None:
            return "not stored, or sampled after howsure rescore, which scores those when it runs again"
        scorers = scorer_files.list_scorers(self.path)
        if not scorers:
            return "howsure rescore gives scores"
        name, _ = scorer_files.split_name(scorers[0])
        return f"--scorer {name} reads the scores that howsure rescore gave"

    def read_rows(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of this source in batches, with the columns `names`.

        Copies of generations in earlier folders are left out, and so are generations beyond the first
        `most_generations` of their cell and then those without a score. For these, all rows are read at once.
        """
        import pyarrow as pa

        limit = (*KEY, "status") if self.most_generations is not None else ()
        more = (*limit, *(merging.MARKS if self.earlier else ()))
        batches = self._stream(list(dict.fromkeys([*names, *more])))
        if limit:
            yield self.select_rows(batches.read_all()).select(list(names))
            return
        for batch in batches:
            yield self.select_rows(pa.Table.from_batches([batch])).select(list(names))

    def select_rows(self, table: pa.Table) -> pa.Table:
        """Return rows of the folder under their labels, without copies and excess generations.

        `read_rows` lists the columns that this needs.
        """
        from pyarrow import compute

        table = self.rename_models(self._drop_copies(table))
        if self.most_generations is None:
            return table
        scored = table.filter(compute.not_equal(table["status"], UNSCORED))
        return keep_first_rows(scored, self.most_generations, str(self.path))

    def _drop_copies(self, table: pa.Table, *, note: bool = False) -> pa.Table:
        """Return the rows that no earlier folder has."""
        from pyarrow import compute

        for other in self.earlier:
            copies = compute.is_in(merging.mark_rows(table), other.marks, skip_nulls=True)
            if number := compute.sum(copies).as_py():
                table = table.filter(compute.invert(copies))
                if note:
                    self.note(Note("copied-from-folder", n=number, facts={"other": str(other.path)}))
        return table

    def rename_models(self, table: pa.Table) -> pa.Table:
        """Return the rows with the labels under which models are read."""
        from pyarrow import compute

        if not self.labels or "model" not in table.column_names:
            return table
        stored = table["model"]
        labels = stored
        for old, new in self.labels.items():
            labels = compute.if_else(compute.equal(stored, old), new, labels)
        return table.set_column(table.column_names.index("model"), "model", labels)

    def _stream(self, names: Sequence[str]) -> pa.RecordBatchReader:
        """Return all rows of the folder, with the scores of the chosen scorer."""
        if self.scorer is None:
            return responses.stream(self.path, names)
        return scorer_files.stream_rows(self.path, names, self.scorer)

    def _add_clusters(self, table: pa.Table) -> pa.Table:
        """Return the rows with a column of clusters, if each question of a benchmark has one."""
        import pyarrow as pa
        from pyarrow import compute

        cluster_of = read_clusters(self.path)
        if _CLUSTER in self.columns and (self.columns[_CLUSTER] != _CLUSTER or not cluster_of):
            what = f"a run folder has no column {self.columns[_CLUSTER]!r}"
            remedy = (
                "clusters are read from tables, and from folders of benchmarks with `cluster:` in their field map or "
                "that howsure convert made with --cluster; these use them by themselves"
            )
            raise InputError(what, where=str(self.path), remedy=remedy)
        if not cluster_of:
            return table
        key = compute.binary_join_element_wise(table["benchmark"], table["question"], "\0").combine_chunks()
        place = compute.index_in(key, pa.array(["\0".join(names) for names in cluster_of]))
        cluster = pa.array(list(cluster_of.values())).take(place)
        for benchmark in sorted({benchmark for benchmark, _ in cluster_of}):
            mine = compute.equal(table["benchmark"], benchmark)
            if compute.any(compute.and_(mine, compute.is_null(cluster))).as_py():
                cluster = compute.if_else(mine, pa.scalar(None, pa.string()), cluster)
                self.note(Note("clusters-of-some-questions", benchmark, (benchmark,)))
        return table.append_column(_CLUSTER, cluster) if cluster.null_count < len(cluster) else table

    def _find_default_scorer(self) -> str | None:
        """Return the scorer whose scores are read where none is named; None for the scores in the rows."""
        try:
            judge = self._manifest.scorer if self._manifest is not None else ""
            return judge or (scorer_files.NEWEST if scorer_files.find_newest(self.path) else None)
        except StoreError:
            return None

    def _note_newest(self, n_unscored: int) -> None:
        """Note whose scores are read where none were named, and how many rows keep their own."""
        if self.scorer != scorer_files.NEWEST:
            return
        name, _ = scorer_files.read_name_and_time(self.path, self.scorer)
        batches = scorer_files.stream_rows(self.path, ["status", "error"], name)
        rows = (row for each in batches for row in each.to_pylist())
        own = sum(row["status"] == UNSCORED or has_scoring_error(row["error"]) for row in rows) - n_unscored
        text = f" (rows that keep the score of the run: {own:,})" if own else ""
        self.note(Note("newest-scores", n=own, facts={"by": name, "own": text}))

    def _read_notes(self) -> list[Note]:
        """Return the notes and warnings that the run stored, and one on the models that were stopped early."""
        try:
            about = self._manifest
        except StoreError as error:
            return [Note("damaged-manifest", facts={"why": str(error)})]
        if about is None:
            return [Note("no-manifest", facts={"name": manifests.NAME})]
        notes = [one.to_note() for one in about.source_notes]
        notes += [
            Note("run-warning", benchmarks=about.warned_benchmarks.get(line, ()), facts={"text": line})
            for line in about.warnings
        ]
        if self.scorer is not None and self.scorer != about.scorer:  # a note on the log's own scores is of no others
            notes = [one for one in notes if one.code not in OF_OWN_SCORES]
        if _lacks_journal(self.path, about):
            notes.append(Note("lost-journal"))
        several = len(about.benchmarks) > 1
        for one in about.stopped:
            if one.is_early:
                where = one.benchmark if several else ""
                notes.append(Note("stopped-early", where, (one.benchmark,), facts={"why": one.message}))
        return notes


def has_answers(table: pa.Table) -> bool:
    """Return whether the rows say which answers were parsed: False where all are ok, and none has its answer."""
    from pyarrow import compute

    if table["answer"].null_count < table.num_rows:
        return True
    scored = table.filter(compute.is_valid(table["score"]))
    return bool(compute.any(compute.not_equal(scored["status"], "ok")).as_py())


def _lacks_journal(path: Path, about: manifests.Manifest) -> bool:
    """Return whether a session was killed, and the journal is gone that SQLite leaves beside its database then."""
    was_killed = bool(about.sessions) and about.sessions[-1].finished is None
    database_file = path / database.NAME
    return was_killed and database_file.is_file() and not Path(f"{database_file}-wal").exists()


def list_judged_sources(sources: Iterable[object]) -> list[RunSource]:
    """Return the run folders whose scores a judge gave."""
    return [source for source in sources if isinstance(source, RunSource) and is_judged(source)]


def is_judged(source: object) -> bool:
    """Return whether a source is a run folder whose scores a judge gave; what it has as answers are the verdicts."""
    return isinstance(source, RunSource) and source.scorer is not None and source.scorer.startswith("judge:")
