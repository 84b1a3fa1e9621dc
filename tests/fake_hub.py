"""A local server that answers like huggingface.co, with a few models and sets, for tests of downloads."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LICENCE = "apache-2.0"
# a set differs from a model in the prefix alone
_ASKED = r"(?:/api/models|/api/datasets|/datasets)?/([\w.-]+/[\w.-]+)(?:/(revision|tree|resolve)/([^/]+)/?(.*))?"
_REFUSALS = {  # name on the hub → how the real one refuses it: status, X-Error-Code
    "org/absent": (404, "RepoNotFound"),
    "org/gated": (403, "GatedRepo"),
    "org/forbidden": (403, ""),
    "org/busy": (503, ""),
    "org/eager": (429, ""),
}


def connect(address: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the hub at this address, and keep what it gives there; the library read its settings when it was imported."""
    constants = "huggingface_hub.constants."
    monkeypatch.setattr(constants + "ENDPOINT", address)
    monkeypatch.setattr(constants + "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants + "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants + "HF_HUB_CACHE", str(cache))


@contextmanager
def serving(models: dict[str, Path], pause: float = 0.0) -> Iterator[str]:
    """The address of a hub that has these folders under these names, and refuses others in every way it can.

    It rests for `pause` seconds after each MiB of a file.
    """

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            asked = re.fullmatch(_ASKED, path)
            name, verb, revision, file = asked.groups() if asked else ("", None, None, None)
            if name in _REFUSALS:
                return self.answer(b"", *_REFUSALS[name])
            if name not in models:
                return self.answer(b"", 401, "RepoNotFound")
            if revision not in (None, "main", COMMIT):
                return self.answer(b"", 404, "RevisionNotFound")
            folder = models[name]
            if verb == "resolve" and not (folder / file).is_file():
                return self.answer(b"", 404, "EntryNotFound")
            if verb == "resolve":
                return self.answer((folder / file).read_bytes(), 200, "")
            files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
            listed = [(path.relative_to(folder).as_posix(), path.stat().st_size) for path in files]
            if verb == "tree":
                tree = [{"type": "file", "path": name, "size": size, "oid": "0" * 40} for name, size in listed]
                return self.answer(json.dumps(tree).encode(), 200, "")
            siblings = [{"rfilename": name, "size": size} for name, size in listed]
            about = {"id": name, "sha": COMMIT, "siblings": siblings, "tags": ["bert", f"license:{LICENCE}"]}
            return self.answer(json.dumps(about).encode(), 200, "")

        def answer(self, body: bytes, status: int, code: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            if code:
                self.send_header("X-Error-Code", code)
            self.end_headers()
            if self.command == "GET":
                with suppress(ConnectionError):  # whoever asked has gone
                    for start in range(0, len(body), 2**20):
                        self.wfile.write(body[start : start + 2**20])
                        time.sleep(pause)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()  # ends at once
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
