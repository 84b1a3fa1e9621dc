"""Test that an export is complete or absent: full disks, ended processes, existing folders."""

import errno
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from transformers import PreTrainedModel

from explorer.encoding.export import exporting
from explorer.encoding.export.exporting import export
from explorer.encoding.read import layer_reading
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import NotWritable
from tests.spoiling import encoder_of

HEAD = Head(("mean",))


@pytest.fixture
def tuned(tiny_encoder) -> Tunable:
    return Tunable(tiny_encoder, 32)


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (PreTrainedModel, "save_pretrained"),
        (layer_reading, "save_file"),
        (exporting, "_write_reading"),
        (Path, "rename"),
        (Path, "mkdir"),
    ],
)
def test_a_disk_that_is_full_half_way_leaves_nothing(tuned, tmp_path, monkeypatch, place, name):
    monkeypatch.setattr(place, name, full)
    head = Head(("mean",), (Dense(tuned.encoder.model.get_input_embeddings().weight[:4], None, "Tanh"),))
    with pytest.raises(NotWritable, match=r"run cannot be written: No space left on device. Make room there, or keep"):
        export(tuned, head, tmp_path / "run", "# card", None)
    assert not list(tmp_path.iterdir())


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system ends no process for it, since Python ignores the signal: writing beyond fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("size", "writer"),
    [(500, "config.json"), (20_000, "model.safetensors"), (2_500, "tokenizer.json")],
)
def test_what_each_library_raises_when_a_write_fails_is_understood(tuned, tmp_path, monkeypatch, size, writer):
    if writer == "tokenizer.json":  # which is smaller than the weights
        monkeypatch.setattr(exporting, "_write_transformer", lambda *_, **__: None)
    with files_of_at_most(size), pytest.raises(NotWritable, match=r"run cannot be written: File too large. Make room"):
        export(tuned, HEAD, tmp_path / "run", "", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_a_stop_half_way_leaves_nothing_and_is_passed_on_as_it_is(tuned, tmp_path, monkeypatch, stop):
    def stopped(*_: object) -> None:
        raise stop("(at 28)")

    monkeypatch.setattr(exporting, "_write_reading", stopped)
    with pytest.raises(stop, match="at 28"):
        export(tuned, HEAD, tmp_path / "run", "", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_an_ended_process_left_is_replaced(tuned, tmp_path, kind):
    part = tmp_path / "run.part"
    if kind == "folder":
        (part / "9_Dense").mkdir(parents=True)
        (part / "model.safetensors").write_text("half")
    else:
        part.write_text("half")
    export(tuned, HEAD, tmp_path / "run", "", None)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not (tmp_path / "run" / "9_Dense").exists()
    assert encoder_of(tmp_path / "run").head == HEAD


@pytest.mark.parametrize("kind", ["folder", "empty folder", "file"])
def test_a_folder_that_is_there_already_is_not_written_over(tuned, tmp_path, kind):
    place = tmp_path / "run"
    if kind == "file":
        place.write_text("mine")
    else:
        place.mkdir()
    if kind == "folder":
        (place / "notes.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NotWritable, match=r"run exists already and is not overwritten. Choose another name, or"):
        export(tuned, HEAD, place, "", None)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("umask", [0o022, 0o077], ids=oct)
def test_every_file_of_an_export_gets_the_mode_of_any_other_new_file(tuned, tmp_path, umask):
    before = os.umask(umask)
    try:
        export(tuned, HEAD, tmp_path / "run", "# card", None)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert modes == dict.fromkeys(modes, 0o666 & ~umask)
    assert {"model.safetensors", "README.md"} <= set(modes)
