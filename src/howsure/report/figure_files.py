"""The figures of a page as files: SVG, PNG or PDF, drawn without a browser, and the numbers of each as CSV.

They are read from the page itself, whether it was just built or somebody kept it, so that they are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from howsure.errors import InputError, UnknownNameError
from howsure.report.elements import unpacked

#: Width of a figure in pixels, and how many of a PNG stand for one of them.
WIDTH, SCALE = 640, 2

#: What figures can be exported as: the function of vl-convert that draws it, and its further arguments.
FORMATS: dict[str, tuple[str, dict[str, float]]] = {
    "svg": ("vegalite_to_svg", {}),
    "png": ("vegalite_to_png", {"scale": SCALE}),
    "pdf": ("vegalite_to_pdf", {}),
}


@dataclass(frozen=True)
class Drawn:
    """A figure of a page: its id there, its specification, and the columns of the table behind it."""

    id: str
    spec: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]


def write(folder: str | Path, html: str, *, form: str = "svg", background: str = "white") -> list[Path]:
    """Export every figure of a page.

    Parameters
    ----------
    folder
        Where `NAME.svg` and `NAME.csv` of each figure are written; made when it is missing. NAME is the figure's id on
        the page, without the number of the benchmark when there is one.
    html
        What `page.build` made.
    form
        One of `FORMATS`. PNG has two pixels for each of the page.
    background
        A CSS colour, or "transparent".

    Returns
    -------
    list of Path
        The drawings, in the order of the page.

    Raises
    ------
    InputError
        When the format is none of these, the text is no page of howsure, or a file cannot be written.
    """
    if form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS, where="--format")
    found = figures(html)
    # Of one benchmark, b1-forest is forest.
    is_one = len({one.id.partition("-")[0] for one in found}) == 1
    folder, written = Path(folder), []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in found:
            name = one.id.partition("-")[2] if is_one else one.id
            written.append(folder / f"{name}.{form}")
            written[-1].write_bytes(drawn(one.spec, form=form, background=background))
            (folder / f"{name}.csv").write_text(csv(one.columns), encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(error.filename or folder)) from error
    return written


def figures(html: str) -> list[Drawn]:
    """The figures of a page, in their order."""
    page = _Page()
    page.feed(html)
    page.close()
    if "labels" not in page.scripts:
        remedy = "give the HTML file that howsure report wrote"
        raise InputError("not a page of howsure", where="--figures", remedy=remedy)
    found = []
    for id_, table in page.tables.items():
        spec, columns = json.loads(page.scripts[f"{id_}-spec"]), unpacked(json.loads(page.scripts[f"table-{table}"]))
        # What a figure draws may be its table.
        spec["datasets"] = {key: [columns] if rows == table else rows for key, rows in spec["datasets"].items()}
        found.append(Drawn(id_, spec, columns))
    return found


def drawn(spec: Mapping[str, Any], *, form: str = "svg", background: str = "white", width: int = WIDTH) -> bytes:
    """A figure as a file of this format, as wide as `width` pixels with the names beside it."""
    try:
        import altair as alt
        import vl_convert
    except ModuleNotFoundError as error:
        raise InputError(f"the report needs {error.name}", remedy="pip install 'howsure[report]'") from error
    release = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    convert, more = FORMATS[form]
    # Nothing is loaded, whatever a specification says.
    made = getattr(vl_convert, convert)(
        fixed(spec, background, width), vl_version=release, allowed_base_urls=[], **more
    )
    return made.encode() if isinstance(made, str) else bytes(made)


def fixed(spec: Mapping[str, Any], background: str, width: int) -> dict[str, Any]:
    """The specification with what the page's script decides for its width."""
    config = dict(spec.get("config", {}))
    # Fonts that vl-convert has with it: the same picture on every machine.
    config |= {"background": background, "font": "Liberation Sans, sans-serif"}
    config["axisY"] = {"labelLimit": max(90, min(260, 0.34 * width)), **config.get("axisY", {})}
    if longest := spec.get("usermeta", {}).get("longest"):
        config["legend"] = {**config.get("legend", {}), "columns": max(1, int(width // (7 * longest + 44)))}
    fixed = {**spec, "config": config}
    if fixed.get("width") == "container":
        fixed["width"] = min(width, spec.get("usermeta", {}).get("widest", width))
    if "spec" in fixed:
        fixed["spec"] = {**fixed["spec"], "width": width - 60}
    return fixed


def csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Comma-separated values as the page's button saves them; no spreadsheet takes a text for a formula.

    >>> csv({"model": ["=1+1", "a, b"], "score": [0.5, None]}).splitlines()
    ['model,score', "'=1+1,0.5", '"a, b",']
    """
    rows: Iterator[Sequence[Any]] = zip(*columns.values(), strict=True)
    return "".join(",".join(map(_field, row)) + "\r\n" for row in [tuple(columns), *rows])


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    text = str(value)
    if isinstance(value, str) and text.startswith(("=", "+", "-", "@", "\t", "\r")):
        text = f"'{text}"
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"\r\n') else text


class _Page(HTMLParser):
    """Data in scripts by id, and the table of each figure by the figure's id."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self.tables: dict[str, str] = {}
        self._figure = self._script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where we are."""
        given = {name: value or "" for name, value in attrs}
        self._script = given.get("id", "") if tag == "script" else ""
        if tag == "figure":
            self._figure = given.get("id", "")
        if self._figure and "data-table" in given:
            self.tables[self._figure] = given["data-table"]

    def handle_endtag(self, tag: str) -> None:
        """A figure, or a script, ends."""
        self._script = ""
        if tag == "figure":
            self._figure = ""

    def handle_data(self, data: str) -> None:
        """Keep what a named script holds."""
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data
