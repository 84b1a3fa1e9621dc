"""Test that a state is written atomically, and restored to the bit."""

import json

import pytest
import safetensors.torch
import torch

from explorer.errors import CannotResume, NotWritable
from explorer.training.loop import resume_state as states
from explorer.training.loop.resume_state import State


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


def made(step: int) -> State:
    torch.manual_seed(step)
    tensors = {
        "weight/a.b": torch.randn(3, 4),
        "weight/turned": torch.randn(3, 4).T,
        "adam/step/a.b": torch.tensor(float(step)),
        "random/cpu": torch.get_rng_state(),
        "best/odd": torch.tensor([float("nan"), -0.0, float("inf"), 1e-45]),
    }
    return State(tensors, {"step": step, "scores": [None, 0.1 + 0.2], "results": [{"seed": 1, "test": None}]})


def assert_same(found: State, expected: State) -> None:
    assert found.notes == expected.notes
    assert found.tensors.keys() == expected.tensors.keys()
    for name, tensor in expected.tensors.items():
        assert found.tensors[name].dtype == tensor.dtype
        bits, others = (one.contiguous().numpy().tobytes() for one in (found.tensors[name], tensor))
        assert bits == others, name


def saves(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_last_state_alone_is_kept_and_comes_back_to_the_bit(folder):
    states.save(folder, made(3))
    assert_same(states.load(folder), made(3))
    assert made(3).under("weight/").keys() == {"a.b", "turned"}
    states.forget(folder)
    for step in range(12):
        states.save(folder, made(step))
        assert saves(folder) == [f"save-{step + 1}"]
        assert states.load(folder).notes["step"] == step


def test_there_is_nothing_to_load_before_the_first_save(folder):
    assert states.load(folder) is None
    assert not states.there(folder)
    states.save(folder, made(1))
    assert states.there(folder)
    states.forget(folder)
    assert not folder.exists()
    states.forget(folder)


def test_the_last_of_two_is_loaded_where_a_process_ended_before_the_other_was_deleted(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(states.shutil, "rmtree", lambda *_, **__: None)
        for step in range(11):
            states.save(folder, made(step))
    assert {"save-9", "save-10", "save-11"} <= set(saves(folder)), "by their letters, 9 would be the last"
    assert states.load(folder).notes["step"] == 10
    states.save(folder, made(11))
    assert saves(folder) == ["save-12"]


@pytest.mark.parametrize("what", ["tensors", "notes", "place"])
def test_a_save_that_fails_leaves_the_last_one(folder, monkeypatch, what):
    states.save(folder, made(1))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if what == "tensors":
            patch.setattr(safetensors.torch, "save_file", full)
        else:
            patch.setattr("pathlib.Path." + ("write_text" if what == "notes" else "rename"), full)
        with pytest.raises(NotWritable, match=r"No space left on device.*last good state is still there\. Make room"):
            states.save(folder, made(2))
    assert saves(folder) == ["save-1"]
    assert_same(states.load(folder), made(1))
    states.save(folder, made(3))
    assert_same(states.load(folder), made(3))


def test_a_first_save_that_fails_says_no_good_state_is_there_by_having_none(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable, match="cannot be saved"):
        states.save(tmp_path / "file" / "state", made(1))


def test_what_a_killed_process_was_writing_is_ignored_and_overwritten(folder):
    states.save(folder, made(1))
    torn = folder / "save-2.part"
    torn.mkdir()
    (torn / "tensors").write_bytes(b"half")
    (torn / "more").write_bytes(b"of it")
    assert_same(states.load(folder), made(1))
    states.save(folder, made(2))
    assert saves(folder) == ["save-2"]
    assert sorted(path.name for path in (folder / "save-2").iterdir()) == ["notes.json", "tensors"]
    assert_same(states.load(folder), made(2))


@pytest.mark.parametrize("spoiled", ["tensors", "notes.json"])
def test_a_state_that_cannot_be_read_is_said_and_is_no_crash(folder, spoiled):
    states.save(folder, made(1))
    path = folder / "save-1" / spoiled
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CannotResume, match=r"save-1 cannot be read .*Delete the folder .*state to start the run over"):
        states.load(folder)


def test_a_state_is_json_and_plain_tensors_and_nothing_that_would_be_unpickled(folder):
    states.save(folder, made(1))
    notes, tensors = (folder / "save-1" / name for name in ("notes.json", "tensors"))
    assert sorted((folder / "save-1").iterdir()) == [notes, tensors]
    assert json.loads(notes.read_text()) == made(1).notes
    content = tensors.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = {name: about for name, about in json.loads(content[8 : 8 + size]).items() if name != "__metadata__"}
    assert header.keys() == made(1).tensors.keys()
    places = sorted(tuple(about["data_offsets"]) for about in header.values())
    assert [start for start, _ in places] == [0, *(end for _, end in places[:-1])]
    assert 8 + size + places[-1][1] == len(content), "all of it is told in the header"
