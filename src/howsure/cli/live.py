"""The page of a run in progress, as another process builds it again and again."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["page_of", "watched"]


def page_of(folder: str) -> str:
    """The report of a run folder as it is now."""
    from howsure.cli.inputs import Inputs
    from howsure.report.page import build_page
    from howsure.report.report_data import ReportData

    inputs = Inputs([folder])
    cells, cubes = inputs.cells, list(inputs.several().values())
    data = ReportData(
        cells,
        cubes=cubes,
        unparsed=inputs.unread(cubes) or {},
        repeats=inputs.runs(),
        answers=inputs.answers(),
        manifests=inputs.evaluations.manifests(),
        source_warnings=inputs.evaluations.notes(),
    )
    return build_page(data).html


@contextlib.contextmanager
def watched(folder: Path, *, live: bool) -> Iterator[None]:
    """Serve the page while the context lasts, where that is asked for; the address goes to stderr."""
    if not live:
        yield
        return
    from howsure.web.live import serving

    with serving(folder, functools.partial(page_of, str(folder))) as url:
        print(f"howsure: the report as it grows: {url}", file=sys.stderr, flush=True)
        yield
