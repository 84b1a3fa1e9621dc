"""Test that saved results are reused only where nothing that decides the scores has changed."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.data import sample
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import NotWritable
from explorer.evaluating.evaluation import cell_of, evaluation, joined, loaded
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import ScoredModel
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import ALL, Subject, retrieval
from explorer.evaluating.tasks.word_models import WordSubject
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.evaluating.results_by_hand import measured, write_set
from tests.tiny_models import save_tiny

SETTINGS = Settings("float32", "cpu")
FEW = Options(titles=("mean of layer 1",))


def furnished(folder):
    """The folder with a model and a set of each kind."""
    save_tiny("bert", folder / "model")
    write_set(folder / "data", "STS17_en/test.tsv", 250)
    pairs = sample.pairs()
    rows = (f"{row % 2}\t{pairs.first[row]}\t{pairs.second[row]}" for row in range(60))
    write_moods(folder / "moods")
    (folder / "data/QQP").mkdir()
    (folder / "data/QQP/dev.tsv").write_text("\n".join(["label\tsentence1\tsentence2", *rows]) + "\n")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = furnished(tmp_path_factory.mktemp("reused"))
    write_set(folder / "data", "STS17_en/test_senteval.tsv", 250, "a {}")
    return folder


@pytest.fixture(scope="module")
def measured_once(place):
    """The results of every kind of task."""
    with pytest.MonkeyPatch.context() as patch:
        at(patch, place, place)
        found = evaluated(place, tasks(place).values())
    assert found.reused == ()
    return found


@pytest.fixture
def desk(place, tmp_path, monkeypatch):
    at(monkeypatch, place, tmp_path)
    write_moods(tmp_path / "moods")
    return tmp_path


@pytest.fixture
def saved(place, desk, measured_once):
    """A copy of the saved results."""
    shutil.copytree(place / "results", desk / "results")
    return measured_once


def at(patch, place, folder):
    patch.setenv("STRATA_RESULTS", str(folder / "results"))
    patch.setenv("STRATA_CACHE", str(folder / "cache"))
    patch.setenv("STRATA_DATA", str(place / "data"))


def write_moods(folder, label="sad"):
    rows = [f"{('glad', 'sad')[row % 2]},{('a good day', 'a bad night')[row % 2]} {row}" for row in range(119)]
    folder.mkdir(exist_ok=True)
    for split in ("train", "dev", "test"):
        text = "\n".join(["label,text", *rows, f"{label},a last day"]) + "\n"
        (folder / f"{split}.csv").write_text(text, encoding="utf-8")


def subject(place, settings=SETTINGS):
    found = of_folder("model", place / "model")
    return scored_as("model", found), Subject(found, settings)


def scored_as(name, found):
    return ScoredModel(name, "local-1", found.digest)


def tasks(desk):
    return {"sts": "STS17", "search": "Quora search", "labelled": str(desk / "moods")}


def evaluated(place, names, options=FEW, settings=SETTINGS):
    return finish(evaluation([subject(place, settings)], names, options))


def is_reused(place, task, options=FEW, settings=SETTINGS):
    return cell_of(*subject(place, settings), loaded([task], options)[task], options).reused() is not None


def test_what_is_saved_is_reused_without_loading_the_model(place, desk, saved, monkeypatch):
    monkeypatch.setattr(Subject, "encoder", None)
    again = evaluated(place, tasks(desk).values())
    assert [one.task.name for one in again.reused] == ["STS17", "Quora search", "moods"]
    for before, after in zip(saved.results, again.results, strict=True):
        assert after.measured.titles == before.measured.titles
        np.testing.assert_array_equal(after.measured.table, before.measured.table)
        np.testing.assert_array_equal(after.measured.items.values, before.measured.items.values)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("sts", {"text": "senteval"}), ("search", {"index": "ivf"}), ("search", {"titles": ("cls of layer 1",)}),
        ("search", {"titles": (ALL,)}), ("search", {"titles": ()}), ("labelled", {"probe": "senteval"}),
        ("labelled", {"seeds": (1, 2)}), ("labelled", {"titles": ("cls of layer 1",)}),
        ("labelled", {"titles": (ALL,)}),
        ("sts", {"again": True}), ("search", {"again": True}), ("labelled", {"again": True}),
    ],
)  # fmt: skip
def test_another_option_is_measured(place, desk, saved, kind, change):
    task = tasks(desk)[kind]
    assert is_reused(place, task)
    assert not is_reused(place, task, replace(FEW, **change))


@pytest.mark.parametrize("kind", ["sts", "search", "labelled"])
def test_a_layer_and_pooling_outside_of_the_grid_joins_what_is_saved(place, desk, saved, kind):
    task, asked = tasks(desk)[kind], replace(FEW, titles=("last of layers 0-2", "max of layer 2"))
    assert not is_reused(place, task, asked)
    evaluated(place, [task], asked)
    assert is_reused(place, task, asked)
    assert is_reused(place, task, FEW)
    assert is_reused(place, task, replace(FEW, titles=("mean of layer 1", "last of layers 0-2")))
    (found,) = (one for one in result_files.read_all(desk / "results")[0] if one.task.name == Path(task).name)
    assert found.measured.titles[-2:] == ("last of layers 0-2", "model default")
    assert "mean of layer 1" in found.measured.titles
    assert np.isfinite(found.measured.score("last of layers 0-2"))


@pytest.mark.parametrize("kind", ["sts", "search", "labelled"])
@pytest.mark.parametrize("change", [{"precision": "bfloat16"}, {"max_length": 8}])
def test_another_setting_of_the_model_is_measured(place, desk, saved, kind, change):
    assert not is_reused(place, tasks(desk)[kind], settings=replace(SETTINGS, **change))


@pytest.mark.parametrize(
    ("kind", "change"),
    [("sts", {"seeds": (2,), "probe": "senteval", "index": "ivf"}), ("labelled", {"text": "senteval"})],
)
def test_options_of_other_kinds_of_tasks_do_not_matter(place, desk, saved, kind, change):
    assert is_reused(place, tasks(desk)[kind], replace(FEW, **change))


def test_scored_pairs_have_every_layer_and_pooling_and_one_label_that_changes_is_noticed(place, desk, saved):
    assert is_reused(place, "STS17", Options(titles=(ALL,)))
    shutil.copytree(desk / "moods", desk / "copy")
    assert is_reused(place, str(desk / "copy"))
    write_moods(desk / "moods", "glad")
    assert not is_reused(place, str(desk / "moods"))


def test_another_model_of_one_name_is_measured_and_one_model_of_two_has_two_rows(place, desk, saved, tmp_path):
    save_tiny("bert", tmp_path / "other")
    (tmp_path / "other/model.safetensors").write_bytes(b"other weights")
    one = Subject(of_folder("model", tmp_path / "other"), SETTINGS)
    model = scored_as("model", one.found)
    assert cell_of(model, one, loaded(["STS17"], FEW)["STS17"], FEW).reused() is None
    model, of_model = subject(place)
    renamed = replace(model, name="renamed")
    assert [one.model for one in finish(evaluation([(renamed, of_model)], ["STS17"], FEW)).reused] == [renamed]
    rows = [one.model.name for one in result_files.read_all()[0] if one.task.name == "STS17"]
    assert sorted(rows) == ["model", "renamed"]


def test_fewer_layers_and_poolings_are_served_from_more_and_joined_in_the_order_of_the_grid(place, desk, saved):
    (found,) = evaluated(place, [str(desk / "moods")], Options(titles=("model default",))).reused
    assert found.measured.titles == ("model default",)
    assert found.measured.score() == saved.results[-1].measured.score()
    old, new = measured(3, layers=(1, 2)), measured(4, layers=(5,))
    order = ("mean of layer 0", "mean of layer 1", "model default")
    found = joined(old, new, order)
    assert (found.titles, found.table[:, 0, 0].tolist()) == (order, [5, 2, 4])


def test_only_the_layers_and_poolings_that_are_lacking_are_measured(place, desk, saved, monkeypatch):
    asked = []
    real = retrieval.search
    monkeypatch.setattr(retrieval, "search", lambda *of, **how: asked.append(how["titles"]) or real(*of, **how))
    both = ("mean of layer 1", "cls of layer 2")
    (found,) = evaluated(place, ["Quora search"], Options(titles=both)).results
    assert asked == [("cls of layer 2",)]
    assert found.measured.titles == (*both, "model default")
    assert is_reused(place, "Quora search", Options(titles=both))
    (anew,) = evaluated(place, ["Quora search"], Options(titles=both, again=True)).results
    assert asked[1:] == [both]
    np.testing.assert_array_equal(anew.measured.table[:, 0], found.measured.table[:, 0])


def test_word_models_are_reused(place, desk):
    path = desk / "glove.txt"
    path.write_text("the 1 0 0\na 0 1 0\nman 0 0 1\nis 1 1 0\nof 0 1 1\n", encoding="utf-8")
    for source in ("bag-of-words", str(path)):
        word = WordSubject(source)
        first, second = (finish(evaluation([(word.scored, word)], ["STS17"], Options())) for _ in range(2))
        assert (len(first.reused), len(second.reused)) == (0, 1)
        assert first.results[0].measured.score() == second.results[0].measured.score()


def test_what_was_measured_before_a_stop_is_saved(place, desk):
    work = evaluation([subject(place)], ["STS17", "Quora search"], FEW)
    while "Quora" not in next(work).stage:
        pass
    work.close()
    assert [one.task.name for one in result_files.read_all()[0]] == ["STS17"]
    assert is_reused(place, "STS17")


def test_a_classification_task_that_is_stopped_goes_on_from_its_last_layer_and_pooling(place, desk, monkeypatch):
    write_moods(desk / "split")
    every = ("mean of layer 0", "cls of layer 1", "mean of layer 2", "model default")
    task, options = str(desk / "split"), Options(titles=every)
    whole = evaluated(place, [task], replace(options, again=True)).results[0].measured
    shutil.rmtree(desk / "results")
    work = evaluation([subject(place)], [task], options)
    while "scored cls of layer 1" not in next(work).stage:
        pass
    work.close()
    (kept,) = result_files.read_all()[0]
    assert kept.task.name == "split"
    assert kept.measured.titles == ("mean of layer 0", "cls of layer 1", "model default")
    assert whole.titles == every
    np.testing.assert_array_equal(kept.measured.items.values, whole.items.values)
    stages = []
    again = finish(evaluation([subject(place)], [task], options), lambda progress: stages.append(progress.stage))
    measured_now = {stage.partition(": scored ")[2] for stage in stages if ": scored " in stage}
    assert measured_now == {*set(whole.titles) - set(kept.measured.titles), "model default"}
    np.testing.assert_array_equal(again.results[0].measured.table, whole.table)
    assert again.results[0].measured.titles == whole.titles


def test_a_result_so_far_that_cannot_be_saved_does_not_end_the_work(place, desk, monkeypatch):
    monkeypatch.setattr("explorer.evaluating.evaluation.KEEP_EVERY", 0.0)
    write, refused = result_files.write, []

    def once(result):
        if not refused:
            refused.append(result)
            raise NotWritable("the disk is full")
        return write(result)

    monkeypatch.setattr(result_files, "write", once)
    found = evaluated(place, [tasks(desk)["labelled"]], FEW)
    assert len(refused) == 1
    assert found.failed == ()
    assert is_reused(place, tasks(desk)["labelled"], FEW)
