"""Test what a training has by default for its text: what is decided, what a choice leaves alone, what is kept."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from explorer import methods
from explorer.__main__ import _options
from explorer.commands.train import _recipe
from explorer.data import sources
from explorer.data.graded import sets
from explorer.data.text_sets import SENTENCES
from explorer.methods import few_rows, load
from explorer.run_folder import Evaluation, TrainingStep
from explorer.studies.plans import plan, plan_file
from explorer.training import text_defaults
from explorer.training.recipe import Recipe
from explorer.training.recipe_file import from_yaml
from tests import named_texts
from tests.trainings import WORDS, graded_lines, new, train, words_of

# a method for each kind of rows, suggested for it or not
KINDS = {"cosent": "scored", "cosine-regression": "scored", "contrast": "pairs", "contrast-hard": "triplets",
         "simcse-hard": "triplets", "ct-in-batch": "sentences", "simcse": "sentences", "ct": "sentences",
         "classify": "labelled", "setfit": "labelled"}  # fmt: skip


def phrases(drawn: random.Random, count: int) -> str:
    return ",".join(" ".join(drawn.sample(WORDS, 5)) for _ in range(count))


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A file of 22 rows of each kind."""
    folder, drawn = tmp_path_factory.mktemp("texts"), random.Random(1)
    every = {
        "scored": ["score,sentence1,sentence2", *graded_lines(drawn, 22)],
        "pairs": ["query,passage", *(phrases(drawn, 2) for _ in range(22))],
        "triplets": ["anchor,positive,negative", *(phrases(drawn, 3) for _ in range(22))],
        "sentences": ["sentence", *(phrases(drawn, 1) for _ in range(22))],
        "labelled": ["label,text", *(f"{'yn'[row % 2]},{phrases(drawn, 1)}" for row in range(22))],
    }
    for kind, lines in every.items():
        (folder / f"{kind}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {kind: str(folder / f"{kind}.csv") for kind in every}


def of(words) -> Recipe:
    return _recipe(_options(["train", *words]))


@pytest.mark.parametrize("method", KINDS)
def test_a_command_without_settings_has_those_for_so_few_rows_and_it_and_its_file_keep_them(method, texts):
    recipe = of([method, "--data", texts[KINDS[method]]])
    fitted = few_rows(load(method), 22)
    assert fitted
    assert recipe.settings.items() >= fitted.items()
    judged = KINDS[method] != "sentences"
    assert (recipe.dev == sets.CROSS_FITTED) is judged
    assert of(words_of(recipe)[1:]) == recipe
    assert from_yaml(recipe.as_yaml(), "recipe.yaml") == recipe


@pytest.mark.parametrize("method", KINDS)
def test_what_was_decided_for_a_text_is_kept_by_its_command_and_file_when_the_text_has_more_rows(
    method, texts, tmp_path
):
    path = tmp_path / "text.csv"
    content = Path(texts[KINDS[method]]).read_text(encoding="utf-8")
    path.write_text(content, encoding="utf-8")
    recipe = of([method, "--data", str(path), *(["--folds", "3"] if KINDS[method] != "sentences" else [])])
    words = words_of(recipe)[1:]
    drawn = random.Random(2)
    lines = content.splitlines()
    first = {"scored": "4,", "labelled": "y,"}.get(KINDS[method], "")
    width = {"scored": 2, "pairs": 2, "triplets": 3}.get(KINDS[method], 1)
    path.write_text("\n".join([*lines, *(first + phrases(drawn, width) for _ in range(900))]) + "\n", encoding="utf-8")
    assert few_rows(load(method), 922) != few_rows(load(method), 22), "the premise"
    assert of(words) == recipe
    (tmp_path / "recipe.yaml").write_text(recipe.as_yaml(), encoding="utf-8")
    assert of(["--recipe", str(tmp_path / "recipe.yaml")]) == recipe


@pytest.mark.parametrize("method", KINDS)
@pytest.mark.parametrize(
    "preset", [["--as-in-paper"], ["--as-released"], ["--preset", "quick"]], ids=lambda words: words[-1]
)
def test_the_values_of_a_paper_a_release_and_a_preset_are_those_of_any_text(method, preset, texts):
    named = {"--as-in-paper": methods.PAPER, "--as-released": methods.RELEASED}.get(preset[0], "quick")
    recipe = of([method, "--data", texts[KINDS[method]], *preset])
    usual = Recipe(method, settings=methods.start_values(load(method), "", named))
    assert recipe.settings == usual.settings


CHOICES = {"batch_size": "2", "steps": "7", "epochs": "2", "blend": "1", "learning_rate": "0.0001"}


@pytest.mark.parametrize("method", KINDS)
@pytest.mark.parametrize("name", CHOICES)
def test_what_a_person_chose_is_never_decided_by_the_text(method, name, texts):
    recipe = of([method, "--data", texts[KINDS[method]], "--set", f"{name}={CHOICES[name]}"])
    assert recipe.every_setting()[name] == float(CHOICES[name])
    fitted = few_rows(load(method), 22)
    left = {one for one in fitted if one != name and not (name == "epochs" and one == "steps")}
    assert {one: recipe.every_setting()[one] for one in left} == {one: fitted[one] for one in left}
    if name == "epochs":
        assert recipe.schedule().steps == load(method).schedule.steps, "the passes decide"
    assert of(words_of(recipe)[1:]) == recipe


def test_steps_0_is_a_choice_too(texts):
    recipe = of(["contrast", "--data", texts["pairs"], "--set", "steps=0"])
    assert recipe.schedule().steps == 0
    assert of(words_of(recipe)[1:]) == recipe
    assert of(["contrast", "--data", texts["pairs"], "--steps", "0"]) == recipe


def test_a_named_dev_set_leaves_rows_to_hold_out_and_a_named_test_set_stays(texts, place):
    named = of(["contrast", "--data", texts["pairs"], "--dev", str(place.dev)])
    assert (str(named.dev), named.test) == (str(place.dev), sets.HELD_OUT)
    tested = of(["contrast", "--data", texts["pairs"], "--test", str(place.test)])
    assert (tested.dev, str(tested.test)) == (sets.CROSS_FITTED, str(place.test))
    assert of(words_of(tested)[1:]) == tested


def test_a_plan_that_has_begun_keeps_what_was_decided_for_a_text_that_changes(texts, tmp_path):
    path = tmp_path / "text.csv"
    content = Path(texts["pairs"]).read_text(encoding="utf-8")
    path.write_text(content, encoding="utf-8")
    one = plan.Plan("few", ("contrast", "simcse"), data=((str(path),),))
    begun = plan.begun(one)
    before = [cell.recipe for cell in plan.cells(begun)]
    assert before == [cell.recipe for cell in plan.cells(one)]
    for recipe in before:
        assert (
            recipe.settings.items() >= few_rows(load(recipe.method), 22 if recipe.method == "contrast" else 44).items()
        )
    drawn = random.Random(2)
    path.write_text(content + "\n".join(phrases(drawn, 2) for _ in range(900)) + "\n", encoding="utf-8")
    assert [cell.recipe for cell in plan.cells(begun)] == before
    assert [
        cell.recipe for cell in plan.cells(plan_file.from_yaml(plan_file.as_yaml(begun), "plan.yaml", "few"))
    ] == before
    assert [cell.recipe for cell in plan.cells(one)] != before, "one that has not begun follows its text"
    chosen = replace(one, settings={"batch_size": 2, "steps": 3}, dev="sample")
    for cell in plan.cells(chosen):
        assert (cell.recipe.schedule().batch_size, cell.recipe.schedule().steps, cell.recipe.dev) == (2, 3, sets.SAMPLE)
    paper = plan.cells(replace(one, values=methods.PAPER))
    assert all(cell.recipe.schedule().steps == 0 for cell in paper)


def test_a_text_that_cannot_be_divided_or_judged_is_not_cross_fitted(tmp_path):
    linked = tmp_path / "linked.csv"
    linked.write_text("\n".join(["query,passage", *(f"a dog {row},a dog {row + 1}" for row in range(20))]) + "\n")
    assert text_defaults.of_text("contrast", [sources.text(str(linked))]).sets == (sets.HELD_OUT, sets.HELD_OUT)
    assert text_defaults.of_text("simcse", [sources.text(str(linked))]).sets is None


def test_a_folder_of_labelled_texts_keeps_its_own_parts(texts, tmp_path):
    header, *rows = Path(texts["labelled"]).read_text(encoding="utf-8").replace(",", "\t").splitlines()
    for part, own in (("train", rows[:12]), ("dev", rows[12:17]), ("test", rows[17:])):
        (tmp_path / f"{part}.tsv").write_text("\n".join([header, *own]) + "\n", encoding="utf-8")
    for method in ("classify", "setfit"):
        own = text_defaults.of_text(method, [sources.text(texts["labelled"])])
        assert own.sets == (sets.CROSS_FITTED, sets.CROSS_FITTED)
        assert text_defaults.of_text(method, [sources.text(str(tmp_path))]).sets is None


def test_the_text_sample_is_another_one_than_the_sample_pairs():
    text, pairs = (Recipe("simcse", data=(name,)) for name in ("sample", "Sample pairs"))
    assert text != pairs
    rows = [text_defaults.of_text("simcse", one.data).rows for one in (text, pairs)]
    assert rows == [len(named_texts.corpus(map(str, one.data), SENTENCES)[0]) for one in (text, pairs)]
    assert rows[0] > rows[1]


def test_a_training_of_few_rows_with_no_settings_moves_the_model_in_each_of_at_least_60_updates(place, texts):
    settings = {"max_length": 16, "keep_base": False, **few_rows(load("simcse"), 22)}
    recipe = {"data": (texts["sentences"],), "dev": str(place.dev), "test": None}
    run = train(new(place, "simcse", **recipe, settings=settings))
    steps = [line for line in run.metrics() if isinstance(line, TrainingStep)]
    assert len(steps) >= 60
    assert all(line.rate > 0 for line in steps)
    assert sum(isinstance(line, Evaluation) and line.step > 0 for line in run.metrics()) >= 10
