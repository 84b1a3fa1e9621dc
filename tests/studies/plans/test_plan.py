"""Test what a plan multiplies, that each mistake is refused with its name, and what is said about its best row."""

import math
from dataclasses import replace
from itertools import product

import pytest

from explorer.drawing.reports import standalone
from explorer.errors import BadChoice
from explorer.evaluating.results import table_formats
from explorer.measuring.scores.verdict import BETTER, CHANCE, WORSE, ElsewhereVerdict, RunVerdict, Verdict
from explorer.methods import PAPER, QUICK, knobs_of, load, paper_values
from explorer.studies.plans import plan_columns, plan_file, plan_report, plan_table
from explorer.studies.plans.plan import Plan, PlanBudget, Variant, cells
from explorer.studies.plans.plan_report import scored, verdict
from explorer.studies.plans.plan_table import PlanRow, PlanTable, seconds_left
from explorer.training.recipe import Stage
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, RUNNING, Status
from tests.studies.plans.seeds_by_hand import by_hand

STEPS = {"steps": 2}


def test_every_combination_is_trained_once_and_without_random_numbers_with_one_seed():
    plan = Plan("all", ("simcse", "sg-opt"), settings=STEPS, grid={"temperature": (0.1, 0.2)}, seeds=(3, 1))
    found = cells(plan)
    expected = list(product((3, 1), ("simcse", "sg-opt"), (0.1, 0.2)))
    values = [(cell.seed, cell.recipe.method, cell.recipe.every_setting()["temperature"]) for cell in found]
    assert values == expected
    assert len({cell.row for cell in found}) == 4
    assert all(cell.recipe.every_setting()["steps"] == 2 for cell in found)
    assert plan.rows == 4
    found = cells(Plan("mixed", ("simcse", "whitening"), settings=STEPS, seeds=(1, 2, 3)))
    assert [cell.seed for cell in found if cell.recipe.method == "whitening"] == [1]
    assert [cell.seed for cell in found if cell.recipe.method == "simcse"] == [1, 2, 3]


def test_several_models_and_texts_and_variants_are_named_in_the_rows():
    plan = Plan("all", ("simcse",), models=("all-MiniLM-L6-v2", "/x/other"), data=(("sample",), ("sample", "STS-B")))
    assert [cell.row for cell in cells(plan)] == [
        "simcse, all-MiniLM-L6-v2, sample",
        "simcse, all-MiniLM-L6-v2, sample + STS-B",
        "simcse, other, sample",
        "simcse, other, sample + STS-B",
    ]
    variants = (Variant("plain"), Variant("hot", {"temperature": 0.5}), Variant("guided", method="sg"))
    found = cells(Plan("some", ("simcse",), settings=STEPS, variants=variants))
    named = [(cell.row, cell.recipe.method) for cell in found]
    assert named == [("plain", "simcse"), ("hot", "simcse"), ("guided", "sg")]
    assert found[1].recipe.settings["temperature"] == 0.5


def test_a_text_that_is_a_split_of_a_published_set_is_developed_and_tested_on_that_set():
    texts = ("STS-B train",), ("SICK-R",), ("sample",)
    own = {("STS-B train",): "STS-B", ("SICK-R",): "SICK-R"}
    for cell in cells(Plan("all", ("cosent", "simcse"), data=texts, settings=STEPS)):
        name = own.get(tuple(map(str, cell.recipe.data)))
        if name:
            assert (str(cell.recipe.dev), str(cell.recipe.test)) == (f"{name} dev", f"{name} test")
        else:
            assert str(cell.recipe.test) == "Sample pairs, test half"
    (cell,) = cells(Plan("named", ("cosent",), data=texts[:1], settings=STEPS, dev="sample dev", test="none"))
    assert (str(cell.recipe.dev), cell.recipe.tests) == ("sample dev", ())


def test_a_plan_starts_from_quick_values_or_those_of_the_paper():
    first, second, third = cells(Plan("quick", ("simcse", "tsdae", "wk"), values=QUICK))
    assert first.recipe.settings == {"steps": 100, "batch_size": 16}
    assert second.recipe.settings == {"steps": 100}
    assert third.recipe.settings == {}
    (cell,) = cells(Plan("paper", ("sg-opt",), settings=STEPS, values=PAPER))
    expected = {**paper_values(load("sg-opt")), **STEPS}
    assert cell.recipe.every_setting() == expected
    assert expected != {**{name: one.default for name, one in knobs_of(load("sg-opt")).items()}, **STEPS}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"name": "../up"}, "'../up'"),
        ({"methods": ()}, "methods is empty"),
        ({"seeds": ()}, "seeds is empty"),
        ({"data": ()}, "data is empty"),
        ({"grid": {"temperature": ()}}, "grid.temperature is empty"),
        ({"grid": {"temperature": (0.1, 0.1)}}, "has a value twice"),
        ({"grid": {"temprature": (0.1,)}}, "Did you mean 'temperature'"),
        ({"grid": {"temperature": (-1,)}}, "temperature cannot be -1"),
        ({"settings": {"stepps": 1}}, "Did you mean 'steps'"),
        ({"methods": ("simsce",)}, "Did you mean 'simcse'"),
        ({"grid": {"steps": tuple(range(1, 1001)), "batch_size": tuple(range(2, 1002))}}, "1,000,000 trainings"),
        ({"values": "as i like"}, "values cannot be 'as i like'"),
        ({"tasks": ("STS12", "STSX")}, "'STSX'"),
        ({"variants": (Variant("a"), Variant("a", {"temperature": 0.2}))}, "Two rows are called 'a'"),
        ({"variants": (Variant("a"), Variant("b"))}, "are the same training"),
        ({"variants": (Variant("a"),), "grid": {"temperature": (0.1,)}}, "variants and a grid"),
        ({"variants": (Variant("a"),), "methods": ()}, "state no method"),
        ({"stages": (Stage("whitening"),)}, "Stage 1 of 2 (whitening on sample): whitening leaves the weights"),
        ({"dev": "STS-C dev", "test": "none", "precision": "half"}, "precision cannot be 'half'"),
    ],
)
def test_a_mistake_is_refused_with_its_name(changes, named):
    with pytest.raises(BadChoice) as caught:
        cells(replace(Plan("one", ("simcse",), settings=STEPS), **changes))
    assert named in str(caught.value)


def test_a_file_says_the_same_as_the_plan_and_single_values_need_no_list(plan):
    whole = replace(plan, budget=PlanBudget(minutes=5, steps=100), tasks=("sts", "MR"), values=PAPER)
    assert plan_file.from_yaml(plan_file.as_yaml(whole), "there") == whole
    some = replace(whole, grid={}, variants=(Variant("a", {"temperature": 0.2}, "simcse", ("sample",)), Variant("b")))
    assert plan_file.from_yaml(plan_file.as_yaml(some), "there") == some
    first = Stage("tsdae", ("sample",), settings={"steps": 2})
    staged = replace(some, variants=(Variant("a", stages=(first,)), Variant("b", stages=())), stages=(first, first))
    assert plan_file.from_yaml(plan_file.as_yaml(staged), "there") == staged
    text = "method: simcse\nmodel: here\ndata: sample\nseed: 3\ntask: MR\ngrid: {temperature: 0.1}\n"
    text += "budget: {minutes: 2}\n"
    found = plan_file.from_yaml(text, "there", "mine")
    assert found == Plan(
        "mine", ("simcse",), ("here",), (("sample",),), {}, {"temperature": (0.1,)}, seeds=(3,), tasks=("MR",),
        budget=PlanBudget(2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("- simcse\n", "there is no YAML mapping, whose lines are 'name: value'. Give the file of a plan."),
        ("sentence1,sentence2,score\nA girl is styling her hair.,A girl brushes it.,0.5\n", "there is no YAML mapping"),
        ("methods: [simcse\n", "not YAML"),
        ("methods: &a [simcse]\nmodels: *a\n", "no aliases"),
        ("methods: simcse\nseedz: 1\n", "there: There is no setting 'seedz'. Did you mean 'seeds'"),
        ("methods: [1]\n", "there: methods cannot be [1]"),
        ("methods: simcse\nseeds: [one]\n", "there: seeds cannot be ['one']"),
        ("methods: simcse\nseeds: [true]\n", "there: seeds cannot be [True]"),
        ("methods: simcse\nsettings: [1]\n", "settings cannot be [1]"),
        (
            "methods: simcse\nsettings: {steps: [1]}\n",
            "there: settings cannot be {'steps': [1]}. Choose a number, a text, on or off for each name",
        ),
        ("methods: simcse\ngrid: {steps: [[1]]}\n", "grid.steps cannot be [1]"),
        (
            "methods: simcse\nbudget: {hours: 1}\n",
            "there, budget: There is no setting 'hours'. There are: minutes, steps",
        ),
        (
            "methods: simcse\nbudget: {minutes: soon}\n",
            "there, budget: minutes cannot be 'soon'. Choose a number from 1e-06",
        ),
        ("methods: simcse\nbudget: {minutes: 0}\n", "there, budget: minutes cannot be 0"),
        ("methods: simcse\nbudget: {steps: 1.5}\n", "there, budget: steps cannot be 1.5. Choose a whole number"),
        ("methods: simcse\nbudget: [5]\n", "there, budget cannot be [5]. Give any of minutes, steps"),
        ("methods: simcse\nvariants: [{settings: {}}]\n", "there, variant 1: label is missing"),
        ("methods: simcse\nstages: [{data: [sample]}]\n", "there, stage 1: method is missing. There are: method, data"),
        ("methods: simcse\nstages: {method: tsdae, data: {a: 1}}\n", "data cannot be {'a': 1}"),
        ("name: 3\n", "name cannot be 3"),
        ("methods: simcse\nmethod: sg\n", "'methods' on line 1 and 'method' on line 2"),
        ("seed: 1\nmethods: simcse\nseeds: [2]\n", "'seed' on line 1 and 'seeds' on line 3"),
        ("methods: simcse\nseeds: [010]\n", "line 2: 010"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_value(text, named):
    with pytest.raises(BadChoice) as caught:
        plan_file.from_yaml(text, "there")
    assert named in str(caught.value)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *product(("minutes", "steps"), (0, -1, True, ".nan", ".inf", "-.inf", 10**20, "9" * 300, "'five'", "[5]")),
        ("steps", 1.5),
        ("steps", 0.5),
    ],
)
def test_a_budget_that_is_no_limit_is_refused_with_its_value(name, most):
    with pytest.raises(BadChoice, match=rf"there, budget.*: {name} cannot be .*Choose .*\(default no limit\)"):
        plan_file.from_yaml(f"methods: simcse\nbudget: {{{name}: {most}}}\n", "there")


def test_a_budget_of_the_form_is_checked_too_and_a_whole_number_of_steps_may_be_a_power():
    for budget in ({"steps": 1.5}, {"minutes": math.nan}, {"minutes": 10**400}, {"steps": True}):
        with pytest.raises(BadChoice, match="Choose a"):
            PlanBudget(**budget)
    found = plan_file.from_yaml("methods: simcse\nbudget: {steps: 1e3, minutes: 0.5}\n", "there").budget
    assert (found, type(found.steps)) == (PlanBudget(0.5, 1000), int)


PLAN = Plan("some", ("simcse",), settings={"steps": 2}, grid={"temperature": (0.1, 0.2, 0.3)}, seeds=(1, 2))
BASE = 70.0


def done(gap, half, seconds=10.0, *, optimistic=False, elsewhere=()):
    """A finished training with this difference to the base, and half the width of its interval."""
    test = Verdict(BASE, BASE, BASE + gap, gap, gap - half, gap + half)
    return Status(FINISHED, verdict=RunVerdict(test, test, optimistic, elsewhere=elsewhere), seconds=seconds)


def found(tmp_path, *rows, plan=PLAN):
    """A table with the statuses of each row's seeds."""
    by_row = {}
    for cell in cells(plan):
        by_row.setdefault(cell.row, []).append(cell)
    made = []
    for (label, own), given in zip(by_row.items(), rows, strict=False):
        trained = (replace(cell, run=Run(tmp_path), status=status) for cell, status in zip(own, given, strict=True))
        made.append(PlanRow(label, tuple(trained), {}))
    return PlanTable(plan, {}, tuple(made), {}, ())


def test_a_row_that_no_interval_reaches_is_best(tmp_path):
    table = found(tmp_path, (done(1, 0.5),) * 2, (done(5, 1), done(6, 1)), (done(0, 1),) * 2)
    told = verdict(table)
    assert told.kind == BETTER
    assert told.text == (
        "Better (optimistic): temperature 0.2 has the highest score on Sample pairs, test half (Spearman): "
        "75.50 ± 0.71, +5.50 over the base (95 % CI +3.55 to +7.45). "
        "Its interval does not overlap with any of the 2 other rows."
    )
    assert [row.label for row, _ in scored(table)] == ["temperature 0.2", "temperature 0.1", "temperature 0.3"]


def test_no_row_is_called_best_where_intervals_overlap_and_known_sentences_are_optimistic(tmp_path):
    told = verdict(found(tmp_path, (done(5, 1),) * 2, (done(5.5, 1),) * 2, (done(0, 1),) * 2))
    assert told.kind == BETTER, "than the base"
    assert "overlaps with that of temperature 0.1: which of them is best may be chance" in told.text
    assert "temperature 0.3" not in told.text
    assert "optimistic" in verdict(found(tmp_path, (done(5, 1), done(5, 1, optimistic=True)))).text
    assert "optimistic" not in verdict(found(tmp_path, (done(5, 1),) * 2)).text


@pytest.mark.parametrize(("gap", "kind", "includes"), [(1, CHANCE, True), (-5, WORSE, False)])
def test_a_best_row_is_better_than_the_base_only_if_the_interval_excludes_0(tmp_path, gap, kind, includes):
    told = verdict(found(tmp_path, (done(gap, 2),) * 2))
    assert told.kind == kind
    assert ("includes 0" in told.text) is includes


def test_what_a_row_costs_elsewhere_is_the_mean_over_seeds_of_the_sets_that_all_of_them_have(tmp_path):
    def scored_elsewhere(gap, *names):
        score = Verdict(BASE, None, BASE + gap, gap, gap - 1, gap + 1)
        return done(5, 1, elsewhere=tuple(ElsewhereVerdict(name, 20, 20, "Spearman", score) for name in names))

    usual = plan_columns.columns(found(tmp_path, (done(5, 1),) * 2))
    assert plan_columns.ELSEWHERE not in [column.name for column in usual], "as it was"
    table = found(tmp_path, (scored_elsewhere(-2, "a", "b"), scored_elsewhere(-3, "b")), (done(1, 1),) * 2)
    (one,) = table.rows[0].elsewhere
    low, high = by_hand([(-2, -3, -1), (-3, -4, -2)])
    assert (one.name, one.verdict.known) == ("b", pytest.approx([BASE, 67.5, -2.5, low, high]))
    header, rows = table_formats.shown(*plan_columns.written(table))
    at = header.index(f"{plan_columns.ELSEWHERE} (b, 20 pairs, Spearman)")
    assert [row[at] for row in rows] == ["", "−2.50 (−4.45 to −0.55)", ""]
    told = plan_report.forgotten(table)
    assert (told.kind, told.text) == (WORSE, "Elsewhere, temperature 0.1: b Spearman −2.50 (−4.45 to −0.55), worse.")
    assert standalone.verdict(told).encode() in plan_report.report(table)
    assert plan_table.as_json(table)["rows"][0]["elsewhere"][0]["verdict"]["difference"] == -2.5
    text = plan_file.as_yaml(replace(PLAN, elsewhere=("Sample search",)))
    assert cells(plan_file.from_yaml(text, "there"))[0].recipe.stated()["elsewhere"] == ["Sample search"]
    assert "elsewhere" not in plan_file.as_yaml(PLAN)


def test_a_row_that_lacks_a_seed_or_has_another_base_is_not_compared(tmp_path):
    table = found(tmp_path, (done(1, 0.5),) * 2, (done(9, 1), Status(RUNNING)))
    assert (
        "temperature 0.1 is the first row with a score on Sample pairs, test half (Spearman), so far (3 of 4 trainings)"
        in verdict(table).text
    )
    assert verdict(found(tmp_path, (done(9, 1), Status(RUNNING)))) is None
    two = replace(PLAN, grid={}, models=("all-MiniLM-L6-v2", "/x/other"))
    assert "overlap" not in verdict(found(tmp_path, (done(5, 1),) * 2, (done(4.9, 1),) * 2, plan=two)).text


def test_what_is_left_takes_as_long_as_the_other_seeds_of_a_row_did(tmp_path):
    waiting, under_way = Status(RUNNING), Status(RUNNING, seconds=4.0)
    table = found(tmp_path, (done(1, 1, 10), under_way), (done(1, 1, 30), waiting), (waiting, waiting))
    assert seconds_left(table) == pytest.approx((10 - 4) + 30 + 20 + 20)
    assert seconds_left(table, left_out=2) == pytest.approx(6 + 20)
    assert seconds_left(found(tmp_path, (waiting, waiting))) is None
