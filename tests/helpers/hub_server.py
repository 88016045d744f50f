"""A local server that answers as the hub does: the list of files of a revision, files with ETag, redirects, faults."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["HubServer", "serve_hub"]


class HubServer:
    """Data sets by id, each a revision and its files; `fault` makes the server answer otherwise."""

    def __init__(self) -> None:
        self.repositories: dict[str, tuple[str, dict[str, bytes]]] = {}
        self.fault: int | str | None = None
        self.requests: list[tuple[str, str, str]] = []
        self.url = ""
        self.storage = ""
        """Address of the files: another host than the hub's, as the client follows redirects to the same one."""

    def answer(self, handler: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        """Answer a request."""
        method, path = handler.command, handler.path.partition("?")[0]
        self.requests.append((method, path, handler.headers.get("Authorization", "")))
        if isinstance(self.fault, int):
            message = {401: "GatedRepo", 404: "RepoNotFound"}.get(self.fault, "")
            self._send(handler, self.fault, b'{"error": "refused"}', {"X-Error-Code": message} if message else {})
            return
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "datasets"]:
            revision = parts[5] if len(parts) > 5 else "main"
            self._answer_revision(handler, "/".join(parts[2:4]), revision, as_tree="tree" in parts[4:5])
        elif parts[0] == "datasets" and "resolve" in parts:
            place = parts.index("resolve")
            file = "/".join(parts[place + 2 :])
            content = self.repositories["/".join(parts[1:place])][1].get(file)
            self._answer_file(
                handler, file, content, self.repositories["/".join(parts[1:place])][0], with_body=with_body
            )
        elif parts[0] == "cdn":
            content = next(
                files["/".join(parts[1:])] for _, files in self.repositories.values() if "/".join(parts[1:]) in files
            )
            if self.fault == "broken":
                handler.send_response(200)
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content[: len(content) // 2])
                handler.close_connection = True
            else:
                self._send(handler, 200, content, {}, with_body=with_body)
        else:
            self._send(handler, 404, b"", {})

    def _answer_revision(
        self, handler: BaseHTTPRequestHandler, repository: str, revision: str, *, as_tree: bool
    ) -> None:
        """Answer with the files of a revision."""
        if repository not in self.repositories:
            self._send(handler, 404, b'{"error": "Repository not found"}', {"X-Error-Code": "RepoNotFound"})
            return
        commit, files = self.repositories[repository]
        if revision not in (commit, "main"):
            self._send(handler, 404, b'{"error": "Invalid rev id"}', {"X-Error-Code": "RevisionNotFound"})
            return
        about: object = {"id": repository, "sha": commit, "siblings": [{"rfilename": name} for name in files]}
        if as_tree:
            about = [self._describe_file(name, content) for name, content in files.items()]
        self._send(handler, 200, json.dumps(about).encode(), {"Content-Type": "application/json"})

    def _describe_file(self, name: str, content: bytes) -> dict[str, object]:
        """Return a file as the tree of a revision lists it."""
        digest = hashlib.sha256(content).hexdigest()
        lfs = {"oid": digest, "size": len(content), "pointerSize": 134}
        return {"type": "file", "path": name, "size": len(content), "oid": digest[:40], "lfs": lfs}

    def _answer_file(
        self, handler: BaseHTTPRequestHandler, file: str, content: bytes | None, commit: str, *, with_body: bool
    ) -> None:
        """Answer with a redirect to the file, as for files in large storage."""
        del with_body
        if content is None:
            self._send(handler, 404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        etag = hashlib.sha256(content).hexdigest()
        headers = {"X-Repo-Commit": commit, "X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(content)), "ETag": f'"{etag}"', "Location": f"{self.storage}/cdn/{file}"}  # fmt: skip
        self._send(handler, 302, b"", headers)

    def _send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: dict[str, str],
        *,
        with_body: bool = True,
    ) -> None:
        """Send a whole answer."""
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if with_body and handler.command != "HEAD":
            handler.wfile.write(body)


@contextmanager
def serve_hub() -> Iterator[HubServer]:
    """Serve a hub on this machine until the context ends."""
    hub = HubServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.answer(self, with_body=True)

        def do_HEAD(self) -> None:
            hub.answer(self, with_body=False)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    hub.storage = f"http://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)  # how often it looks for its end
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
