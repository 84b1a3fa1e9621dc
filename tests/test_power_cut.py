"""Test that a power cut at any moment of a write leaves what was there before or what is new, never a part of it.

Each write is cut at its first, second, … system call that makes data durable or gives it a name. What was not yet
synchronised by then is lost: such files are emptied, as a disk may leave them.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest
import torch

from explorer.places import whole_folder, write_whole
from explorer.training.loop import resume_state
from explorer.training.loop.resume_state import State

MOST = 40  # calls of a write


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
    for at in range(MOST):
        path.write_bytes(b"old")
        if not cut(lambda: write_whole(path, lambda file: file.write(b"new and longer")), tmp_path, at):
            break
        assert path.read_bytes() in (b"old", b"new and longer"), at
    assert 2 <= at < MOST, "the premise: it was cut, and in the end it was not"
    assert path.read_bytes() == b"new and longer"


def test_a_folder_is_whole_or_not_there(tmp_path):
    target = tmp_path / "model"

    def write():
        with whole_folder(target) as part:
            (part / "weights").write_bytes(b"weights")
            (part / "inside").mkdir()
            (part / "inside" / "config").write_bytes(b"config")

    for at in range(MOST):
        shutil.rmtree(tmp_path / "model.part", ignore_errors=True)
        if not cut(write, tmp_path, at):
            break
        if target.exists():
            assert (target / "weights").read_bytes() == b"weights", at
            assert (target / "inside" / "config").read_bytes() == b"config", at
            break
    assert at >= 4, "the premise"


@pytest.mark.parametrize("before", [0, 1])
def test_a_state_is_the_last_one_or_the_new_one(tmp_path, before):
    folder = tmp_path / "state"
    old, new = (State({"weight": torch.full((3,), float(step))}, {"step": step}) for step in (1, 2))
    for at in range(MOST):
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
    assert 3 <= at < MOST
    assert resume_state.load(folder).notes["step"] == 2
