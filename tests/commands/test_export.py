"""Test that `export` copies a run's model completely and overwrites nothing."""

import pytest

from explorer.training.record import runs
from tests.exports import by_sentence_transformers
from tests.trainings import new, train


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", "to-export", settings={"steps": 2}))


def content(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("by", ["its name", "its folder"])
def test_a_model_is_copied_whole_and_opens_where_it_was_put(run, said, tmp_path, by):
    target = tmp_path / "mine" / "model"
    code, out, err = said("export", run.name if by == "its name" else run.folder, target)
    assert (code, out, err) == (0, f"{target}\n", "")
    assert content(target) == content(run.model)
    assert [path.name for path in target.parent.iterdir()] == ["model"]
    assert by_sentence_transformers(target, ("a dog",)).shape == (1, 32)


def test_a_folder_that_is_there_is_not_written_over(run, said, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("mine")
    code, out, err = said("export", run.name, tmp_path / "mine")
    assert (code, out) == (1, "")
    assert "mine exists already and is not overwritten. Choose another name, or remove it." in err
    assert content(tmp_path / "mine") == {"config.json": b"mine"}


def test_a_run_without_a_model_is_refused_with_what_to_do(place, said, tmp_path):
    new(place, name="waits")
    code, _, err = said("export", "waits", tmp_path / "mine")
    assert code == 1
    assert "'waits' has no model: it is waiting. Let it finish, or stop it and keep the best checkpoint." in err
    assert not (tmp_path / "mine").exists()


def test_an_unknown_run_is_refused_with_those_there_are(run, said, tmp_path):
    code, _, err = said("export", "nobody", tmp_path / "mine")
    assert code == 1
    assert "There is no run 'nobody'. There are: " in err
    assert "to-export" in err
    code, _, err = said("export", tmp_path / "no" / "where", tmp_path / "mine")
    assert code == 1
    assert "There is no run 'where'. There are: none yet." in err


def test_a_copy_that_fails_leaves_nothing(run, said, tmp_path, monkeypatch):
    def full(source, part, **_):
        (part / "config.json").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("explorer.training.saved_model.shutil.copytree", full)
    code, _, err = said("export", run.name, tmp_path / "mine")
    assert code == 1
    assert "No space left on device. Make room there" in err
    assert list(tmp_path.iterdir()) == []
    assert runs.find(run.name).model.is_dir()
