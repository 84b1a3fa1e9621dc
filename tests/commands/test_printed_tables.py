"""Test every table that a command prints: its CSV by pandas, its LaTeX by a strict reader and by engines."""

import io
import shutil
from contextlib import redirect_stdout

import pandas
import pytest

from explorer.__main__ import main
from explorer.evaluating.results.table_formats import OF_NUMBERS
from explorer.studies.gallery import read_report
from explorer.studies.size import picture
from tests.evaluating.results_by_hand import write_set
from tests.evaluating.test_table_formats import compiled
from tests.latex import read
from tests.tiny_models import save_tiny

NUMERIC = ("mean", "sd", "low", "high", "n")
PLAN = """\
methods: [simcse]
models: [{model}]
data: [{text}]
settings: {{batch_size: 4, steps: 2, max_length: 16, keep_base: false}}
grid: {{temperature: [0.05, 0.1]}}
seeds: [1, 2]
dev: {dev}
test: {test}
elsewhere: [Sample search]
tasks: [STS17]
"""


@pytest.fixture(scope="module")
def desk(place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    for name, kind in (("one_model", "bert"), ("other & more", "roberta")):
        save_tiny(kind, folder / name)
    write_set(folder / "data", "STS17_en/test.tsv", 250)
    write_set(folder, "50 % α→β_é.tsv", 40, "so {}")
    stated = {name: getattr(place, name) for name in ("model", "text", "dev", "test")}
    (folder / "both.yaml").write_text(PLAN.format(**stated), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_RESULTS", str(folder / "results"))
        patch.setenv("STRATA_DATA", str(folder / "data"))
        patch.setattr(picture, "ROUNDS", 1)  # how often it is timed, not how fast it is
        patch.setattr(picture, "TEXTS", 8)
        yield folder


@pytest.fixture(scope="module")
def printed(desk, place):
    """The tables of each command by their form."""
    models, task = (desk / "one_model", desk / "other & more"), desk / "50 % α→β_é.tsv"
    plan = "plan", desk / "both.yaml"
    commands = {
        "evaluate": ("evaluate", *models, "--task", "STS17", "--task", task),
        "plan": (*plan, "--table", "--report", desk / "plan.html"),
        "reproduce": ("reproduce", "sg-bert-7", "--model", models[0], "--data", place.text, "--table"),
        "shrink": (
            "shrink",
            models[0],
            "--on",
            task,
            "--dimensions",
            "8",
            "--stored",
            "float32",
            "--report",
            desk / "sizes.html",
        ),
    }
    said(*plan, "--csv")
    return {form: {name: said(*words, f"--{form}") for name, words in commands.items()} for form in ("csv", "latex")}


def said(*words):
    out = io.StringIO()
    with redirect_stdout(out):
        code = main([str(word) for word in words])
    assert code == 0
    return out.getvalue()


@pytest.mark.parametrize("command", ["evaluate", "plan", "reproduce", "shrink"])
def test_pandas_reads_each_number_of_a_csv_with_its_measure_and_nothing_else_in_its_column(printed, command):
    found = pandas.read_csv(io.StringIO(printed["csv"][command]))
    texts = [name for name in found.columns if name not in NUMERIC]
    assert list(found.columns[-len(OF_NUMBERS) :]) == list(OF_NUMBERS)
    assert len(found) > 3
    assert all(found[name].dtype.kind in "if" for name in NUMERIC)
    assert found["mean"].notna().all(), "a number that is missing has no line"
    published = found["column"].str.endswith("published")
    assert (found["n"] >= 1)[~published].all()
    assert found["n"][published].isna().all(), "how many trainings a printed mean is of is not known"
    scores = found[~found["column"].str.contains("second|memory|seed|bytes|weights|query|sentences/s")]
    assert set(scores["measure"]) <= {"Spearman", "nDCG@10"}
    assert (found["sd"].notna() <= (published | (found["n"] > 1))).all(), "a deviation is one of several seeds"
    ends = found.dropna(subset=["low", "high"])
    assert ((ends["low"] <= ends["mean"]) & (ends["mean"] <= ends["high"])).all()
    assert not [text for name in texts for text in found[name].dropna().astype(str) if "…" in text or ". " in text]


def test_the_csv_of_a_plan_and_of_an_evaluation_has_every_set_with_its_interval_and_seeds(printed):
    plan = pandas.read_csv(io.StringIO(printed["csv"]["plan"])).set_index(["row", "column"])
    assert plan.loc[("temperature 0.05", "test"), "n"] == 2
    assert plan.loc[("temperature 0.05", "STS17"), "sd"] > 0
    (elsewhere,) = plan.xs("elsewhere, difference to the base", level="column").groupby("set")
    assert "Sample search" in elsewhere[0]
    assert set(elsewhere[1]["measure"]) == {"nDCG@10"}
    evaluated = pandas.read_csv(io.StringIO(printed["csv"]["evaluate"]))
    assert set(evaluated["column"]) == {"STS17", "50 % α→β_é.tsv", "average of 2"}
    assert set(evaluated["model"]) == {"one_model", "other & more"}
    assert evaluated[evaluated["column"] == "STS17"]["low"].notna().all()


def test_the_scores_of_all_layers_are_numbers_in_columns_named_by_their_measure(desk):
    found = pandas.read_csv(io.StringIO(said("score", desk / "one_model", "--csv")))
    assert {"spearman", "pearson"} < set(found.columns)
    texts = {"layer & pooling", "layer", "pooling"}  # a layer may be several, `0+6`
    assert all(found[name].dtype.kind in "if" for name in found.columns if name not in texts)
    assert len(found) > 5


@pytest.mark.parametrize("command", ["evaluate", "plan", "reproduce", "shrink"])
def test_latex_has_each_cell_in_its_column_and_no_sign_that_an_engine_stops_at(printed, command):
    text = printed["latex"][command]
    titles, rows, *_ = read(text)
    assert {len(row) for row in rows} == {len(titles)}
    assert len(rows) > 1
    assert all(line.isascii() for line in text.splitlines() if not line.startswith("%"))
    names = {cell for row in rows for cell in (row[0], *titles)}
    if command == "evaluate":
        assert {"one_model", "other & more", "50 % α→β_é.tsv (Spearman)"} <= names
    if command == "reproduce":
        assert "[1]" in {row[-1] for row in rows}


@pytest.mark.parametrize(
    ("report", "verdict", "figures"), [("plan.html", "temperature 0", 1), ("sizes.html", "smalle", 4)]
)
def test_the_report_of_a_plan_and_of_sizes_opens_with_its_verdict_and_is_one_that_a_gallery_takes(
    report, verdict, figures, printed, desk
):
    found = read_report(desk / report)
    assert verdict in found.sentence
    assert found.content.count(b"data-beside=") == figures
    assert b"model default" in found.content


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_an_engine_compiles_the_tables_of_every_command(engine, printed, tmp_path):
    if shutil.which(engine) is None:
        pytest.skip(f"no {engine} on the PATH")
    assert compiled(engine, tmp_path, list(printed["latex"].values())).stat().st_size > 1000
