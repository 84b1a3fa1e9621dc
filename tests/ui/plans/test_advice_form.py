"""Test on the Plans page whether to fine-tune: what is read and proposed, the start, the answer, and wrong texts."""

import random

import pytest

from explorer.data import sources
from explorer.progress import finish
from explorer.studies.plans import advice, own_data, plan_folder
from explorer.ui.plans import advice as form
from explorer.ui.runs import training_queue
from tests.trainings import graded_lines
from tests.visits import by_link, wait_until, words

PAGE = "pages/plans.py"


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(training_queue, "PAUSE", 0.02)
    monkeypatch.setattr(advice, "STEPS", 1)
    monkeypatch.setattr(advice, "SEEDS", 1)
    monkeypatch.setattr(own_data, "candidates", lambda kind: ("cosent", "cosine-regression"))
    monkeypatch.setattr(sources, "at_hand", tuple)  # nothing elsewhere


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["score,sentence1,sentence2", *graded_lines(random.Random(4), 120)]), encoding="utf-8")
    return str(path)


@pytest.fixture
def page(app, place):
    """The page with the tiny encoder."""
    app.query_params["model"] = str(place.model)
    return app.switch_page(PAGE)


def test_a_text_is_read_and_its_trainings_are_proposed_started_and_answered(page, text):
    page = by_link(page, advise=text)
    wait_until(lambda: form.START in [one.key for one in page.run().button])
    assert any("pairs.csv: 44 rows of scored pairs to train on" in one for one in words(page.markdown))
    assert any("2 methods (cosent, cosine-regression)" in one and "with seed 1" in one for one in words(page.info))
    page.button(key=form.START).click().run()
    (begun,) = plan_folder.every()
    wait_until(lambda: not training_queue.standing_of_plan(begun).live)
    page = by_link(page, plan=begun.name)
    told = [*words(page.success), *words(page.info), *words(page.error)]
    assert any(one.startswith(("**Yes**: ", "**No**: ")) for one in told), told
    assert [one.label for one in page.get("download_button") if one.key == "advice as html"] == ["Answer (HTML)"]


def test_a_plan_between_its_methods_and_fewer_rows_is_not_finished(place, tmp_path, monkeypatch):
    """Its page would no longer be drawn again, and keep an answer without what more rows bring."""
    path = tmp_path / "more pairs.csv"
    path.write_text("\n".join(["score,sentence1,sentence2", *graded_lines(random.Random(5), 200)]), encoding="utf-8")
    given = advice.AdviceOptions(model=str(place.model))
    seen, real = [], plan_folder.PlanFolder.redefine

    def observed(folder, plan):
        seen.append((folder.status().state, training_queue.standing_of_plan(folder).state))
        real(folder, plan)

    monkeypatch.setattr(plan_folder.PlanFolder, "redefine", observed)
    begun = training_queue.start_advice(finish(advice.proposal(own_data.read(str(path), given.model), given)))
    wait_until(lambda: not training_queue.standing_of_plan(begun).live)
    assert seen == [("finished", "running")]
    assert len(begun.plan().variants) == 3, "a quarter of the rows is too few"


@pytest.mark.parametrize(
    ("content", "why"),
    [("label,text\n" + "\n".join(f"{n % 2},text {n}" for n in range(40)), "labelled texts"), ("", "is empty")],
)
def test_a_text_that_gives_no_answer_is_named_and_nothing_can_be_started(page, tmp_path, content, why):
    path = tmp_path / "text.csv"
    path.write_text(content, encoding="utf-8")
    page = by_link(page, advise=str(path))
    assert any(why in error for error in words(page.error)), words(page.error)
    assert form.START not in [one.key for one in page.button]


def test_without_a_text_the_form_waits_for_one(page):
    page = by_link(page, advise="")
    assert page.selectbox(key=form.TEXT).value is None
    assert not words(page.error)
    page.button(key=form.LEAVE).click().run()
    assert form.TEXT not in [one.key for one in page.selectbox]
