"""Test that what is written is whole or not there, on a full disk and in a power cut, and has the usual permissions."""

import errno
import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from explorer import places
from explorer.data import uploads
from explorer.data.graded import sets
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import Row
from explorer.errors import BadChoice, NotWritable
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings, measure, store_scores, stored_scores
from explorer.places import given_path, whole_file, whole_folder, write_whole
from explorer.progress import finish
from explorer.training.loop import resume_state
from explorer.training.loop.resume_state import State
from tests.disk_calls import FullDisk, ReadOnlyDisk, Watch, watched


@pytest.fixture(params=[0o022, 0o002, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_gets_the_mode_of_any_other_new_file(tmp_path, umask):
    (tmp_path / "other").write_bytes(b"1")
    for _ in range(2):  # also one that replaces another
        write_whole(tmp_path / "a" / "mine", lambda file: file.write(b"1"))
        assert mode(tmp_path / "a" / "mine") == mode(tmp_path / "other") == 0o666 & ~umask


def test_what_fails_half_way_leaves_the_file_that_was_there_and_no_other(tmp_path):
    (tmp_path / "mine").write_bytes(b"before")
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "mine") as file:
        file.write(bytes(1 // 0))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotWritable, match=f"^{tmp_path}/file cannot be written to: File exists.* Make room"):
        write_whole(tmp_path / "file" / "mine", lambda file: file.write(b"1"))


def test_a_home_folder_is_filled_in_and_what_is_not_there_may_come(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert given_path("~/a/b.txt") == tmp_path / "a" / "b.txt"
    assert given_path(Path("~")) == tmp_path
    (tmp_path / "file").touch()
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    for there in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "gone", Path("a/../~nosuch")):
        assert given_path(str(there)) == there


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("~nosuch", "there is no user with this home folder"),
        ("~nosuch/x", "there is no user with this home folder"),
        ("x" * 300, "File name too long"),
        ("x/" * 3000, "File name too long"),
        ("a\0b", "it has a character that no path has"),
        ("a\udcff", "it is not UTF-8"),
        ("a/\udcff/b", "it is not UTF-8"),
        ("\ud800", "it is not UTF-8"),
    ],
)
def test_a_path_that_can_never_be_looked_up_is_refused(written, reason):
    with pytest.raises(BadChoice, match=f"cannot be looked up: {reason}.*Write another path"):
        given_path(written)


def test_a_path_in_a_circle_of_links_is_refused(tmp_path):
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    with pytest.raises(BadChoice, match="symbolic links"):
        given_path(tmp_path / "one")


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("STRATA_CACHE", places.cache_folder),
        ("XDG_CACHE_HOME", places.cache_folder),
        ("STRATA_RUNS", places.runs_folder),
        ("STRATA_RESULTS", places.results_folder),
        ("STRATA_TALKS", places.talks_folder),
    ],
)
def test_a_folder_that_a_variable_names_is_such_a_path(variable, folder, monkeypatch):
    monkeypatch.delenv("STRATA_CACHE", raising=False)
    monkeypatch.setenv(variable, "~nosuch/x")
    with pytest.raises(BadChoice, match=r"'~nosuch/x.* cannot be looked up"):
        folder()


MOST = 20  # calls of a write
PAIRS = GradedPairs("mine.csv", ("a", "ü"), ("b", "c"), (1.5, 0.3), ("", "x"))
TEXT = ("mine.txt", b"one\ntwo\n")
SCORES = LayerScores(
    rows=(Row((0,)),), cosines=np.ones((1, 3, 2)), own=None, own_title="mean", gold=np.array([1.5, 0.3]),
    parts=("", ""), precision="float32", device="cpu", max_length=16, truncated=0, sentences=4, seconds=0.1,
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """Something that is kept: how, and what is found of it; `none` before."""

    keep: Any
    found: Any
    none: Any


def scores() -> Any:
    kept = stored_scores("a")
    return None if kept is None else kept.cosines.tolist()


KINDS = {
    "scores": Kept(lambda: store_scores("a", SCORES), scores, None),
    "scored pairs": Kept(
        lambda: sets.keep(PAIRS), lambda: [sets.uploaded_pairs(name) for name in sets.kept_sets()], []
    ),
    "text": Kept(lambda: uploads.keep(*TEXT), lambda: [uploads.name_of(path) for path in uploads.paths()], []),
}


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def refused(kind: Kept, watch: Watch) -> str:
    """Keep it on a disk that fails from a call on; why that is refused, "" if it is not."""
    try:
        with watched(watch):
            kind.keep()
    except NotWritable as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("watch", "reason"), [(FullDisk, "No space left"), (ReadOnlyDisk, "Read-only file system")])
@pytest.mark.parametrize("name", KINDS)
def test_what_cannot_be_kept_is_refused_and_is_kept_when_it_can_be(own_cache, name, watch, reason):
    kind = KINDS[name]
    for at in range(MOST):
        shutil.rmtree(own_cache, ignore_errors=True)
        own_cache.mkdir()
        why = refused(kind, watch(own_cache, at))
        if not why:
            break
        assert reason in why
        assert "\n" not in why
        assert kind.found() == kind.none, at
        kind.keep()
        assert kind.found() != kind.none, at
    assert 2 < at < MOST - 1, "the premise: calls are counted, and in the end none fails"
    whole = kind.found()
    assert refused(kind, watch(own_cache, 0))
    assert kind.found() == whole, "what is there stays"


def test_scores_are_shown_though_they_cannot_be_kept(own_cache, tiny_encoder, few_pairs, logged):
    own_cache.mkdir()
    found = SimpleNamespace(digest="of a model", name="tiny", folder=tiny_encoder.folder)
    with watched(ReadOnlyDisk(own_cache, 0)):
        scores = finish(measure(found, few_pairs, Settings("float32", "cpu"), lambda *_: tiny_encoder))
    assert np.isfinite(scores.cosines).any()
    assert "The scores were not stored." in "\n".join(logged)
    assert list(own_cache.iterdir()) == []


def test_a_text_that_is_being_written_is_no_upload(own_cache):
    path = Path(uploads.keep(*TEXT))
    (path.parent / "tmpabc.part").write_text("one")  # as a killed process leaves it
    assert uploads.paths() == [str(path)]


CALLS = 40  # calls of a write


# Each write is cut at its first, second, … system call that makes data durable or gives it a name. What was not yet
# synchronised by then is lost: such files are emptied, as a disk may leave them.
class PowerCutError(BaseException):
    """No handler of the program sees it."""


class Disk:
    """Counts the calls, cuts at one of them, and knows which files are on the disk."""

    def __init__(self, cut_at: int) -> None:
        self.left, self.synced = cut_at, set()

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PowerCutError

    def fsync(self, handle: int) -> None:
        self.step()
        self.synced.add(os.fstat(handle).st_ino)

    def renaming(self, real):
        def rename(path, target):
            self.step()
            return real(path, target)

        return rename

    def lose(self, folder: Path) -> None:
        """Empty every file that was never synchronised."""
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_ino not in self.synced:
                path.write_bytes(b"")


def cut(write, folder: Path, at: int) -> bool:
    """Write, with the power cut at a call; whether it came to that."""
    disk = Disk(at)
    before = {path.stat().st_ino for path in folder.rglob("*") if path.is_file()}
    disk.synced |= before
    patches = [
        mock.patch("os.fsync", disk.fsync),
        mock.patch.object(Path, "rename", disk.renaming(Path.rename)),
        mock.patch.object(Path, "replace", disk.renaming(Path.replace)),
        mock.patch.object(Path, "unlink", return_value=None),  # nothing is tidied up after a power cut
        mock.patch("shutil.rmtree", return_value=None),
    ]
    try:
        for patch in patches:
            patch.start()
        with suppress(PowerCutError):
            write()
            return False
    finally:
        for patch in patches:
            patch.stop()
    disk.lose(folder)
    return True


def test_a_file_is_old_or_new(tmp_path):
    path = tmp_path / "recipe.yaml"
    for at in range(CALLS):
        path.write_bytes(b"old")
        if not cut(lambda: write_whole(path, lambda file: file.write(b"new and longer")), tmp_path, at):
            break
        assert path.read_bytes() in (b"old", b"new and longer"), at
    assert 2 <= at < CALLS, "the premise: it was cut, and in the end it was not"
    assert path.read_bytes() == b"new and longer"


def test_a_folder_is_whole_or_not_there(tmp_path):
    target = tmp_path / "model"

    def write():
        with whole_folder(target) as part:
            (part / "weights").write_bytes(b"weights")
            (part / "inside").mkdir()
            (part / "inside" / "config").write_bytes(b"config")

    for at in range(CALLS):
        shutil.rmtree(tmp_path / "model.part", ignore_errors=True)
        if not cut(write, tmp_path, at):
            break
        if target.exists():
            assert (target / "weights").read_bytes() == b"weights", at
            assert (target / "inside" / "config").read_bytes() == b"config", at
            break
    assert at >= 4, "the premise"


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "No space left on device. Make room there, or choose a folder on another disk; for runs,"),
        (errno.EACCES, "Permission denied. Choose another folder; for runs,"),
    ],
)
def test_copies_that_fail_for_one_reason_give_one_reason(tmp_path, number, sentence):
    (tmp_path / "old").mkdir()
    for name in ("a", "b"):
        (tmp_path / "old" / name).write_text(name)

    def fail(_: str, path: str) -> None:
        raise OSError(number, os.strerror(number), path)

    with pytest.raises(NotWritable) as caught, whole_folder(tmp_path / "new") as part:
        shutil.copytree(tmp_path / "old", part, dirs_exist_ok=True, copy_function=fail)
    assert str(caught.value) == f"{tmp_path / 'new'} cannot be written: {sentence} STRATA_RUNS names it."


@pytest.mark.parametrize("before", [0, 1])
def test_a_state_is_the_last_one_or_the_new_one(tmp_path, before):
    folder = tmp_path / "state"
    old, new = (State({"weight": torch.full((3,), float(step))}, {"step": step}) for step in (1, 2))
    for at in range(CALLS):
        for path in [*folder.rglob("*")][::-1]:
            path.rmdir() if path.is_dir() else path.unlink()
        for _ in range(before):
            resume_state.save(folder, old)
        if not cut(lambda: resume_state.save(folder, new), tmp_path, at):
            break
        found = resume_state.load(folder)
        step = found.notes["step"] if found else 0
        assert step in ((1, 2) if before else (0, 2)), at
        assert found is None or found.tensors["weight"].tolist() == [float(step)] * 3
    assert 3 <= at < CALLS
    assert resume_state.load(folder).notes["step"] == 2
