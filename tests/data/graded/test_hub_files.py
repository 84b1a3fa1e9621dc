"""Test that a file is found in the hub's cache without the network, whatever its name in the data set."""

import gzip
import io
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

from explorer.data.graded import sts
from explorer.data.graded.sts import hub_table
from explorer.errors import UnreadableFile
from tests import fake_hub

ROWS = [{"sentence1": f"One {at}.", "sentence2": f"Two {at}.", "score": float(at)} for at in range(3)]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


def _jsonl() -> bytes:
    return "\n".join(map(json.dumps, ROWS)).encode()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a network that must not be asked."""

    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tmp_path


def _put(cache: Path, path: str, content: bytes) -> None:
    folder = cache / "datasets--org--set"
    file = folder / "snapshots" / COMMIT / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(COMMIT)


def _zipped() -> bytes:
    return gzip.compress(_jsonl(), mtime=0)  # without the time, which would change the names of tests every second


@pytest.mark.parametrize(
    ("path", "content", "contains"),
    [
        ("data/test-00000-of-00001.parquet", _parquet(), "test"),
        ("test.jsonl.gz", _zipped(), "test"),
        ("test.jsonl", _jsonl(), "test"),
        ("en-en/test-00000-of-00001.parquet", _parquet(), "en-en"),
        ("test/en-en.jsonl.gz", _zipped(), "en-en"),
    ],
)
def test_a_cached_file_is_found_under_every_layout(cache, path, content, contains):
    _put(cache, "README.md", b"# A test set")
    _put(cache, path, content)
    table = hub_table("org/set", (contains,), online=False)
    assert table is not None
    assert table.column("sentence1") == ("One 0.", "One 1.", "One 2.")
    assert table.column("score") == ("0.0", "1.0", "2.0")


def test_a_cache_without_the_split_answers_without_the_network(cache):
    assert not list(cache.iterdir())
    assert hub_table("org/set", ("test",), online=False) is None
    _put(cache, "data/train-00000-of-00001.parquet", _parquet())
    assert hub_table("org/set", ("test",), online=False) is None


BROKEN = {"cut off": _zipped()[:-20], "no zip": b"<html>", "garbled": _zipped()[:10] + b"?" * 30}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_zipped_file_that_is_broken_is_named_with_what_to_do(cache, broken):
    blob = cache / "blob"
    blob.write_bytes(broken)
    _put(cache, "test.jsonl.gz", b"")
    (link,) = cache.rglob("test.jsonl.gz")
    link.unlink()
    link.symlink_to(blob)
    with pytest.raises(
        UnreadableFile, match=rf"test\.jsonl\.gz in the hub's cache cannot be read: .*Delete {blob}, so"
    ):
        hub_table("org/set", ("test",), online=False)
    blob.unlink()
    assert hub_table("org/set", ("test",), online=False) is None


def test_a_hub_that_does_not_answer_is_out_of_reach_and_not_asked_for_what_is_cached(cache, monkeypatch):
    _put(cache, "test.jsonl", _jsonl())
    assert hub_table("org/set", ("test",), online=True) is not None, "the network would have failed the test"

    def unreachable(*_: Any, **__: Any) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    assert hub_table("org/other", ("test",), online=True) is None


def test_a_hub_that_takes_calls_and_says_nothing_is_out_of_reach(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(sts, "PATIENCE", 0.2)
        assert hub_table("org/set", ("test",), online=True) is None
        silent.setblocking(False)
        silent.accept()[0].close()  # it was called


def test_a_portal_that_answers_in_place_of_the_hub_is_out_of_reach(tmp_path, monkeypatch):
    asked: list[str] = []

    class Portal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html>Welcome to our hotel</html>")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Portal) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()  # ends at once
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        assert hub_table("org/set", ("test",), online=True) is None
        server.shutdown()
    assert asked == ["/api/datasets/org/set"]


def test_a_set_is_fetched_from_the_hub_once_and_only_the_file_that_is_wanted(tmp_path, monkeypatch):
    pairs = [{"sentence1": f"One {at}.", "sentence2": f"Two {at}.", "score": at % 6} for at in range(250)]
    lines = gzip.compress("\n".join(map(json.dumps, pairs)).encode())
    served, cache = tmp_path / "served", tmp_path / "cache"
    for name in ("en-en", "ar-ar"):
        file = served / "data" / "test" / f"{name}.jsonl.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(lines)
    with fake_hub.serving({"mteb/sts17-crosslingual-sts": served}) as address:
        fake_hub.connect(address, cache, monkeypatch)
        assert len(sts.load("STS17", folder=tmp_path, online=True)) == 250
    assert [path.name for path in cache.rglob("*.gz")] == ["en-en.jsonl.gz"]
    # the hub is gone, and is not asked again
    assert sts.load("STS17", folder=tmp_path).gold[7] == 1.0


def test_a_set_the_hub_does_not_have_is_out_of_reach(tmp_path, monkeypatch):
    with fake_hub.serving({}) as address:
        fake_hub.connect(address, tmp_path, monkeypatch)
        assert hub_table("org/other", ("test",), online=True) is None
