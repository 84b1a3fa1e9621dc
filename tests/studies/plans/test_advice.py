"""Test the answer whether to fine-tune: what is read of a text, what is proposed, the plan, and the answer."""

import json
import shutil
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from explorer.__main__ import main
from explorer.data import sources
from explorer.data.text_sets import SCORED_PAIRS, SENTENCES
from explorer.errors import BadChoice
from explorer.measuring.scores.verdict import CHANCE, UNKNOWN, WORSE
from explorer.progress import finish
from explorer.studies.plans import advice, answer, own_data, plan_folder, plan_table
from explorer.studies.plans.advice import AdviceOptions, TrainingCost
from explorer.studies.plans.plan import PlanBudget
from explorer.training.loop.training_texts import read_texts
from explorer.training.record import runs
from tests.trainings import scored_pairs

METHODS = ("cosent", "cosine-regression")
BATCH = 8  # so that a quarter of few rows is worth a training


@pytest.fixture(autouse=True, scope="module")
def one_short_set_elsewhere(place):
    """The sample's sentences have many lengths, and take longer than the trainings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "at_hand", lambda: (str(place.dev),))
        yield


@pytest.fixture(scope="module")
def asked(place):
    return AdviceOptions(model=str(place.model), minutes=30.0, method=METHODS)


@pytest.fixture(scope="module")
def proposed(text, asked):
    return finish(advice.proposal(own_data.read(text, asked.model), asked))


@pytest.fixture
def begun(proposed, own_runs):
    """A plan whose trainings have not begun."""
    return advice.begin(proposed)


@pytest.fixture(scope="module")
def worked_off(text, place, tmp_path_factory):
    """A folder of runs with a plan that was broken off, gone on with, and finished."""
    home = tmp_path_factory.mktemp("advice")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_RUNS", str(home))
        short = {"STEPS": 1, "BATCH": BATCH, "SEEDS": 2, "EVALUATIONS": 2}
        for name, value in {**short, "BLEND": {**advice.BLEND, "learning_rate": 3e-3}}.items():
            patch.setattr(advice, name, value)
        given = AdviceOptions(model=str(place.model), method=METHODS)
        begun = advice.begin(finish(advice.proposal(own_data.read(text, given.model), given)))
        work = advice.execute(begun)
        next(progress for progress in work if progress.stage.endswith(": training") and progress.done == 3)
        work.close()
        assert [run.status().state for run in runs.every()] == ["interrupted"]
        finish(advice.execute(begun))
    return begun


@pytest.fixture
def done(worked_off, tmp_path, monkeypatch):
    """A copy of it."""
    home = shutil.copytree(worked_off.folder.parents[1], tmp_path / "copied")
    monkeypatch.setenv("STRATA_RUNS", str(home))
    monkeypatch.setattr(advice, "BATCH", BATCH)
    return plan_folder.find(worked_off.name)


@pytest.mark.parametrize(
    ("of", "minutes", "seeds", "rows", "epochs"),
    [
        (3200, 300, 3, 3200, 1),
        (3200, 200, 2, 3200, 1),
        (3200, 100, 2, 1600, 1),
        (3200, 10, 1, 200, 1),
        (320, 300, 3, 320, 8),
        (320, 150, 2, 320, 8),
        (320, 30, 1, 320, 2),
        (320, 3, 1, 80, 1),
    ],
)
def test_the_largest_plan_that_fits_the_limit_is_proposed(of, minutes, seeds, rows, epochs, asked, text, monkeypatch):
    """Two methods of 6 and 12 seconds for a step of 16 rows, and of 1 for loading, by hand."""
    costs = iter([TrainingCost(1.0, 6.0), TrainingCost(1.0, 12.0)])

    def cost(*given):
        yield from ()
        return next(costs)

    monkeypatch.setattr(advice, "_cost", cost)
    data = replace(own_data.read(text, asked.model), rows=of)
    found = finish(advice.proposal(data, replace(asked, minutes=float(minutes))))
    given = found.advice
    assert (len(found.plan.seeds), given.rows, given.epochs) == (seeds, rows, epochs)

    def seconds(seeds, rows, epochs):
        of_whole = [1 + each * epochs * (rows // 16) for each in (6, 12)]
        return seeds * (sum(of_whole) + sum(1 + 12 * epochs * (rows // part // 16) for part in (4, 2)))

    assert found.seconds == pytest.approx(seconds(seeds, rows, epochs))
    assert found.seconds <= minutes * 60
    assert seeds == 3 or seconds(seeds + 1, rows, epochs) > minutes * 60
    stated = {one.settings.get("rows") for one in found.plan.variants}
    assert stated == ({None} if rows == of else {str(rows)})


def test_a_limit_that_allows_no_training_is_refused_with_what_is_needed(tmp_path, asked, monkeypatch):
    def cost(*given):
        yield from ()
        return TrainingCost(100.0, 1.0)

    monkeypatch.setattr(advice, "_cost", cost)
    text = scored_pairs(tmp_path, 360)
    data = own_data.read(text, asked.model)
    with pytest.raises(
        BadChoice, match=r"1 minutes do not suffice: 2 methods on 85 rows with one seed.* about \d"
    ) as why:
        finish(advice.proposal(data, replace(asked, minutes=1.0)))
    fewer = f"{data.test}, 100 items"
    assert f"evaluation sets with fewer items, such as '{fewer}'" in str(why.value)
    assert own_data.read(text, asked.model, test=fewer).test_items == 100


def test_the_best_method_by_dev_score_is_trained_on_fewer_rows_and_answered(done, text, place, capsys, monkeypatch):
    given, status = advice.of_folder(done), done.status()
    found = plan_table.table(done.plan())
    assert found.done == found.total == 4 * 2
    assert [row.label for row in found.rows[:2]] == list(METHODS)
    dev = {row.label: np.mean([cell.done.verdict.dev.exported for cell in row.cells]) for row in found.rows[:2]}
    best = max(dev, key=dev.get)
    assert [row.label for row in found.rows[2:]] == [f"{best}, {share} of the rows" for share in ("25 %", "50 %")]
    reached = answer.answer(found, given, status)
    row = next(row for row in found.rows if row.label == best)
    gaps = [cell.done.verdict.test.known for cell in row.cells]
    mean, low, high = np.mean([one[2] for one in gaps]), min(one[3] for one in gaps), max(one[4] for one in gaps)
    assert reached.best.label == best
    assert reached.word == ("Yes" if low > 0 else "No")
    assert f"({mean:+.2f}, {low:+.2f} to {high:+.2f})" in reached.sentence.text
    top = max(row.cells, key=lambda cell: cell.done.verdict.dev.exported)
    assert reached.run == top.run.name
    assert f"{best} on all {top.done.facts.rows} scored pairs" in reached.sentence.text
    assert reached.rows.split(": ", 1)[1].startswith("From 50 % to 100 % of your rows")
    # the same command again trains nothing, and gives every number
    trained = len(runs.every())
    words = ["advise", text, "--model", str(place.model), "--json"]
    html = done.folder / "answer.html"
    assert main([*words, *chain(*(("--method", one) for one in METHODS)), "--html", str(html)]) == 0
    assert len(runs.every()) == trained
    numbers = json.loads(capsys.readouterr().out)
    assert (numbers["answer"], numbers["run"], numbers["best_row"]) == (reached.word, reached.run, best)
    assert numbers["verdict"]["difference"] == pytest.approx(mean)
    assert {cell.done.verdict.test.same_reading_base - cell.done.verdict.test.declared_base for cell in row.cells} == {
        0
    }
    assert reached.sentence.pieces[2][0].split(":")[0].encode() in html.read_bytes()


def test_seeds_that_the_limit_does_not_allow_for_every_method_are_taken_out(done):
    """What was trained of a seed for one method alone would be compared with other seeds of another."""
    for row in plan_table.table(done.plan()).rows:
        for cell in row.cells:
            if cell.seed == 2 and row.label == METHODS[1]:
                cell.run.delete()
    spent = sum(run.status().seconds for run in runs.every())
    plan = done.plan()
    done.redefine(replace(plan, seeds=(1, 2, 3), budget=replace(plan.budget, minutes=spent / 60)))
    status = finish(advice.execute(done))
    assert done.plan().seeds == (1,)
    found = plan_table.table(done.plan())
    assert answer.answer(found, advice.of_folder(done), status).best is not None


def test_an_answer_on_sentences_that_were_trained_on_says_so_and_names_another_measure(done):
    found = plan_table.table(done.plan())
    seen = [
        replace(row, cells=tuple(replace(cell, status=changed(cell.status)) for cell in row.cells))
        for row in found.rows
    ]
    reached = answer.answer(replace(found, rows=tuple(seen)), advice.of_folder(done), done.status())
    assert reached.sentence.text.startswith(f"{reached.word} (optimistic): ")
    assert reached.sentence.text.endswith(
        "Some training rows hold sentences of the test set, so scores are optimistic."
    )
    assert ": MRR@10 " in reached.sentence.text
    assert "optimistic" not in answer.answer(found, advice.of_folder(done), done.status()).text


def changed(status):
    facts = replace(status.facts, measures={"test": "MRR@10"})
    return replace(status, verdict=replace(status.verdict, optimistic=True), facts=facts)


def test_a_stopped_plan_gives_no_answer_before_every_method_is_trained(done):
    """The other method may be better; of one that could not be trained the answer says so."""
    for cell in plan_table.table(done.plan()).rows[1].cells:
        cell.run.delete()
    found, given = plan_table.table(done.plan()), advice.of_folder(done)
    for state in (plan_folder.STOPPED, plan_folder.INTERRUPTED, plan_folder.FAILED):
        reached = answer.answer(found, given, replace(done.status(), state=state))
        assert (reached.word, reached.best) == (answer.OPEN, None)
    reached = answer.answer(found, replace(given, failures={"simcse": "It needs more rows."}), done.status())
    assert reached.best.label == METHODS[0]
    assert f"; not trained with every seed: {METHODS[1]}, simcse." in reached.sentence.text


def test_what_more_rows_bring_is_said_of_the_method_that_the_answer_names(done):
    found, given = plan_table.table(done.plan()), advice.of_folder(done)
    best = answer.answer(found, given, done.status()).best.label
    (other,) = {*METHODS} - {best}
    for cell in next(row for row in found.rows if row.label == best).cells:
        cell.run.delete()
    reached = answer.answer(plan_table.table(done.plan()), given, done.status())
    assert (reached.best.label, reached.rows) == (other, "")
    done.redefine(replace(done.plan(), budget=PlanBudget()))
    finish(advice.execute(done))
    labels = [row.label for row in plan_table.table(done.plan()).rows]
    assert labels.count(f"{best}, 25 % of the rows") == 1


def test_a_limit_holds_until_another_one_is_given(done, text, place, capsys):
    words = ["advise", text, "--model", str(place.model), "--name", done.name]
    words += chain(*(("--method", one) for one in METHODS))
    for minutes in (60.0, 30.0):
        assert main([*words, "--minutes", str(minutes)]) == 0
        assert done.plan().budget.minutes == minutes


def test_another_method_is_no_answer_that_was_begun(done, text, place, capsys):
    words = ["advise", text, "--model", str(place.model), "--name", done.name]
    assert main([*words, "--method", METHODS[0]]) == 1
    assert "is a plan of another text, model, set or method" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"data": {"source": "a", "kind": "nonsense"}}'])
def test_a_plan_with_a_broken_advice_is_any_other_plan(content, begun):
    (begun.folder / advice.ADVICE).write_text(content)
    assert advice.of_folder(begun) is None


def test_rows_that_follow_are_expected_before_they_are_rows_of_the_plan(done, monkeypatch):
    """A process that is killed in between leaves a plan that still keeps its limit."""
    plan, expected = done.plan(), done.status().expected
    done.redefine(replace(plan, variants=plan.variants[:2]))
    done.put(replace(done.status(), expected={label: expected[label] for label in METHODS}))

    def killed(folder, plan):
        raise KeyboardInterrupt

    monkeypatch.setattr(plan_folder.PlanFolder, "redefine", killed)
    with pytest.raises(KeyboardInterrupt):
        finish(advice.execute(done))
    assert done.status().expected.keys() == expected.keys() == {one.label for one in plan.variants}


def test_the_sentences_of_scored_pairs_cost_as_many_steps_as_there_are(text, asked, monkeypatch):
    data = own_data.read(text, asked.model)
    given = replace(asked, method=("cosent", "ct-in-batch"))
    found = finish(advice.proposal(data, given)).advice
    for method, cost in found.costs.items():
        recipe = own_data.recipe(data, method, asked.model, advice._settings(found.rows, found.epochs))
        rows = len(read_texts(recipe).corpus)
        steps = recipe.schedule().updates(rows)
        assert cost.seconds(data.rows, found.epochs) == pytest.approx(cost.fixed + cost.step * steps)
        assert cost.own(data.rows) == pytest.approx(rows, rel=0.1)

    def cost(data, method, model):
        yield from ()
        return TrainingCost(1.0, 6.0, 2.0 if method == "ct-in-batch" else 1.0)

    monkeypatch.setattr(advice, "_cost", cost)
    found = finish(advice.proposal(replace(data, rows=3200), replace(given, minutes=10.0)))
    stated = [int(one.settings["rows"]) for one in found.plan.variants]
    assert stated == [found.advice.rows, 2 * found.advice.rows]


def test_a_stop_that_is_asked_for_between_two_parts_is_heard(done):
    plan = done.plan()
    done.redefine(replace(plan, variants=plan.variants[:2]))  # before the smaller numbers of rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(advice.execution, "execute", lambda folder, train: asked_to_stop(folder))
        status = finish(advice.execute(done))
    assert status.state == "stopped"
    assert len(done.plan().variants) == 2
    finish(advice.execute(done))
    assert done.plan() == plan


def asked_to_stop(folder):
    """The first part of a plan is done, and a viewer asks to stop before the second begins."""
    yield from ()
    folder.request_stop()
    return folder.status()


def reached(verdict, **data):
    """The answer of a plan whose best row has this verdict."""
    known = replace(
        own_data.OwnData("text.csv", SCORED_PAIRS.name, "a", "b", "Sample pairs, test half", 1000, 500), **data
    )
    return answer.helps(advice.Advice(known, rows=1000), "Spearman", verdict)


@pytest.mark.parametrize(
    ("verdict", "data", "helps"),
    [
        ((80.0, 0.2, 0.9), {}, ["The answer is of Sample pairs, test half, not of your text."]),
        ((91.0, 0.2, 0.9), {}, ["The base already has a Spearman of 91.0", "The answer is of"]),
        (
            (80.0, 0.2, 2.4),
            {},
            ["cannot be told from chance, and a gain of up to 2.4 is possible: a larger test set", "The answer is of"],
        ),
        ((80.0, 0.2, 0.9), {"rows": 4000}, ["1,000 of 4,000 rows fit the time limit", "The answer is of"]),
        ((80.0, 0.2, 0.9), {"kind": SENTENCES.name}, ["Sentences alone teach little", "The answer is of"]),
        ((80.0, 0.2, 0.9), {"test": sources.HELD_OUT}, ["another base model"]),
    ],
)
def test_what_would_help_follows_from_what_was_measured(verdict, data, helps):
    found = reached(verdict, **data)
    assert len(found) == len(helps)
    assert all(part in one for part, one in zip(helps, found, strict=True))


def test_who_names_a_test_set_is_not_told_to_name_one():
    data = own_data.OwnData("text.txt", SENTENCES.name, "a", "b", "own.csv", 1000, 500)
    given = advice.Advice(data, AdviceOptions(test="own.csv"), rows=1000)
    assert not any("name them" in line for line in answer.helps(given, "Spearman", (80.0, 0.2, 0.9)))


def test_a_plan_of_something_else_gives_no_answer(plan):
    assert advice.of_folder(plan_folder.new(plan)) is None


def test_nothing_is_said_before_a_method_is_trained(begun):
    status = begun.status()
    found = answer.answer(plan_table.table(begun.plan()), advice.of_folder(begun), status)
    assert (found.word, found.sentence.kind) == ("Not known yet", UNKNOWN)
    assert found.sentence.text == "Not known yet: 0 of 6 trainings are done."
    assert set(answer.REASONS) == {CHANCE, WORSE}, "every kind of a verdict that is neither better nor unknown"
