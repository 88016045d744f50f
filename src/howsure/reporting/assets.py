"""Templates, styles and scripts of the pages, and the content security policies that allow them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.errors import require_modules
from howsure.safe_text import HASH, replace_invisible, shorten_hash

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"

#: Characters of data that are stored compressed.
LEAST_PACKED = 8_000

#: Release of Vega-Lite that draws the figures; a later one of the same major release may be installed.
VEGA_LITE = "6.1"

#: Places in a name where a line may break: after a character that joins two parts.
_BREAKS = re.compile(r"(?<=[_/:@.\-])(?=.)(?<!\d\.(?=\d))")


def read_scripts(names: Sequence[str]) -> str:
    """Return scripts of the templates as one, which runs when the packed data of the page are unpacked."""
    code = "\n".join(map(read_template, names))
    ready = "await Promise.all([...document.querySelectorAll('script.packed')].map(unpack));"
    see = "document.body.classList.add('ready')"  # before the code, which may focus what is seen, and where it fails
    return f"(async () => {{\n{read_template('unpack.js')}{ready}\n{see};\n{code}\n}})().finally(() => {see});"


def make_data_script(text: str, id_: str, kind: str = "application/json") -> Markup:
    """Return the script element that holds data or code, compressed where that saves much."""
    from markupsafe import Markup

    if len(text) < LEAST_PACKED:
        return Markup('<script type="{}" id="{}">{}</script>').format(kind, id_, Markup(text))  # noqa: S704  # dump_json escapes what could end a script
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return Markup('<script type="{}" class="packed" id="{}">{}</script>').format(
        kind.replace("/", "/packed-"), id_, packed
    )


def read_template(name: str) -> str:
    """Return the text of a file of the templates; of a script, with the pattern of ids that are hashes."""
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return text.replace("%HASH%", HASH) if name.endswith(".js") else text


def build_policy(styles: Sequence[str], scripts: Sequence[str], *more: str) -> str:
    """Return a content security policy that allows these styles and scripts, by their hashes, and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash_source, scripts))}",
            f"style-src {' '.join(map(_hash_source, styles))}",
            *more,
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash_source(text: str) -> str:
    """Return the source expression of a text in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def bundle_vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    require_modules("the report", "report", "jinja2", "vl_convert")
    import vl_convert

    code: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r", "")


@cache
def load_templates() -> jinja2.Environment:
    """Return the Jinja environment of the templates, in which every value is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=replace_invisible,
    )
    environment.filters["breakable"] = mark_breaks
    environment.filters["data_script"] = make_data_script
    environment.filters["short_id"] = shorten_hash
    return environment


def mark_breaks(name: str) -> Markup:
    """Return a name as HTML in which a line may break after characters that join its parts: not in words and numbers.

    >>> mark_breaks("org/model_a<b>")
    Markup('org/<wbr>model_<wbr>a&lt;b&gt;')
    >>> mark_breaks("qwen2.5-coder")
    Markup('qwen2.5-<wbr>coder')
    """
    from markupsafe import Markup

    return Markup("<wbr>").join(_BREAKS.split(name))
