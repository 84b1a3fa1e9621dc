"""Test on the Plans page whether to fine-tune: what is read and proposed, the start, the answer, and wrong texts."""

import random
from itertools import chain

import numpy as np
import pytest

from explorer import run_folder
from explorer.data import sources
from explorer.data.text_sets import LABELLED_TEXTS, SCORED_PAIRS
from explorer.progress import finish
from explorer.studies.plans import advice, amounts, extension, own_data, plan_folder
from explorer.training.record import runs
from explorer.training.record.status import FINISHED
from explorer.ui.plans import advice as form
from explorer.ui.runs import training_queue
from explorer.ui.widgets.controls import key_of
from tests.trainings import graded_lines, in_two_folds
from tests.visits import by_link, wait_until, words

PAGE = "pages/plans.py"
METHODS = {SCORED_PAIRS: ("cosent", "cosine-regression"), LABELLED_TEXTS: ("setfit", "classify")}


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(training_queue, "PAUSE", 0.02)
    monkeypatch.setattr(amounts.methods, "few_rows", lambda kind, rows: {"batch_size": 8, "steps": 2})
    monkeypatch.setattr(amounts, "LEAST_STEPS", 1)
    monkeypatch.setattr(amounts, "BLEND", {"blend": 1.0})  # one share
    monkeypatch.setattr(amounts, "FIRST_SEEDS", 2)
    monkeypatch.setattr(extension, "MOST_SEEDS", 2)
    monkeypatch.setattr(own_data, "candidates", lambda kind, folded=False: METHODS[kind])
    monkeypatch.setattr(sources, "at_hand", tuple)  # nothing elsewhere
    with in_two_folds():
        yield


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["score,sentence1,sentence2", *graded_lines(random.Random(4), 60)]), encoding="utf-8")
    return str(path)


@pytest.fixture
def page(app, place):
    """The page with the tiny encoder."""
    app.query_params["model"] = str(place.model)
    return app.switch_page(PAGE)


def test_a_text_is_read_and_its_trainings_are_proposed_started_and_answered(page, text, monkeypatch):
    monkeypatch.setattr(amounts, "FIRST_SEEDS", 1)  # what is added then is tested below
    monkeypatch.setattr(extension, "MOST_SEEDS", 1)
    monkeypatch.setattr(amounts, "BLEND", {"blend": 1.0, "keep_base": False})  # each model moves
    page = by_link(page, advise=text)
    wait_until(lambda: form.START in [one.key for one in page.run().button])
    assert any("pairs.csv: 60 rows of scored pairs to train on" in one for one in words(page.markdown))
    assert any("every row is judged" in one for one in words(page.markdown))
    assert any("2 methods (cosent, cosine-regression)" in one and "with one seed" in one for one in words(page.info))
    page.button(key=form.START).click().run()
    (begun,) = plan_folder.every()
    wait_until(lambda: not training_queue.standing(begun).live)
    page = by_link(page, plan=begun.name)
    told = [words(kind) for kind in (page.success, page.info, page.warning, page.error)]
    assert any(one.startswith(("**Yes**: ", "**No**: ", "**Cannot tell**: ")) for one in chain(*told)), told
    assert [one.label for one in page.get("download_button") if one.key == "advice as html"] == ["Answer (HTML)"]
    # what a run on pairs with two labels keeps, in the folder of the one that the answer is of
    matches, noise = np.arange(100) % 2.0, np.random.default_rng(0).normal(size=100)
    arrays = {"test match": matches, "test cosine before": matches + noise, "test cosine after": matches + noise / 2}
    for run in runs.every():
        np.savez(run_folder.in_use_file(run.folder, run.recipe().seeds[0]), **arrays)
    assert any("At a recall of 90 %, precision is" in one for one in words(page.run().markdown))
    page.number_input(key=key_of(form.USE, "recall")).set_value(0.5).run()
    assert any("At a recall of 50 %, precision is" in one for one in words(page.markdown))
    assert len([run for run in runs.every() if run.has_model]) > 1
    page.button(key=form.SPARE).click().run()
    assert not page.exception
    assert len([run for run in runs.every() if run.has_model]) == 1, "the one that the answer is of"
    assert form.SPARE not in [one.key for one in page.run().button]
    assert all(run.status().state == FINISHED for run in runs.every())


def test_a_plan_between_its_first_trainings_and_further_ones_is_not_finished(place, tmp_path, monkeypatch):
    """Its page would no longer be drawn again, and keep an answer without what seeds and rows bring."""
    monkeypatch.setattr(amounts, "BLEND", {"blend": 1.0, "keep_base": False})  # each model moves
    path = tmp_path / "more pairs.csv"
    path.write_text("\n".join(["score,sentence1,sentence2", *graded_lines(random.Random(5), 60)]), encoding="utf-8")
    given = advice.AdviceOptions(model=str(place.model), method=("cosent",))
    seen, real = [], plan_folder.PlanFolder.redefine

    def observed(folder, plan):
        seen.append((folder.status().state, training_queue.standing(folder).state))
        real(folder, plan)

    monkeypatch.setattr(plan_folder.PlanFolder, "redefine", observed)
    begun = training_queue.start_advice(finish(advice.proposal(own_data.read(str(path), given.model), given)))
    wait_until(lambda: not training_queue.standing(begun).live)
    assert len(seen) > 2
    assert set(seen) == {("finished", "running")}
    assert begun.plan().seeds == (1, 2)
    labels = [one.label for one in begun.plan().variants]
    for change in ("50 %", "25 %", "learning rate"):
        assert any(change in one for one in labels), labels


@pytest.mark.parametrize(
    ("content", "why"),
    [("score,first,second\n" + "\n".join(f"1,a {n},b {n}" for n in range(40)), "every score"), ("", "is empty")],
)
def test_a_text_that_gives_no_answer_is_named_and_nothing_can_be_started(page, tmp_path, content, why):
    path = tmp_path / "text.csv"
    path.write_text(content, encoding="utf-8")
    page = by_link(page, advise=str(path))
    assert any(why in error for error in words(page.error)), words(page.error)
    assert form.START not in [one.key for one in page.button]


def test_labelled_texts_are_judged_by_their_classes(page, tmp_path):
    path = tmp_path / "text.csv"
    path.write_text("label,text\n" + "\n".join(f"{n % 2},text {n}" for n in range(40)), encoding="utf-8")
    page = by_link(page, advise=str(path))
    wait_until(lambda: form.START in [one.key for one in page.run().button])
    assert any("40 rows of labelled texts to train on" in one for one in words(page.markdown))
    assert any("2 methods (setfit, classify)" in one for one in words(page.info))


def test_without_a_text_the_form_waits_for_one(page):
    page = by_link(page, advise="")
    assert page.selectbox(key=form.TEXT).value is None
    assert not words(page.error)
    page.button(key=form.LEAVE).click().run()
    assert form.TEXT not in [one.key for one in page.selectbox]
