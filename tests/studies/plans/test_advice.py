"""Test the answer whether to fine-tune: what is read of a text, what is proposed, the plan, and the answer."""

import json
import shutil
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import precision_recall_curve

from explorer import in_words, run_folder
from explorer.__main__ import main
from explorer.data import sources
from explorer.data.graded.sets import CROSS_FITTED, HELD_OUT, halves
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.errors import BadChoice
from explorer.measuring.comparing.nothing_learned import BELOW, IN_FOLDS, NO_RATE, TIED, NothingLearned
from explorer.measuring.scores.verdict import UNKNOWN, UNLEARNED
from explorer.progress import finish
from explorer.studies.plans import advice, amounts, answer, extension, own_data, plan_folder, plan_report, plan_table
from explorer.studies.plans.advice import AdviceOptions
from explorer.studies.plans.amounts import TrainingCost
from explorer.studies.plans.plan import PlanBudget
from explorer.training.record import runs
from tests.studies.plans.seeds_by_hand import by_hand
from tests.trainings import few_shares, in_two_folds, scored_pairs

METHODS = ("cosent", "cosine-regression")
SHORT = {"batch_size": 4, "steps": 2}
PAIRS = 96  # of which a quarter, in two folds, is more than a batch


@pytest.fixture(autouse=True, scope="module")
def one_short_set_elsewhere(place):
    """The sample's sentences have many lengths, and take longer than the trainings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "at_hand", lambda: (sources.identity(str(place.dev)),))
        yield


@pytest.fixture(autouse=True, scope="module")
def short_trainings():
    """Two updates, two folds and no more than two seeds, so that an answer is found long before its time limit."""
    with pytest.MonkeyPatch.context() as patch, few_shares(), in_two_folds():
        patch.setattr(amounts.methods, "few_rows", lambda kind, rows: dict(SHORT))
        patch.setattr(amounts, "LEAST_STEPS", 1)
        patch.setattr(amounts, "FIRST_SEEDS", 2)
        patch.setattr(extension, "MOST_SEEDS", 2)
        patch.setattr(amounts, "BLEND", {**amounts.BLEND, "learning_rate": 3e-3, "keep_base": False})
        yield


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A file of scored pairs."""
    return scored_pairs(tmp_path_factory.mktemp("text"), PAIRS)


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
def worked_off(proposed, tmp_path_factory):
    """A folder of runs with a plan that was broken off, gone on with, and finished."""
    home = tmp_path_factory.mktemp("advice")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_RUNS", str(home))
        begun = advice.begin(proposed)
        work = extension.execute(begun)
        next(progress for progress in work if progress.stage.endswith(": training") and progress.done == 3)
        work.close()
        assert [run.status().state for run in runs.every()] == ["interrupted"]
        finish(extension.execute(begun))
    return begun


@pytest.fixture
def done(worked_off, tmp_path, monkeypatch):
    """A copy of it."""
    home = shutil.copytree(worked_off.folder.parents[1], tmp_path / "copied")
    monkeypatch.setenv("STRATA_RUNS", str(home))
    return plan_folder.find(worked_off.name)


def large(data, rows):
    """The same text with so many rows, of which a part is held out."""
    return replace(data, rows=rows, folds=0, dev=HELD_OUT, test=HELD_OUT)


@pytest.mark.parametrize(
    ("of", "minutes", "rows", "epochs"),
    [
        (3200, 300, 3200, 1),
        (3200, 200, 3200, 1),
        (3200, 100, 1600, 1),
        (3200, 10, 400, 1),
    ],
)
def test_of_a_large_text_as_much_is_proposed_as_leaves_time_for_seeds_and_for_fewer_rows(
    of, minutes, rows, epochs, asked, text, monkeypatch
):
    """Two methods of 6 and 12 seconds for a step of 16 rows, and of 1 for loading, by hand."""
    costs = iter([TrainingCost(1.0, 6.0, of // 16), TrainingCost(1.0, 12.0, of // 16)])

    def cost(*given):
        yield from ()
        return next(costs)

    monkeypatch.setattr(amounts, "cost", cost)
    monkeypatch.setattr(amounts, "FIRST_SEEDS", 3)
    found = finish(advice.proposal(large(own_data.read(text, asked.model), of), replace(asked, minutes=float(minutes))))
    given = found.advice.amount
    assert (found.plan.seeds, given.rows, given.epochs) == ((1,), rows, epochs)
    assert found.seconds == pytest.approx(sum(1 + each * (rows // 16) for each in (6, 12)))
    assert found.seconds <= minutes * 60
    stated = {one.settings.get("rows") for one in found.plan.variants}
    assert stated == ({None} if rows == of else {str(rows)})


@pytest.mark.parametrize(
    ("minutes", "share", "left_out"), [(30, 1.0, 0), (3.6, 0.5, 0), (1.8, 0.25, 0), (1.0, 0.25, 1)]
)
def test_of_a_small_text_there_are_fewer_updates_and_then_fewer_methods(
    minutes, share, left_out, asked, text, monkeypatch
):
    """Two methods of 4 seconds for a step and a hundred steps; where nobody has named them, the last is left out."""

    def cost(*given):
        yield from ()
        return TrainingCost(1.0, 2.0, 100.0)

    monkeypatch.setattr(amounts, "cost", cost)
    monkeypatch.setattr(own_data, "candidates", lambda kind, folded=False: METHODS)
    data = own_data.read(text, asked.model)
    found = finish(advice.proposal(data, replace(asked, method=(), minutes=float(minutes))))
    assert found.advice.amount == amounts.Amount(data.rows, 1, share)
    assert [one.label for one in found.plan.variants] == list(METHODS[: 2 - left_out])
    assert [*found.advice.failures] == list(METHODS[2 - left_out :])
    assert {one.settings["steps"] for one in found.plan.variants} == {max(1, round(2 * share))}
    assert found.seconds <= minutes * 60


def test_a_limit_that_allows_no_training_is_refused_with_what_is_needed(text, asked, place, monkeypatch):
    def cost(*given):
        yield from ()
        return TrainingCost(100.0, 1.0)

    monkeypatch.setattr(amounts, "cost", cost)
    data = replace(own_data.read(text, asked.model), test=halves()[1], test_items=120)
    with pytest.raises(
        BadChoice, match=rf"1 minutes do not suffice: .*cosine-regression on {PAIRS} rows with one seed .* 3\.3"
    ):
        finish(advice.proposal(data, replace(asked, minutes=1.0)))
    with pytest.raises(
        BadChoice, match="evaluation sets with fewer items, such as 'Sample pairs, test half, 100 items'"
    ):
        finish(advice.proposal(data, replace(asked, minutes=1.0)))


def test_in_words_only_what_is_trained_is_named(proposed):
    told = advice.in_text(proposed)
    assert told.startswith(f"2 methods (cosent, cosine-regression) on all {PAIRS} rows with one seed; then, as far as")
    assert "the best of them on half and a quarter of the rows and with another learning rate" in told
    few = replace(proposed.advice, amount=amounts.Amount(19), data=replace(proposed.advice.data, rows=19))
    assert "quarter" not in advice.in_text(replace(proposed, advice=few))
    assert "half" not in advice.in_text(replace(proposed, advice=few)), "nine rows are not trained on"


def test_a_plan_is_extended_by_seeds_fewer_rows_and_another_rate_and_answered(done, text, place, capsys):
    given, status = advice.of_folder(done), done.status()
    found = plan_table.table(done.plan())
    assert done.plan().seeds == (1, 2)
    assert found.done == found.total == 5 * 2
    reached = answer.answer(found, given, status)
    tests = {row.label: np.mean([cell.done.verdict.test.after for cell in row.cells]) for row in found.rows}
    assert all(cell.done.verdict.dev is None for row in found.rows for cell in row.cells), "folds choose by other rows"
    of_methods = {label: tests[label] for label in METHODS}
    first = max(of_methods, key=of_methods.get)
    gained = next(row for row in found.rows if row.label == first).verdict.difference > 0
    rate = 3e-3 * (3 if gained else 1 / 3)
    other = f"{first}, learning rate {float(f'{rate:.1e}'):g}"
    assert [row.label for row in found.rows[2:]] == [
        *(f"{first}, {part} of the rows" for part in ("50 %", "25 %")),
        other,
    ]
    tried = {label: tests[label] for label in (*METHODS, other)}
    best = max(tried, key=tried.get)
    assert reached.best.label == best
    row = next(row for row in found.rows if row.label == best)
    low, high = by_hand([cell.done.verdict.test.known[2:] for cell in row.cells])
    middle = np.mean([cell.done.verdict.test.difference for cell in row.cells])
    wider = norm.ppf(1 - 0.025 / 3) / norm.ppf(0.975)  # the best of three
    edges = middle - wider * (middle - low), middle + wider * (high - middle)
    assert (reached.gap.low, reached.gap.high) == pytest.approx(edges)
    assert (reached.word == "Yes") == (edges[0] > 0)
    assert in_words.ends(in_words.gap(*row.verdict.known[:2]), *edges) in reached.sentence.text
    top = max(row.cells, key=lambda cell: cell.done.verdict.test.after)
    assert reached.run == top.run.name
    assert f"{best} on all {top.done.facts.rows} scored pairs" in reached.sentence.text
    if best == first:
        assert reached.rows.split(": ", 1)[1].startswith("From 50 % to 100 % of your rows")
    # the same command again trains nothing, and gives every number
    trained = len(runs.every())
    words = ["advise", text, "--model", str(place.model), "--json"]
    html = done.folder / "answer.html"
    assert main([*words, *chain(*(("--method", one) for one in METHODS)), "--html", str(html)]) == 0
    assert len(runs.every()) == trained
    numbers = json.loads(capsys.readouterr().out)
    assert (numbers["answer"], numbers["run"], numbers["best_row"]) == (reached.word, reached.run, best)
    assert numbers["verdict"]["difference"] == pytest.approx(middle)
    assert [numbers["difference"][name] for name in ("low", "high")] == pytest.approx(edges)
    assert {cell.done.verdict.test.before_as_trained - cell.done.verdict.test.before for cell in row.cells} == {0}
    page = html.read_bytes()
    assert reached.sentence.pieces[2][0].split(":")[0].encode() in page
    assert answer.CHOSEN_BY_ROWS.encode() in page
    assert plan_report.BEST_OF.split("{} ")[1][:40].encode() not in page, "it says how the method was chosen once"


def test_the_answer_ends_with_precision_at_the_stated_recall_of_the_best_run(done, text, place, capsys):
    """The arrays of a run on pairs with two labels, in the folder of the run whose model the answer is of."""
    found, given, status = plan_table.table(done.plan()), advice.of_folder(done), done.status()
    run = runs.find(answer.answer(found, given, status).run)
    random = np.random.default_rng(1)
    matches = (random.random(200) < 0.5).astype(float)
    sides = {side: matches + random.normal(size=200) / (2 if side == "after" else 1) for side in ("before", "after")}
    arrays = {"test match": matches} | {f"test cosine {side}": cosines for side, cosines in sides.items()}
    np.savez(run_folder.in_use_file(run.folder, run.recipe().seeds[0]), **arrays)
    words = ["advise", text, "--model", str(place.model), *chain(*(("--method", one) for one in METHODS))]
    for recall in (0.9, 0.5):
        assert main([*words, "--recall", str(recall)]) == 0
        last = capsys.readouterr().out.strip().splitlines()[-1]
        assert last.startswith(f"Of the model of {run.name}: At a recall of {100 * recall:g} %, precision is ")
        for side in ("before", "after"):
            precision, recalls, _ = precision_recall_curve(matches, sides[side])
            at = np.flatnonzero(recalls >= recall - 1e-12).max()
            assert f"{100 * precision[at]:.1f} % {side}" in last
    assert main([*words, "--recall", "5"]) == 1
    assert "recall" in capsys.readouterr().err
    assert b"At a recall of 90 %" in answer.report(found, given, status)


def test_models_that_the_answer_is_not_of_can_be_deleted_and_the_answer_stays(done, text, place, capsys):
    words = ["advise", text, "--model", str(place.model), "--json", *chain(*(("--method", one) for one in METHODS))]

    def said(*more):
        assert main([*words, *more]) == 0
        out, err = capsys.readouterr()
        numbers = json.loads(out)
        return {name: numbers[name] for name in ("answer", "sentence", "run", "verdict", "difference")}, err

    trained = [run.name for run in runs.every()]
    before, err = said()
    assert "--delete-models deletes them" in err
    assert sum(run.has_model for run in runs.every()) == len(trained) > 2
    weight = sum(path.stat().st_size for run in runs.every() for path in run.model.rglob("*") if path.is_file())
    kept = sum(path.stat().st_size for path in runs.find(before["run"]).model.rglob("*") if path.is_file())
    after, err = said("--delete-models")
    assert in_words.size(weight - kept) in err
    assert [run.name for run in runs.every() if run.has_model] == [before["run"]]
    again, err = said()
    assert "--delete-models" not in err
    assert before == after == again
    assert [run.name for run in runs.every()] == trained, "nothing is trained anew"


def test_seeds_that_the_limit_does_not_allow_for_every_method_are_taken_out(done):
    """What was trained of a seed for one method alone would be compared with other seeds of another."""
    for row in plan_table.table(done.plan()).rows:
        for cell in row.cells:
            if cell.seed == 2 and row.label == METHODS[1]:
                cell.run.delete()
    spent = sum(run.status().seconds for run in runs.every())
    plan = done.plan()
    done.redefine(replace(plan, seeds=(1, 2, 3), budget=replace(plan.budget, minutes=spent / 60)))
    status = finish(extension.execute(done))
    assert done.plan().seeds == (1,)
    found = plan_table.table(done.plan())
    assert answer.answer(found, advice.of_folder(done), status).best is not None


def test_no_extension_is_begun_that_is_not_expected_to_end_within_the_limit(done):
    plan = done.plan()
    spent = sum(run.status().seconds for run in runs.every())
    found, given, status = plan_table.table(plan), advice.of_folder(done), done.status()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extension, "MOST_SEEDS", 30)
        longest = sum(max(cell.done.seconds for cell in row.cells) for row in found.rows)
        for more, extended in ((0.9, False), (1.1, True)):
            minutes = (spent + more * longest) / 60
            limited = replace(found, plan=replace(plan, budget=PlanBudget(minutes=minutes)))
            assert (extension._extended(limited, given, status) is not None) == extended
        without = replace(found, plan=replace(plan, budget=PlanBudget()))
        assert extension._extended(without, given, status).plan.seeds == (1, 2, 3)
    assert extension._extended(found, given, status) is None, "both seeds, both parts and the other rate are there"


def test_while_it_is_extended_the_answer_is_that_of_the_whole_seeds(done):
    """A seed that is under way for one method would else take the answer away."""
    before = answer.answer(plan_table.table(done.plan()), advice.of_folder(done), done.status())
    done.redefine(replace(done.plan(), seeds=(1, 2, 3)))
    running = replace(done.status(), state=plan_folder.RUNNING)
    now = answer.answer(plan_table.table(done.plan()), advice.of_folder(done), running)
    assert (now.word, now.best.label, now.gap) == (before.word, before.best.label, before.gap)


def test_an_answer_on_sentences_that_were_trained_on_says_so_and_names_another_measure(done):
    found = plan_table.table(done.plan())
    seen = [
        replace(row, cells=tuple(replace(cell, status=changed(cell.status)) for cell in row.cells))
        for row in found.rows
    ]
    reached = answer.answer(replace(found, rows=tuple(seen)), advice.of_folder(done), done.status())
    assert reached.sentence.text.startswith(f"{reached.word} (optimistic): ")
    assert plan_report.OPTIMISTIC in reached.sentence.text
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
    assert reached.best.label != METHODS[1]
    assert f"; not trained: {METHODS[1]}, simcse." in reached.sentence.text


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
    assert expected.keys() == {one.label for one in plan.variants}
    done.redefine(replace(plan, variants=plan.variants[:2]))
    done.put(replace(done.status(), expected={label: expected[label] for label in METHODS}))

    def killed(folder, plan):
        raise KeyboardInterrupt

    monkeypatch.setattr(plan_folder.PlanFolder, "redefine", killed)
    with pytest.raises(KeyboardInterrupt):
        finish(extension.execute(done))
    assert len(done.status().expected) == 3, "one part is added at a time"


def test_a_stop_that_is_asked_for_between_two_parts_is_heard(done):
    plan = done.plan()
    done.redefine(replace(plan, variants=plan.variants[:2]))  # before the smaller numbers of rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extension.execution, "execute", lambda folder, *how: asked_to_stop(folder))
        status = finish(extension.execute(done))
    assert status.state == "stopped"
    assert len(done.plan().variants) == 2
    finish(extension.execute(done))
    assert done.plan() == plan


def asked_to_stop(folder):
    """The first part of a plan is done, and a viewer asks to stop before the second begins."""
    yield from ()
    folder.request_stop()
    return folder.status()


@pytest.mark.parametrize(
    ("why", "word"), [(NO_RATE, "Cannot tell"), (TIED, "Cannot tell"), (IN_FOLDS, "No"), (BELOW, "No")]
)
def test_where_nothing_was_learned_no_is_said_only_if_the_weights_had_moved(done, why, word):
    nothing = NothingLearned(why, 3, 80.0, 79.0, "Sample pairs", 240)
    found = plan_table.table(done.plan())
    rows = tuple(
        replace(row, cells=tuple(replace(cell, status=unlearned(cell.status, nothing)) for cell in row.cells))
        for row in found.rows
    )
    reached = answer.answer(replace(found, rows=rows), advice.of_folder(done), done.status())
    assert (reached.word, reached.best, reached.sentence.kind) == (word, None, UNLEARNED)
    assert f"cosent: {nothing.reason}" in reached.sentence.text
    assert reached.helps == (nothing.next_step,)
    some = (rows[0], *found.rows[1:])
    reached = answer.answer(replace(found, rows=some), advice.of_folder(done), done.status())
    assert reached.best is not None
    assert f"Nothing was learned with {METHODS[0]}." in reached.sentence.text


def unlearned(status, nothing):
    return replace(status, facts=replace(status.facts, nothing=nothing))


def test_a_plan_of_something_else_gives_no_answer(plan):
    assert advice.of_folder(plan_folder.new(plan)) is None


def test_nothing_is_said_before_a_method_is_trained(begun):
    status = begun.status()
    found = answer.answer(plan_table.table(begun.plan()), advice.of_folder(begun), status)
    assert (found.word, found.sentence.kind) == ("Not known yet", UNKNOWN)
    assert found.sentence.text == "Not known yet: 0 of 2 trainings are done."


def test_labelled_texts_are_answered_by_the_classes_of_their_rows(place, tmp_path, own_runs):
    rows = [f"{word} {number} times,{label}" for number in range(12) for word, label in (("rain", "w"), ("money", "e"))]
    path = tmp_path / "labelled.csv"
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    asked = AdviceOptions(model=str(place.model))
    data = own_data.read(str(path), asked.model)
    assert (data.of_kind, data.rows, data.folds, data.test) == (LABELLED_TEXTS, 24, 2, CROSS_FITTED)
    found = finish(advice.proposal(data, asked))
    assert {"setfit", "classify"} <= {one.label for one in found.plan.variants}
    assert "sbert-nli" not in found.advice.costs
    begun = advice.begin(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extension, "MOST_SEEDS", 1)
        patch.setattr(amounts, "FIRST_SEEDS", 1)
        status = finish(extension.execute(begun))
    assert status.failures == {}
    table = plan_table.table(begun.plan())
    reached = answer.answer(table, advice.of_folder(begun), status)
    assert reached.word in ("Yes", "No", "Cannot tell")
    assert "accuracy " in reached.sentence.text or reached.best is None
    assert table.measures == ("accuracy",)
