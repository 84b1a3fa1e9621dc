"""Test published sets: found by all of their names and in the hub's cache, checked for size, or a next step said."""

import gzip
import io
import json
import os
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

from explorer.data.graded import sts
from explorer.data.graded.published_sets import SETS
from explorer.data.graded.sts import VARIABLE, available, find, load, menu, name_and_split
from explorer.data.tables import hub_files
from explorer.data.tables.hub_files import hub_table
from explorer.data.tables.table import Table
from explorer.errors import DataError, SetNotFound, UnreadableFile
from tests import fake_hub

FOLDER = Path(os.environ.get(VARIABLE) or "no folder")
SPLITS = [(known.name, split) for known in SETS for split in known.splits]


@pytest.fixture(autouse=True)
def _no_hub_and_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sts, "hub_table", lambda *_, **__: None)


def _rows(count: int, source: str = "") -> str:
    return "".join(f"{at % 6}\tOne {at}.\tTwo {at}.{source}\n" for at in range(count))


def _put(folder: Path, path: str, content: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(content, encoding="utf-8")


@pytest.mark.parametrize(("name", "split"), SPLITS, ids=lambda value: getattr(value, "name", value))
def test_every_set_of_the_folder_has_its_published_counts(name, split):
    if not (FOLDER / split.file).is_file():
        pytest.skip(f"{VARIABLE} names no folder with {split.file}")
    pairs = load(name, split.name, FOLDER)
    assert pairs.name == f"{name} {split.name}"
    assert len(pairs) == len(pairs.first) == len(pairs.second) == len(pairs.parts) == split.rows
    assert sorted(Counter(pairs.parts).values()) == sorted(split.sizes or (split.rows,))
    assert 0 <= min(pairs.gold) < max(pairs.gold) <= 5
    assert all(pairs.first)
    assert all(pairs.second)


def test_published_parts_add_up_and_no_two_sets_share_a_name():
    with_parts = [split for _, split in SPLITS if split.sizes]
    assert len(with_parts) == 9
    assert all(sum(split.sizes) == split.rows for split in with_parts)
    names = [plain for known in SETS for plain in ("".join(filter(str.isalnum, known.name.lower())), *known.also)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("STS-B", "STS-B"), ("stsb", "STS-B"), ("STS B", "STS-B"), ("STSBenchmark", "STS-B"), ("sts-12", "STS12"),
        ("sickr", "SICK-R"), ("SICK", "SICK-R"), ("sts17", "STS17"), ("STS17 (en-en)", "STS17"),
    ],
)  # fmt: skip
def test_names_are_taken_as_people_write_them(name, known):
    assert find(name).name == known


def test_a_wrong_name_or_split_is_answered_with_those_that_are_right():
    with pytest.raises(SetNotFound, match=r"no set 'SICKS'\. Did you mean 'SICK-R'\? There are: STS-B, STS12,"):
        find("SICKS")
    with pytest.raises(SetNotFound, match=r"STS13 has no split 'dev'\. It has: test\."):
        load("STS13", "dev")


@pytest.mark.parametrize("name", ["MNLI", "STS99"])
def test_a_name_that_is_not_near_a_set_is_answered_with_all(name):
    with pytest.raises(
        SetNotFound,
        match=rf"no set '{name}'\. There are: STS-B.*SICK-R, SICK-R-all, STS17, .*BIOSSES, STS22\.v2, .*STR-2022\.",
    ):
        find(name)


@pytest.mark.parametrize("split", ["dev", "validation", "trial", "Dev"])
def test_the_middle_split_goes_by_all_its_names(tmp_path, split):
    _put(tmp_path, "SICK/trial.tsv", "score\tsentence1\tsentence2\n" + _rows(500))
    assert load("SICK-R", split, tmp_path).name == "SICK-R dev"


def test_a_set_that_is_cut_off_is_refused_with_both_counts(tmp_path):
    _put(tmp_path, "STS17_en/test.tsv", "score\tsentence1\tsentence2\n" + _rows(249))
    with pytest.raises(DataError, match=r"STS17 test has 249 pairs here, but 250 as published\. .*replace it"):
        load("STS17", folder=tmp_path)


def test_sub_corpora_may_go_by_other_names_or_be_absent_but_not_be_of_other_sizes(tmp_path):
    rows = _rows(200, "\tFNWN") + _rows(1300, "\theadlines")
    _put(tmp_path, "STS13/test.tsv", "score\tsentence1\tsentence2\tsource\n" + rows)
    with pytest.raises(DataError, match="Here: FNWN 200, headlines 1300; published: 189, 750, 561"):
        load("STS13", folder=tmp_path)
    rows = _rows(189, "\ta") + _rows(750, "\tb") + _rows(561, "\tc")
    _put(tmp_path, "STS13/test.tsv", "score\tsentence1\tsentence2\tsource\n" + rows)
    assert Counter(load("STS13", folder=tmp_path).parts) == {"a": 189, "b": 750, "c": 561}
    _put(tmp_path, "STS13/test.tsv", "score\tsentence1\tsentence2\n" + _rows(1500))
    assert set(load("STS13", folder=tmp_path).parts) == {""}


def test_what_a_set_says_of_its_pairs_stays_beside_them_and_changes_no_digest(tmp_path):
    tags = ["NEUTRAL", "CONTRADICTION"] * 250
    rows = [f"{row}\t{tag}" for row, tag in zip(_rows(500).splitlines(), tags, strict=True)]
    _put(tmp_path, "SICK/trial.tsv", "\n".join(["score\tsentence1\tsentence2\tentailment", *rows, ""]))
    tagged = load("SICK-R", "dev", tmp_path)
    assert list(tagged.tags) == tags
    # a row that has no grade is dropped: what is left of the column is not beside its pairs
    _put(tmp_path, "SICK/trial.tsv", "\n".join(["score\tsentence1\tsentence2\tentailment", "\ta\tb\tX", *rows, ""]))
    untagged = load("SICK-R", "dev", tmp_path)
    assert untagged.tags == ()
    assert tagged.digest == untagged.digest


def test_the_folder_may_come_from_the_environment_and_be_in_the_home_of_the_user(tmp_path, monkeypatch):
    _put(tmp_path, "STS17_en/test.tsv", "score\tsentence1\tsentence2\n" + _rows(250))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert len(load("STS17")) == 250
    assert available() == (("STS17", "test"),)
    _put(tmp_path, "sets/STS17_en/test.tsv", "score\tsentence1\tsentence2\n" + _rows(250))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "~/sets")
    assert len(load("STS17")) == 250


def test_the_menu_lists_every_split_there_or_not_and_what_is_available_is_what_the_folder_holds(tmp_path):
    assert menu()[:3] == ("STS-B train", "STS-B dev", "STS-B test")
    assert [name_and_split(title) for title in menu()] == [(name, split.name) for name, split in SPLITS]
    assert name_and_split("STS-B") == ("STS-B", "test")
    assert sts.find_split(sts.find("sickr"), "validation").file == "SICK/trial.tsv"
    assert available() == ()
    assert available(tmp_path) == ()
    for path in ("SICK/trial.tsv", "STSB/test.tsv", "STS14/test_senteval.tsv"):
        _put(tmp_path, path, "")
    assert available(tmp_path) == (("STS-B", "test"), ("SICK-R", "dev"))


def test_a_set_out_of_reach_is_answered_with_the_ways_to_it(tmp_path, monkeypatch):
    with pytest.raises(
        SetNotFound, match=r"STRATA_DATA names no folder.*not in the hub's cache.*STSB/test\.tsv.*sample"
    ):
        load("STS-B")
    with pytest.raises(SetNotFound, match=r"there is no .*test\.tsv.*could not be downloaded"):
        load("STS-B", folder=tmp_path, online=True)
    monkeypatch.setattr(sts, "hub_table", lambda *_, **__: pytest.fail("the hub was asked"))
    with pytest.raises(SetNotFound, match="holds all 9927 pairs in one"):
        load("SICK-R", online=True)


def test_a_set_of_the_hub_is_counted_like_one_of_the_folder(monkeypatch):
    rows = tuple((f"One {at}.", f"Two {at}.", f"{at % 6}.0") for at in range(1186))
    table = Table("test.parquet", ("sentence1", "sentence2", "score"), rows, tuple(range(1, 1187)))
    asked: list[tuple[str, tuple[str, ...]]] = []

    def hub_table(hub_id: str, contains: tuple[str, ...], revision: str | None, *, online: bool) -> Table:
        asked.append((hub_id, contains))
        return table

    monkeypatch.setattr(sts, "hub_table", hub_table)
    pairs = load("STS16")
    assert asked == [("mteb/sts16-sts", ("test",))]
    assert (len(pairs), set(pairs.parts)) == (1186, {""})


def test_an_error_says_as_a_value_which_split_is_missing(monkeypatch):
    monkeypatch.delenv(sts.VARIABLE, raising=False)

    def missing(*given, **settings):
        with pytest.raises(SetNotFound) as found:
            sts.load(*given, **settings)
        return found.value.split

    assert missing("sts-16", "test") == ("STS16", "test")
    assert missing("STS12", "test", text=sts.SENTEVAL) is None, "the hub does not have this text"
    assert missing("STS16", "half") is missing("nonsense") is None


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


def _cached(cache: Path, path: str, content: bytes) -> None:
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
    _cached(cache, "README.md", b"# A test set")
    _cached(cache, path, content)
    table = hub_table("org/set", (contains,), online=False)
    assert table is not None
    assert table.column("sentence1") == ("One 0.", "One 1.", "One 2.")
    assert table.column("score") == ("0.0", "1.0", "2.0")


def test_a_cache_without_the_split_answers_without_the_network(cache):
    assert not list(cache.iterdir())
    assert hub_table("org/set", ("test",), online=False) is None
    _cached(cache, "data/train-00000-of-00001.parquet", _parquet())
    assert hub_table("org/set", ("test",), online=False) is None


BROKEN = {"cut off": _zipped()[:-20], "no zip": b"<html>", "garbled": _zipped()[:10] + b"?" * 30}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_zipped_file_that_is_broken_is_named_with_what_to_do(cache, broken):
    blob = cache / "blob"
    blob.write_bytes(broken)
    _cached(cache, "test.jsonl.gz", b"")
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
    _cached(cache, "test.jsonl", _jsonl())
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
        monkeypatch.setattr(hub_files, "PATIENCE", 0.2)
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
        monkeypatch.setattr(sts, "hub_table", hub_table)
        assert len(sts.load("STS17", folder=tmp_path, online=True)) == 250
    assert [path.name for path in cache.rglob("*.gz")] == ["en-en.jsonl.gz"]
    # the hub is gone, and is not asked again
    assert sts.load("STS17", folder=tmp_path).gold[7] == 1.0


def test_a_set_the_hub_does_not_have_is_out_of_reach(tmp_path, monkeypatch):
    with fake_hub.serving({}) as address:
        fake_hub.connect(address, tmp_path, monkeypatch)
        assert hub_table("org/other", ("test",), online=True) is None
