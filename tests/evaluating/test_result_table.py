"""Test result files, the table of results with published scores next to it, and its formats."""

import io
import json
import zipfile
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
import pytest

from explorer.data import reference_scores
from explorer.evaluating.results import result_files, result_table, table_formats
from explorer.evaluating.results.rank_groups import ranked
from explorer.evaluating.results.result_files import META, Origin, Result, ScoredModel
from explorer.evaluating.results.result_table import models, rows_for, what_differs
from explorer.evaluating.results.scored_task import LOGISTIC, Items, Measured
from explorer.evaluating.tasks import published, sts, transfer
from tests.evaluating.results_by_hand import measured, result, task


def by_name(results):
    return {row.name: row for row in models(results)}


def test_runs_that_differ_by_their_seed_are_one_row_also_if_they_scored_themselves():
    results = [result(f"run:{seed}", "MR", score, recipe="r", seed=seed) for seed, score in ((1, 80.0), (2, 83.0))]
    (row,) = models(results)
    assert row.name == "simcse on base, mean of 2 seeds"
    cell = row.cell(task("MR"))
    assert (cell.mean, cell.std) == (fmean([80, 83]), stdev([80, 83]))
    assert str(cell) == "81.50 ± 2.12"
    (row,) = models([replace(one, model=replace(one.model, digest="")) for one in results])  # their models are gone
    assert str(row.cell(task("MR"))) == "81.50 ± 2.12"
    (row,) = models([replace(results[0], task=task("CR")), *results])
    assert row.cell(task("MR")).std is not None
    assert row.cell(task("CR")).lacking == "1 of 2 seeds"


def test_runs_of_one_recipe_and_seed_with_other_weights_are_rows_of_their_own_that_are_named():
    scores = {("run:a", 1): 80.0, ("run:b", 1): 81.0, ("run:c", 2): 84.0}
    results = [result(name, "MR", score, recipe="r", seed=seed) for (name, seed), score in scores.items()]
    for order in (results, results[::-1]):
        found = {row.name: str(row.cell(task("MR"))) for row in models(order)}
        expected = f"{fmean([80, 84]):.2f} ± {stdev([80, 84]):.2f}"
        assert found == {
            "simcse on base, mean of 2 seeds (run:a, run:c)": expected,
            "simcse on base (run:b)": "81.00",
        }
    keys = [row.key for row in models(results)]
    assert len(set(keys)) == 2
    assert models(results[:1])[0].key in keys, "a row is the same one when others come"


def test_ten_runs_of_one_recipe_and_seed_are_as_many_rows_as_they_have_weights():
    weights = {"a": 83.21, "b": 83.14, "c": 83.20}
    runs = [
        replace(one, model=replace(one.model, digest=digest))
        for at, digest in enumerate("abcabababa")
        for one in [result(f"run:{at}", "MR", weights[digest], recipe="r", seed=1)]
    ]
    rows = models(runs)
    assert {row.name: str(row.cell(task("MR"))) for row in rows} == {
        "simcse on base (run:0)": "83.21",
        "simcse on base (run:1)": "83.14",
        "simcse on base (run:2)": "83.20",
    }


def test_seeds_with_equal_weights_have_the_scores_of_either():
    one, other = (result(f"run:{seed}", "MR", 80.0, recipe="r", seed=seed) for seed in (1, 2))
    other = replace(other, model=replace(other.model, digest=one.model.digest))  # neither moved
    (row,) = models([one, other, replace(one, task=task("CR"))])
    assert (row.name, str(row.cell(task("MR")))) == ("simcse on base, mean of 2 seeds", "80.00 ± 0.00")
    assert row.cell(task("CR")) is not None


def test_equal_weights_of_two_recipes_are_two_rows_with_names_of_their_own():
    one = result("run:a", "MR", 80, recipe="r", seed=1)
    other = replace(one, model=replace(one.model, origin=replace(one.model.origin, recipe="s")), task=task("CR"))
    called = result("r", "MR", 70)  # a model whose name is the digest of a recipe
    assert len(by_name([one, other, called])) == 3
    assert [str(row.cell(task("MR"))) for row in models([one, called])] == ["80.00", "70.00"]


def test_a_run_of_several_seeds_keeps_the_best_and_is_in_no_mean():
    results = [result("run:one", "MR", 80, recipe="r", seed=1), result("run:best", "MR", 84, recipe="r")]
    assert {row.name: str(row.cell(task("MR"))) for row in models(results)} == {
        "simcse on base (run:one)": "80.00",
        "simcse on base, best of several seeds (run:best)": "84.00",
    }


def test_a_base_without_the_tasks_of_what_was_trained_from_it_is_named():
    tuned = [result("run:1", name, 80, recipe="r") for name in ("MR", "CR")]
    tasks = [task("MR"), task("CR")]
    for known, lacking in (([], ("base",)), (["MR"], ("base",)), (["MR", "CR"], ())):
        rows = models([*tuned, *(result("base", name, 70) for name in known)])
        assert result_table.without_base(rows, rows, tasks) == lacking
    assert result_table.without_base(models([result("other", "MR", 70)]), (), tasks) == ()


def test_seeds_of_one_result_have_a_deviation_too_and_what_is_not_a_number_is_missing():
    one = result("m", "MR", 80, seeds=(1, 2))
    one.measured.table[0, 0] = [80.0, 83.0]
    (row,) = models([one])
    assert str(row.cell(task("MR"))) == "81.50 ± 2.12"
    assert row.cell(task("CR")) is row.cell(task("MR"), measure="macro F1") is None
    assert row.cell(task("MR"), "mean of layer 6") is None
    (row,) = models([result("one", "MR", float("nan"))])
    assert row.cell(task("MR")) is None
    assert row.cell(task("CR")) is None
    assert row.cell(task("MR"), measure="pearson") is None


def test_other_recipes_models_and_revisions_are_other_rows():
    results = [result("run:1", "MR", 80, recipe="r", seed=1), result("run:2", "MR", 81, recipe="s", seed=1),
               result("base", "MR", 70)]  # fmt: skip
    assert set(by_name(results)) == {"simcse on base (run:1)", "simcse on base (run:2)", "base"}
    rows = models([result("m", "MR", 80, revision="abc"), result("m", "MR", 81, revision="def")])
    assert [row.name for row in rows] == ["m (abc)", "m (def)"]


def test_an_average_needs_every_task_of_every_seed():
    rows = by_name([result("one", "MR", 80), result("one", "CR", 90), result("other", "MR", 99)])
    assert rows["one"].average([task("MR"), task("CR")]).mean == 85
    assert rows["other"].average([task("MR"), task("CR")]) is None
    assert rows["one"].average([]) is None
    results = [result("run:1", name, 80, recipe="r", seed=1) for name in ("MR", "CR")]
    (row,) = models([*results, result("run:2", "MR", 82, recipe="r", seed=2)])
    assert row.cell(task("MR")).std is not None
    assert str(row.cell(task("CR"))) == "80.00 (1 of 2 seeds)"
    assert row.cell(task("SUBJ")) is None
    assert row.average([task("MR"), task("CR")]) is None


def test_scores_of_unlike_measures_have_no_average_and_no_rank():
    results = [result(model, name, score) for model, name, score in (("a", "MR", 70), ("b", "MR", 80))]
    searched = [result(model, "NFCorpus", score, measure="nDCG@10") for model, score in (("a", 30), ("b", 20))]
    rows, tasks = models([*results, *searched]), [task("MR"), task("NFCorpus")]
    assert rows[0].average(tasks) is None
    assert list(map(str, result_table.cells(rows, tasks)[0])) == ["model", "MR (accuracy)", "NFCorpus (nDCG@10)"]
    assert ranked(rows, tasks) is None


def test_the_deviation_of_an_average_is_that_of_the_averages():
    scores = {1: (80, 90), 2: (82, 88), 3: (90, 92)}
    results = [
        result(f"run:{seed}", name, score, recipe="r", seed=seed)
        for seed, both in scores.items()
        for name, score in zip(("MR", "CR"), both, strict=True)
    ]
    (row,) = models(results)
    assert row.average([task("MR"), task("CR")]).std == pytest.approx(stdev(map(fmean, scores.values())))


def test_the_best_average_comes_first_and_only_models_with_every_task_are_ranked():
    results = [result(model, name, score) for model, name, score in (("a", "MR", 70), ("a", "CR", 72), ("b", "MR", 80),
                                                                    ("b", "CR", 82), ("c", "MR", 99))]  # fmt: skip
    header, rows = table_formats.shown(*result_table.cells(models(results), [task("MR"), task("CR")]))
    assert header == ["model", "MR (accuracy)", "CR (accuracy)", "average of 2 (accuracy)"]
    assert rows == [["b", "80.00", "82.00", "81.00"], ["a", "70.00", "72.00", "71.00"], ["c", "99.00", "", ""]]
    right, wrong = [1.0] * 90 + [0.0] * 10, [1.0] * 50 + [0.0] * 50
    scored = ("a", "MR", 90, right), ("b", "MR", 50, wrong), ("c", "CR", 10, wrong)
    results = [result(model, name, score, items=items) for model, name, score, items in scored]
    found = ranked(models(results), [task("MR")])
    assert (found.names, found.on_these.letters) == (("a", "b"), ("a", "b"))
    assert ranked(models(results), [task("MR"), task("CR")]) is None


def test_json_has_every_layer_and_pooling():
    (found,) = json.loads(table_formats.as_json([result("m", "MR", 80, layers=(60, float("nan")))]))
    assert found["scores"] == {
        "mean of layer 0": {"accuracy": 60},
        "mean of layer 1": {"accuracy": None},
        "model default": {"accuracy": 80},
    }
    assert (found["model"], found["task"]) == ("m", "MR")


def row_of(tasks, source, base, model):
    (found,) = [row for row in rows_for(tasks) if (row.source, row.base, row.model) == (source, base, model)]
    return found


def test_a_row_has_the_scores_of_the_paper_under_each_name_of_a_task():
    row = row_of(sts.SEVEN, "SG-BERT, Table 1", "BERT-base", "SG-OPT")
    assert (row.scores["STS-B"].value, row.scores["STS-B"].std) == (77.23, 0.43)
    assert (set(row.scores), str(row.cell("STS-B"))) == (set(sts.SEVEN), "77.23 ± 0.43")
    assert any("SST-2" in row.scores for row in rows_for(transfer.TASKS))
    assert rows_for(["moods.csv"]) == ()


def test_every_score_on_a_task_of_a_suite_is_in_a_row():
    tasks = published()
    rows = rows_for(tasks)
    for paper in reference_scores.FOLDER.glob("*.json"):
        stated = json.loads(paper.read_text(encoding="utf-8"))
        for number, table in stated["tables"].items():
            if table.get("kind", "scores") != "scores" or table.get("task"):
                continue
            names = {"".join(filter(str.isalnum, name.lower())) for name in tasks}
            expected = sum("".join(filter(str.isalnum, column.lower())) in names
                           for row in table["rows"] for column in row["scores"])  # fmt: skip
            source = f"{stated['paper']['name']}, Table {number}"
            assert sum(len(row.scores) for row in rows if row.source == source) == expected, source


def test_a_difference_is_under_the_papers_measure():
    (wmean, *_) = [row for row in rows_for(["STS12"]) if row.aggregation == "wmean"]
    assert wmean.measure("STS12") == "spearman wmean"
    assert wmean.measure("STS-B") == "spearman", "it has no sub-corpora that papers average"
    (model,) = models([result("m", "STS12", 70, measure="spearman wmean")])
    assert wmean.difference(model, task("STS12")) == pytest.approx(70 - wmean.scores["STS12"].value)
    (other,) = models([result("m", "STS12", 70, measure="spearman")])
    assert wmean.difference(other, task("STS12")) is None
    assert wmean.difference(model, task("STS13")) is None


def test_what_differs_names_both_sides():
    rows = [row for row in rows_for(["MR"]) if row.source == "SG-BERT, Table 4"]
    mr = task("MR", probe=LOGISTIC)
    (model,) = models([result("mine", "MR", 80, of=mr)])
    told = " ".join(what_differs(rows, model, [mr], "mean of layer 6"))
    for words in ("BERT-base", "mine", "mean of layer 6", "classifier: SentEval's MLP, here logistic regression"):
        assert words in told


@pytest.mark.parametrize(("kind", "name", "setting"), [("transfer", "MR", "probe"), ("sts", "STS12", "text")])
def test_what_is_as_in_the_papers_is_no_difference(kind, name, setting):
    same, other = task(name, kind=kind, **{setting: "senteval"}), task(name, kind=kind, **{setting: "another"})
    models_of = [models([result("mine", name, 80, of=one)])[0] for one in (same, other)]
    rows = rows_for([name])
    differs = [len(what_differs(rows, model, [same, other], "model default")) for model in models_of]
    assert differs[1] == differs[0] + 1


def test_figures_without_a_named_metric_are_under_glues_measures():
    tasks = ["GLUE CoLA", "GLUE SST-2"]
    row = row_of(tasks, "SG-BERT, Table 10", "BERT-base", "No tuning")
    assert {name: row.cell(name).mean for name in tasks} == {"GLUE CoLA": 56.63, "GLUE SST-2": 91.08}
    assert [row.measure(name) for name in tasks] == ["Matthews", "accuracy"]
    (model,) = models([result("mine", "GLUE CoLA", 60, measure="Matthews")])
    assert row.difference(model, task("GLUE CoLA")) == pytest.approx(60 - 56.63)
    assert "not named in the paper" in " ".join(what_differs([row], model, [task("GLUE CoLA")], "model default"))


def whole():
    items = Items(
        np.array([0.5, np.nan, 1.0]), np.array([1.0, 2.0, 5.0]), ("news", "news", "forum"), "abcdef0123456789"
    )
    table = np.array([[[70.0, 71.0], [60.0, np.nan]], [[80.0, 81.5], [62.0, 63.0]]])
    measured = Measured(
        "test", ("mean of layer 0", "model default"), ("spearman", "pearson"), table, (1, 2),
        {"text": "raw", "max_length": 256, "folds": None}, items, 12.5,
    )  # fmt: skip
    model = ScoredModel("org/model", "abc123", "f" * 64, Origin("simcse", "base", "r1", 3))
    return Result(model, task("STS-B", kind="sts", text="raw", max_length=None, seeds="1, 2"), measured)


def test_what_is_written_is_read_again(tmp_path):
    before = whole()
    path = result_files.write(before, tmp_path)
    assert path == tmp_path / "org__model" / "abc123" / "experiments" / before.key[:16] / "STS-B.json"
    (after,) = result_files.read_all(tmp_path)[0]
    assert (after.model, after.task, after.key) == (before.model, before.task, before.key)
    assert (after.task.name, after.task.folder) == (before.task.name, before.task.folder)
    one, other = before.measured, after.measured
    for name in ("split", "titles", "measures", "seeds", "setting", "seconds"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal(one.table, other.table, equal_nan=True)
    assert np.array_equal(one.items.values, other.items.values, equal_nan=True)
    assert np.array_equal(one.items.gold, other.items.gold)
    assert (one.items.parts, one.items.digest) == (other.items.parts, other.items.digest)


def test_a_file_holds_what_mteb_wants(tmp_path):
    content = json.loads(result_files.write(whole(), tmp_path).read_text())
    assert content["task_name"] == "STSBenchmark"
    (score,) = content["scores"]["test"]
    assert score["main_score"] == pytest.approx((80.0 + 81.5) / 200)
    assert score["main_score"] == score["spearman"]
    assert (score["hf_subset"], score["languages"]) == ("default", ["eng-Latn"])
    assert set(content) >= {"dataset_revision", "mteb_version", "evaluation_time", "kg_co2_emissions"}
    meta = json.loads((tmp_path / "org__model" / "abc123" / "model_meta.json").read_text())
    assert meta == {"name": "org/model", "revision": "abc123"}
    content = json.loads(result_files.write(result("m", "SICK-R", 80), tmp_path).read_text())
    assert (content["task_name"], content["strata"]["task"]["name"]) == ("SICK-R", "SICK-R")


BROKEN = [
    lambda text: text[: len(text) // 2],
    lambda text: text.replace('"titles": [', '"titles": ["one more", '),
    lambda text: text.replace('"table": [[[', '"table": [[["x", '),
    lambda text: text.replace('"table": [[[70.0, 71.0], ', '"table": [[[70.0], '),
    lambda text: text.replace('"data": "', '"data": 1, "was": "'),
    lambda text: "[" * 50_000,
    lambda text: text.replace("70.0", "9" * 400),
    lambda text: text.replace("70.0", "9" * 5000),
]


@pytest.mark.parametrize("damage", BROKEN)
def test_a_broken_file_is_left_out_and_named(tmp_path, damage):
    path = result_files.write(whole(), tmp_path)
    text = path.read_text()
    path.write_text(damage(text))
    assert path.read_text() != text
    assert result_files.read_all(tmp_path) == ((), (path,))


def test_a_file_that_may_not_be_read_is_named_and_items_that_do_not_fit_are_left_out(tmp_path):
    path = result_files.write(whole(), tmp_path)
    path.write_text(path.read_text().replace('"gold": [1.0, ', '"gold": ['))
    (found,) = result_files.read_all(tmp_path)[0]
    assert found.measured.items is None
    assert found.measured.score("model default") == 80.75
    path = result_files.write(whole(), tmp_path)
    path.unlink()
    path.mkdir()
    assert result_files.read_all(tmp_path)[1] == (path,)


@pytest.mark.parametrize("text", ["[]", "{}", '{"task_name": "STS12", "scores": {}}'])
def test_a_file_of_others_is_left_out(tmp_path, text):
    result_files.write(whole(), tmp_path).write_text(text)
    assert result_files.read_all(tmp_path) == ((), ())


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a\\b", "run:x@step-1", "x" * 400, ".hidden"]
)
def test_a_name_is_no_path(tmp_path, name):
    path = result_files.write(result(name, name, 50), tmp_path / "home")
    assert path.resolve().is_relative_to(tmp_path / "home")
    assert len(path.relative_to(tmp_path / "home").parts) == 5
    (found,) = result_files.read_all(tmp_path / "home")[0]
    assert found.model.name == name


SETTINGS = {"text": "raw", "max_length": None, "precision": "float32", "device": "cpu"}


def test_mteb_finds_a_published_task_under_the_usual_settings_where_it_looks(tmp_path):
    usual = result("m", "STS12", 70, of=task("STS12", kind="sts", **SETTINGS))
    cut = result("m", "STS12", 60, of=task("STS12", kind="sts", **SETTINGS | {"max_length": 4}))
    for one in (usual, cut, result("m", "test.tsv", 50, of=task("test.tsv", kind="sts", folder="data", **SETTINGS))):
        result_files.write(one, tmp_path)
    (seen,) = (path for path in tmp_path.glob("*/*/*.json") if path.name != META)
    assert seen.name == "STS12.json"
    assert json.loads(seen.read_text())["scores"]["test"][0]["main_score"] == 0.7
    assert len(result_files.read_all(tmp_path)[0]) == 3
    assert all((path.parent / META).is_file() for path in tmp_path.rglob("*.json"))


def test_names_of_other_characters_have_paths_of_their_own(tmp_path):
    names = ["тест.tsv", "план.tsv", "试验.tsv", "a" * 200, "a" * 201, "x?.tsv", "x*.tsv"]
    same = task("the same", data="d")
    paths = {result_files.write(result(name, "", 50, of=same), tmp_path) for name in names}
    paths |= {result_files.write(result("m", "", 50, of=task(name, data=name)), tmp_path) for name in names}
    assert len(paths) == 2 * len(names)
    assert len({path.parents[3].name for path in paths}) == len(names) + 1
    assert len({path.name for path in paths}) == len(names) + 1
    assert len(result_files.read_all(tmp_path)[0]) == 2 * len(names)


def test_a_variable_names_the_folder_and_the_archive_has_every_file(tmp_path, monkeypatch):
    path = result_files.write(whole(), tmp_path)
    with zipfile.ZipFile(io.BytesIO(result_files.zipped(tmp_path))) as archive:
        files = [found for found in tmp_path.rglob("*") if found.is_file()]
        assert path in files
        assert set(archive.namelist()) == {f"results/{found.relative_to(tmp_path)}" for found in files}
        assert all(archive.read(f"results/{found.relative_to(tmp_path)}") == found.read_bytes() for found in files)
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "elsewhere"))
    assert result_files.write(result("m", "MR", 80)).is_relative_to(tmp_path / "elsewhere")
    assert len(result_files.read_all()[0]) == 1


def test_models_of_one_name_are_told_apart_by_their_folders_and_by_a_digest_only_if_these_are_the_same():
    def named(*of):
        made = [ScoredModel("tiny", f"local-{digest}", digest, folder=folder) for folder, digest in of]
        return sorted(row.name for row in models([Result(one, task("MR"), measured(70)) for one in made]))

    assert named(("work/a", "1" * 64), ("work/b", "2" * 64)) == ["tiny (work/a)", "tiny (work/b)"]
    assert named(("work/a", "1" * 64)) == ["tiny"]
    same = named(("work/a", "1" * 64), ("work/a", "2" * 64))
    assert same == ["tiny (local-11111111)", "tiny (local-22222222)"], "the model was changed"


def test_a_row_of_a_plan_is_called_by_it_with_its_method_and_seed():
    def named(row, *seeds):
        origin = Origin("simcse", "base", "r", row=row)
        made = [ScoredModel(f"run:{seed}", "", f"{seed}" * 64, replace(origin, seed=seed)) for seed in seeds]
        return [one.name for one in models([Result(one, task("MR"), measured(70)) for one in made])]

    assert named("CLS_All attention", 1) == ["CLS_All attention, simcse on base, seed 1"]
    assert named("CLS_All attention", 1, 2) == ["CLS_All attention, simcse on base, mean of 2 seeds"]
    assert named("simcse (temperature 0.1)", 3) == ["simcse (temperature 0.1) on base, seed 3"]
    assert named("", 3) == ["simcse on base"]
