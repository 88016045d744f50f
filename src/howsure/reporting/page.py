"""One self-contained HTML page of results.

The file loads nothing: scripts, styles and data are in it, and its content security policy allows only those, by hash.
Names and manifests are treated as text: the template escapes them, and scripts show JSON data as text.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from howsure.errors import InputError, StoreError
from howsure.reporting import glossary
from howsure.reporting.assets import build_policy, bundle_vega, load_templates, read_scripts, read_template
from howsure.reporting.benchmark_report import BenchmarkReport, build_benchmark_reports
from howsure.reporting.elements import Figure, clean_json, dump_json
from howsure.reporting.figure_files import draw_page_svg
from howsure.reporting.report_data import ReportData, ReportOptions
from howsure.reporting.sections.question_browser import TextLimits
from howsure.stats.comparisons import POWER
from howsure.stats.core.claims import CLAIM_TEXTS
from howsure.store.atomic import replace_file
from howsure.store.scorer_files import split_name

#: Heading and meaning of every column of every table.
_COLUMNS = glossary.list_report_columns()

#: A day at the beginning of a time.
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

#: Styles and scripts of the page, in their order.
_STYLES, _SCRIPTS = ("page.css", "question.css"), ("page.js", "pair.js", "question.js")


@dataclass(frozen=True)
class Page:
    """A page of the report.

    Attributes
    ----------
    html
        Content of the page.
    text_files
        Content of further pages with prompts and generations, by their path relative to the page.
    figures
        Figures of the page in their order.
    verdicts
        Verdict of each benchmark.
    pair_counts
        Distinguishable pairs of models and all pairs, of each benchmark.
    """

    html: str
    text_files: Mapping[str, str] = field(default_factory=dict)
    figures: Sequence[Figure] = ()
    verdicts: Sequence[str] = ()
    pair_counts: Sequence[tuple[int, int]] = ()

    def save(self, path: str | Path) -> None:
        """Write the page and its further pages.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        path = Path(path)
        for name, text in {path.name: self.html, **self.text_files}.items():
            file = path.parent / name
            try:
                if name != path.name:
                    file.parent.mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot be written: {error.strerror}", where=str(file)) from error
            write_text_file(file, text)


def write_text_file(path: Path, text: str, *, newline: str = "\n") -> None:
    """Write a file; where it cannot be written whole, such as on a full disk, what was there before is kept.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():  # a pipe or a device, such as /dev/stdout
            path.write_text(text, encoding="utf-8", newline=newline)
            return
        with replace_file(target) as new:
            new.write_text(text, encoding="utf-8", newline=newline)
            if target.exists():
                shutil.copymode(target, new)
    except (OSError, StoreError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        raise InputError(f"cannot be written: {getattr(cause, 'strerror', None) or cause}", where=str(path)) from error


def build_page(
    data: ReportData,
    options: ReportOptions | None = None,
    *,
    file_name: str = "report.html",
    max_text_files: int = 4,
    index_address: str | None = None,
) -> Page:
    """Build the page on one or several benchmarks.

    Parameters
    ----------
    data
        Results to show.
    options
        Options of the report.
    file_name
        Name of the file that the page will be saved to, which pages with further texts link to.
    max_text_files
        Largest number of such pages per benchmark.
    index_address
        Address of the index of a site that the page belongs to.

    Raises
    ------
    InputError
        If the reference is unknown, or the `report` extra is not installed.
    """
    options = options or ReportOptions()
    data.check_reference(options.reference)
    bundle_vega()  # before the statistics, so that a missing extra is reported at once
    parts = build_benchmark_reports(data, options, TextLimits(file_name=file_name, max_files=max_text_files))
    figures = [figure for part in parts for figure in part.figures]
    drawings = {figure.id: draw_page_svg(figure) for figure in figures} if options.static_figures else {}
    return Page(
        html=_render(data, options, parts, index_address, drawings),
        text_files={
            path: text
            for part in parts
            if part.question_browser
            for path, text in part.question_browser.text_files.items()
        },
        figures=figures,
        verdicts=[part.verdict for part in parts],
        pair_counts=[part.count_pairs() for part in parts],
    )


def _render(
    data: ReportData,
    options: ReportOptions,
    parts: Sequence[BenchmarkReport],
    index_address: str | None,
    drawings: Mapping[str, str],
) -> str:
    """Return the HTML of the page."""
    title = parts[0].cells.benchmark if len(parts) == 1 else f"{len(parts)} benchmarks"
    style, script = "\n".join(map(read_template, _STYLES)), read_scripts(_SCRIPTS)
    bundle = bundle_vega()
    html: str = (
        load_templates()
        .get_template("page.html")
        .render(
            title=options.title or title,
            index_address=index_address,
            parts=parts,
            drawings=drawings,
            level=f"{100 * options.level:g}",
            claims=CLAIM_TEXTS,
            power=f"{POWER:.0%}",
            manifests=[json.dumps(clean_json(m), indent=2, ensure_ascii=False, default=str) for m in data.manifests],
            source_notes=data.source_notes,
            notes=dump_json([note.to_record() for note in data.source_notes]),
            facts_of_all=data.facts,
            dates=dict(_list_dates(data.manifests)),
            scorers={part.id: list(_list_scorers(data.manifests, part.cells.benchmark)) for part in parts},
            columns=_COLUMNS,
            terms=glossary.TERMS | glossary.CURVES,
            labels=dump_json({name: label for name, (label, _) in _COLUMNS.items()}),
            version=version("howsure"),
            models=len({model for part in parts for model in part.cells.models}),
            generations=sum(int(part.cells.n.sum()) for part in parts),
            policy=build_policy([style], [bundle, script], "img-src data:"),
            style=style,
            script=script,
            bundle=bundle,
        )
    )
    return html


def names_benchmark(manifest: Mapping[str, object], benchmark: str) -> bool:
    """Return whether a manifest names the benchmark, or names no benchmarks."""
    named = manifest.get("benchmarks")
    return not isinstance(named, Mapping) or not named or benchmark in named


def _list_scorers(manifests: Sequence[Mapping[str, object]], benchmark: str) -> Iterator[tuple[str, str]]:
    """Yield the scorers that gave scores of a benchmark after its run, and how many targets a review replaced."""
    scorers, targets = set(), set()
    for manifest in manifests:
        scored = manifest.get("scored")
        if not isinstance(scored, Mapping) or not names_benchmark(manifest, benchmark):
            continue
        scorers.add(split_name(str(scored.get("by")))[0])
        counts = (scored.get("replaced_targets") or {}).get(benchmark)
        if counts and counts["n_replaced"]:
            targets.add(f"{counts['n_replaced']:,} of {counts['n_questions']:,}")
    if scorers:
        yield "Scorer" if len(scorers) == 1 else "Scorers", ", ".join(sorted(scorers))
    if targets:
        yield "Targets replaced after a review", ", ".join(sorted(targets))


def _list_dates(manifests: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the first and last day of the runs, of their conversion to folders, and of scores that were given later."""
    days: dict[str, set[str]] = {"Run": set(), "Converted": set(), "Scores written": set()}
    for manifest in manifests:
        sampled, created = manifest.get("sampled"), str(manifest.get("created") or "")
        if isinstance(scored := manifest.get("scored"), Mapping):
            days["Scores written"].add(str(scored.get("at") or ""))
        if isinstance(sampled, (list, tuple)):
            days["Run"].update(str(day) for day in sampled)
            days["Converted"].add(created)
        else:
            days["Run"].add(created)
    for name, texts in days.items():
        if dates := sorted({text[:10] for text in texts if _DAY.match(text)}):
            yield name, " to ".join(dict.fromkeys((dates[0], dates[-1])))
