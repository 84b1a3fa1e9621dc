"""Test the curve of a plan over numbers of rows: its plan, its numbers by hand, and what is said of them."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from explorer import in_words
from explorer.__main__ import main
from explorer.data.sources import identity
from explorer.errors import BadChoice, TooFewRows
from explorer.evaluating.kinds import run_set
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.verdict import UNKNOWN, Verdict
from explorer.progress import finish
from explorer.studies.plans import execution, plan_file, plan_folder, plan_report, plan_table, row_curve
from explorer.studies.plans import plan as plans
from explorer.studies.plans.row_curve import RowCurve
from explorer.studies.plans.seeds import ONE_SEED
from explorer.training.recipe import Recipe
from tests.exports import by_sentence_transformers
from tests.studies.plans.seeds_by_hand import by_hand
from tests.trainings import ROWS


@pytest.fixture
def curve_plan(plan):
    """Three numbers of rows, two seeds each."""
    return replace(plan, grid={"rows": ("25 %", "50 %", "100 %")}, settings={**plan.settings, "steps": 0, "epochs": 1})


def cosines(model, pairs):
    """The cosines of the pairs by sentence-transformers and the exported model."""
    vectors = by_sentence_transformers(model, (*pairs.first, *pairs.second)).numpy().astype(np.float64)
    one, other = np.split(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), 2)
    return (one * other).sum(axis=1)


def test_gains_are_those_of_the_exported_models_of_each_seed(curve_plan, place, capsys):
    finish(execution.execute(plan_folder.new(curve_plan)))
    found = plan_table.table(curve_plan)
    (curve,) = row_curve.curves(found)
    assert [(one.stated, one.rows, one.steps) for one in curve.points] == [
        ("25 %", ROWS // 4, 1), ("50 %", ROWS // 2, 3), ("100 %", ROWS, 6)
    ]  # fmt: skip
    pairs = run_set(identity(str(place.test)))
    gold = np.array(pairs.gold)
    of_runs = [[cosines(cell.run.model, pairs) for cell in row.cells] for row in found.rows]
    for fewer, more, gain in ((0, 1, curve.gains[0]), (1, 2, curve.gains[1]), (0, 2, curve.whole)):
        gaps = [bootstrap.difference(gold, *sides) for sides in zip(of_runs[fewer], of_runs[more], strict=True)]
        scores = [found.rows[at].score("test").mean for at in (fewer, more)]
        assert gain.known[:2] == pytest.approx(scores)
        assert gain.difference == pytest.approx(scores[1] - scores[0], abs=1e-6)
        edges = by_hand([(float(gap.difference), float(gap.low), float(gap.high)) for gap in gaps])
        assert (gain.low, gain.high) == pytest.approx(edges, abs=1e-5)
    assert curve.per_doubling.difference == pytest.approx(curve.whole.difference / 2)
    assert "Steps grow with the rows, since epochs are the same (1, 3, 6 steps)" in plan_report.about_rows([curve])
    assert b"Score by training rows" in plan_report.report(found)
    assert "overlap" not in plan_report.verdict(found).text, "numbers of rows are compared in their own sentence"
    # a run without scores of its items has no paired difference
    (curve.points[1].row.cells[1].run.folder / "items" / "seed-2.npy").unlink()
    (cut,) = row_curve.curves(found)
    assert [bool(gain.known) for gain in (*cut.gains, cut.whole)] == [False, False, True]
    assert "50 % to 100 % of your rows: not known" in plan_report.of_rows(cut).text
    capsys.readouterr()
    assert main(["plan", curve_plan.name, "--table", "--json"]) == 0
    told = capsys.readouterr()
    assert "From 50 % to 100 % of your rows: not known" in told.err
    (numbers,) = json.loads(told.out)["row_curves"]
    assert numbers["gains"] == [[], []]
    assert numbers["per_doubling"] == list(curve.per_doubling.known[2:])


def curve_of(*gains, rows=(250, 500, 1000), seeds=2, nothing=0, **settings):
    """A curve with these differences between its numbers of rows, and the last one over all."""
    done = SimpleNamespace(facts=SimpleNamespace(measure_of=lambda use: "Spearman"), verdict=None)
    recipe, cell = Recipe("simcse", settings=settings), SimpleNamespace(done=done)
    row = SimpleNamespace(cells=(cell,) * seeds, nothing=nothing)
    points = [SimpleNamespace(rows=count, stated=f"{count / 10:g} %", row=row, recipe=recipe) for count in rows]
    *steps, whole = (Verdict(80.0, None, 80 + gap[0], *gap) for gap in gains)
    return RowCurve("simcse", tuple(points), tuple(steps), whole)


@pytest.mark.parametrize(
    ("last", "whole", "told"),
    [
        ((0.4, -0.1, 0.9), (0.9, -0.2, 1.9),
         "Could be chance: From 50 % to 100 % of your rows: Spearman +0.40 (−0.10 to +0.90). More of the same text is "
         "unlikely to help."),
        ((1.3, 0.4, 2.0), (2.4, 1.0, 3.6),
         "Better: From 50 % to 100 % of your rows: Spearman +1.30 (+0.40 to +2.00). Each doubling from 250 rows "
         "on brought Spearman +1.20 (+0.50 to +1.80). More of the same text would probably help."),
        ((0.4, -0.1, 1.9), (0.4, -0.1, 1.9),
         "Could be chance: From 50 % to 100 % of your rows: Spearman +0.40 (−0.10 to +1.90). Whether more of the same "
         "text helps is not known: a gain of up to 1.90 Spearman is possible. A larger test set narrows the interval."),
        ((-0.4, -0.9, -0.1), (0.1, -1, 1),
         "Worse: From 50 % to 100 % of your rows: Spearman −0.40 (−0.90 to −0.10). More of the same text does "
         "not help."),
    ],
)  # fmt: skip
def test_the_last_step_and_a_doubling_are_told_in_a_sentence(last, whole, told):
    assert plan_report.of_rows(curve_of((1.0, 0.5, 1.5), last, whole)).text == told


def test_one_seed_cannot_tell_what_more_rows_bring(curve_plan):
    """Trainings that differ by the seed alone differ too, so there is a difference, and no verdict."""
    one = replace(curve_plan, seeds=(1,), grid={"rows": ("50 %", "100 %")})
    finish(execution.execute(plan_folder.new(one)))
    (curve,) = row_curve.curves(plan_table.table(one))
    (gain,) = curve.gains
    assert gain.difference == pytest.approx(gain.after - gain.before, abs=1e-6)
    assert (gain.low, gain.high, gain.known) == (None, None, [])
    told = plan_report.of_rows(curve)
    assert told.kind == UNKNOWN
    assert f"Spearman {in_words.signed(gain.shown_difference)}; {ONE_SEED}. {plan_report.MORE_SEEDS}" in told.text
    assert "unlikely to help" not in told.text


def test_models_that_learned_nothing_tell_nothing_of_more_text():
    gains = [(0.4, -0.1, 0.9)] * 3
    told = plan_report.of_rows(curve_of(*gains, nothing=2))
    assert told.kind == UNKNOWN
    assert "nothing was learned with 500 and with 1,000 rows, so that this says nothing of more text." in told.text
    assert "unlikely" in plan_report.of_rows(curve_of(*gains, nothing=1)).text, "one of the seeds moved"


@pytest.mark.parametrize(("steps", "shown"), [(31, True), (32, False)])
def test_steps_that_read_no_more_than_the_fewer_rows_tell_nothing_of_more_rows(steps, shown):
    told = plan_report.of_rows(curve_of(*[(0.4, -0.1, 0.9)] * 3, steps=steps, batch_size=16)).text
    assert ("steps, which read 496 rows: too few to show what more rows bring." in told) == shown
    assert ("unlikely to help" in told) != shown


def test_a_doubling_is_the_gain_by_the_logarithm_of_the_rows():
    curve = curve_of((3.0, 1.5, 6.0), (3.0, 1.5, 6.0), rows=(100, 300))
    assert curve.per_doubling.known[2:] == pytest.approx([number / math.log2(3) for number in (3.0, 1.5, 6.0)])


def test_rows_are_a_list_of_a_plan_like_any_other(curve_plan):
    text = "methods: [simcse, sg-opt]\nrows: [25 %, 50%, 12]\nsettings: {{batch_size: 4}}\nseeds: [1, 2]\n{}"
    stated = plan_file.from_yaml(text.format(""), "plan.yaml")
    assert stated.grid == {"rows": ("25 %", "50%", 12)}
    every = plans.cells(stated)
    assert len(every) == 2 * 3 * 2
    assert [cell.recipe.settings["rows"] for cell in every[:3]] == ["25 %", "50 %", "12"]
    assert [(cell.row, cell.line) for cell in every[2:4]] == [
        ("simcse (rows 12)", "simcse"),
        ("sg-opt (rows 25 %)", "sg-opt"),
    ]
    assert plan_file.from_yaml(plan_file.as_yaml(stated), "plan.yaml") == stated
    with pytest.raises(BadChoice, match="has rows, and rows in its grid"):
        plan_file.from_yaml(text.format("grid: {rows: [1, 2]}"), "plan.yaml")


@pytest.mark.parametrize(
    ("rows", "error", "text"),
    [
        (("150 %",), BadChoice, "rows 150 %: rows cannot be '150 %'. Choose a share above 0 %"),
        (("50 %", "50%"), BadChoice, "are the same training"),
        (("10 %", "50 %"), TooFewRows, "rows 10 %: rows cannot be 10 %: of the 24 rows .* but a batch takes 4"),
        (("25",), TooFewRows, "rows 25: rows cannot be 25: .* has 24 rows"),
    ],
)
def test_bad_numbers_of_rows_are_refused_before_anything_is_trained(curve_plan, rows, error, text):
    with pytest.raises(error, match=text):
        execution.check(replace(curve_plan, grid={"rows": rows}))
