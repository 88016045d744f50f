"""A page as a parser sees it, and names that try to be more than text."""

import base64
import gzip
import json
from html.parser import HTMLParser

HOSTILE = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{ 7 * 7 }}<!--", "x" * 60, "=1+1"]


class Page(HTMLParser):
    """Tags with their attributes, scripts by id or number, text outside scripts and styles."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.text, self._open = [], [], "", []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "br", "wbr", "input", "rect", "line", "circle"}:
            self._open.append(tag)
        if tag in {"script", "style"}:
            self.scripts.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        if tag == "script" and self.scripts[-1][1].get("class") == "packed":
            self.scripts[-1][2] = gzip.decompress(base64.b64decode(self.scripts[-1][2])).decode()
        if tag not in {"rect", "line", "circle"}:
            assert self._open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self._open and self._open[-1] in {"script", "style"}:
            self.scripts[-1][2] += data
        else:
            self.text += data

    def json(self, name):
        """What a script holds; columns of words unpacked, and what a figure draws in its place, as page.js does."""
        found = json.loads(next(text for _, attrs, text in self.scripts if attrs.get("id") == name))
        if name.startswith("table-"):
            return {
                column: values if isinstance(values, list) else [values["names"][i] for i in values["at"]]
                for column, values in found.items()
            }
        for key, rows in found.get("datasets", {}).items() if isinstance(found, dict) else ():
            if isinstance(rows, str):
                found["datasets"][key] = [self.json(f"table-{rows}")]
        return found
