"""Test scores to compare with: consistent with what the papers print, and with the table in the documentation."""

import fnmatch
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from explorer import methods
from explorer.data import reference_scores
from explorer.data.graded.published_sets import SETS
from explorer.data.reference_scores import AGGREGATED, FOLDER, find_table, tables
from explorer.errors import BadChoice
from explorer.methods import papers
from explorer.studies.plans import plan_file
from tests.live import ROOT

SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
ROUNDED = 0.01 + 1e-9  # a mean of numbers with two decimals is up to 0.005 off, and so is its printed value
# rows and printed numbers (values, deviations, differences) of every table, counted in the papers
COUNTS = {
    ("SG-BERT", "1"): (30, 352), ("SG-BERT", "2"): (7, 7), ("SG-BERT", "3"): (8, 24), ("SG-BERT", "4"): (9, 72),
    ("SG-BERT", "5"): (10, 18), ("SG-BERT", "6"): (4, 6), ("SG-BERT", "7"): (3, 48), ("SG-BERT", "10"): (2, 20),
    ("SG-BERT", "11"): (12, 144), ("ConIsI", "2"): (4, 29), ("ConIsI", "4"): (19, 152), ("ConIsI", "5"): (4, 7),
    ("ConIsI", "6"): (8, 8), ("ConIsI", "7"): (10, 10), ("LayerAttPooler", "1"): (24, 192),
    ("LayerAttPooler", "2"): (9, 9), ("LayerAttPooler", "3"): (6, 18), ("LayerAttPooler", "5"): (2, 2),
}  # fmt: skip


def table(paper, number):
    return next(one for one in tables() if (one.paper, one.number) == (paper, number))


def figures(task):
    """The table, the row, the measure, the score and the aggregation of every figure of a task."""
    for one in tables():
        for row in one.rows if one.kind == "scores" else ():
            for column, score in row.scores.items():
                if (one.task or column) == task and score.value is not None:
                    averaged = (row.aggregation or one.aggregation) if column in AGGREGATED else None
                    yield one, row, one.metric or column, score, averaged


def anomaly(one, row, column):
    """The known error of a cell, if any."""
    identity = {"model": row.model, "base": row.base, "pooling": row.pooling}
    of_row = [known for known in one.anomalies if known["row"].items() <= identity.items()]
    return next((known for known in of_row if known["column"] == column), None)


def test_every_table_has_its_rows_and_numbers_and_every_anomaly_is_of_a_row():
    found = {}
    for one in tables():
        scores = [score for row in one.rows for score in row.scores.values()]
        numbers = sum((score.value is not None) + (score.std is not None) + len(score.delta) for score in scores)
        found[one.paper, one.number] = len(one.rows), numbers
    assert found == COUNTS
    assert list(found) == list(COUNTS), "by paper and number"
    for one in tables():
        for known in one.anomalies:
            same = [row for row in one.rows if all(getattr(row, key) == value for key, value in known["row"].items())]
            assert len(same) == 1
            assert known["column"] == "all" or known["column"] in same[0].scores


@pytest.mark.parametrize(("column", "over"), [("STS average", SEVEN), ("transfer average", TRANSFER)])
def test_printed_averages_are_those_of_their_rows_but_for_the_known_errors(column, over):
    checked, wrong = 0, []
    for one in tables():
        for row in one.rows:
            if column in row.scores and len(row.scores) > 1:
                mean = np.mean([row.scores[task].value for task in over])
                checked += 1
                known = anomaly(one, row, column)
                if known:
                    assert known.get("recomputed") == pytest.approx(mean, abs=5e-5)
                    assert known.get("printed") == row.scores[column].value
                if abs(mean - row.scores[column].value) > ROUNDED:
                    wrong.append((one.paper, one.number, row.model, row.base))
    assert checked == {"STS average": 88, "transfer average": 9}[column]
    listed = [
        (one.paper, one.number, known["row"]["model"], known["row"]["base"])
        for one in tables()
        for known in one.anomalies
        if known["column"] == column
    ]
    assert wrong == listed
    assert len(listed) == {"STS average": 2, "transfer average": 0}[column]


def test_printed_differences_are_those_of_the_printed_scores():
    checked = 0
    for one in tables():
        for row in one.rows:
            for column, score in row.scores.items():
                for other, delta in score.delta.items():
                    reference = next(of for of in one.rows if of.model == other).scores[column].value
                    assert score.value - reference == pytest.approx(delta, abs=1e-9), (one.number, row.label)
                    checked += 1
    assert checked == 11


def test_rows_that_are_in_two_tables_are_equal_and_their_deviations_are_listed_as_an_error():
    for model in ("BT", "SG-OPT"):
        of_1, of_7 = (
            next(
                row.scores
                for row in find_table("SG-BERT", number).rows
                if (row.model, row.base) == (model, "BERT-base")
            )
            for number in "17"
        )
        assert of_1 == of_7
    cited = next(row for row in find_table("ConIsI", "4").rows if row.model == "SG-OPT")
    own = next(row for row in find_table("SG-BERT", "1").rows if (row.model, row.base) == ("SG-OPT", "BERT-base"))
    of_row = [{task: score.value for task, score in row.scores.items()} for row in (cited, own)]
    assert of_row[0] == of_row[1]
    of = {
        number: next(row for row in find_table("SG-BERT", number).rows if (row.model, row.base) == ("BT", base))
        for number, base in (("1", "SBERT-large"), ("11", "RoBERTa-large"))
    }
    deviations = [[row.scores[task].std for task in SEVEN] for row in of.values()]
    assert deviations[0] == deviations[1]
    for number, row in of.items():
        assert anomaly(table("SG-BERT", number), row, "all")


def test_published_sizes_are_those_of_the_sets_but_for_the_known_misprint():
    one = table("ConIsI", "2")
    sizes = {(known.name, split.name): split.rows for known in SETS for split in known.splits}
    wrong = []
    for row in one.rows[:3]:
        for name, score in row.scores.items():
            split = row.model.partition(" ")[0]
            if score.value != sizes.get((name, split), 0):
                wrong.append((row.model, name, score.value, sizes[name, split]))
    assert wrong == [("train pairs", "STS-B", 5479, 5749)]
    (known,) = one.anomalies
    assert (known["row"]["model"], known["column"], known.get("printed"), known.get("recomputed")) == wrong[0]
    assert one.rows[3].scores["total"].value == sum(one.rows[3].scores[name].value for name in SEVEN)


@pytest.mark.parametrize(
    ("task", "paper", "model", "base", "value", "std", "aggregation"),
    [
        ("STS12", "SG-BERT", "SG-OPT", "BERT-base", 66.84, 0.73, "all"),
        ("STS12", "SG-BERT", "SG-OPT", "BERT-large", 67.02, 0.72, "all"),
        ("STS16", "SG-BERT", "Flow", "SBERT-base", 78.94, None, "wmean"),
        ("STS-B", "SG-BERT", "SG-OPT", "BERT-base", 77.23, 0.43, None),
        ("STS average", "SG-BERT", "SG-OPT (τ 0.1, λ 0.1)", "BERT-base", 70.39, None, "all"),
        ("STS14", "SG-BERT", "GloVe", None, 59.73, None, "all"),
        ("STS13", "ConIsI", "ConIsI-s", "RoBERTa-base", 83.31, None, "all"),
        ("STS17", "SG-BERT", "Cosine baseline", None, 72.78, None, None),
        ("MRPC", "SG-BERT", "SG-OPT", "BERT-large", 73.31, None, None),
        ("GLUE MRPC", "SG-BERT", "SG-OPT", "BERT-base", 86.96, 1.11, None),
    ],
)
def test_a_figure_is_as_printed(task, paper, model, base, value, std, aggregation):
    assert (paper, model, base, value, std, aggregation) in [
        (one.paper, row.label, row.base, score.value, score.std, averaged)
        for one, row, _, score, averaged in figures(task)
    ]


def test_measures_and_aggregations_are_those_of_the_table_but_for_the_rows_of_others():
    found = [
        (row.reported_by == "Gao et al. 2021", averaged)
        for one, row, _, _, averaged in figures("STS15")
        if one.paper == "LayerAttPooler"
    ]
    assert set(found) == {(True, "all"), (False, "wmean")}
    assert len(found) == 24
    found = [(name, score.value) for _, row, name, score, _ in figures("Quora search") if row.base == "RoBERTa-large"]
    assert found == [
        ("MRR@10", 65.85), ("ms per query", 2.22), ("memory GB", 0.33), ("MRR@10", 66.32), ("ms per query", 2.21),
        ("memory GB", 0.33),
    ]  # fmt: skip


def test_missing_numbers_and_counts_are_no_figures_and_an_unknown_table_is_refused():
    times = [measure for _, _, measure, _, _ in figures("efficiency on STS-B")]
    assert (times.count("training seconds"), times.count("inference seconds")) == (2, 4)
    assert all(score.value < 101 for _, _, _, score, _ in figures("STS16"))
    assert not any(figures("total"))
    assert all(any(figures(task)) for task in (*SEVEN, *TRANSFER, "STS average", "STS-B dev", "SemEval-2014 Spanish"))
    with pytest.raises(BadChoice, match=r"no table '8' of 'SG-BERT'.*SG-BERT 11.*LayerAttPooler 5"):
        find_table("SG-BERT", "8")


def test_papers_are_those_of_the_methods():
    known = {paper.title: paper for paper in papers().values()}
    for file in FOLDER.glob("*.json"):
        paper = json.loads(file.read_text(encoding="utf-8"))["paper"]
        method = known[paper["title"]]
        assert (paper["authors"], paper["year"], paper["url"]) == (method.authors, method.year, method.link)
        assert method.line.startswith(f"{paper['authors']} {paper['year']}")


def test_the_files_are_installed_with_the_package():
    root = Path(reference_scores.__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["explorer.data"]
    files = [path.relative_to(FOLDER.parent).as_posix() for path in FOLDER.iterdir()]
    assert len(files) == 3
    assert all(any(fnmatch.fnmatch(file, pattern) for pattern in patterns) for file in files)


@pytest.fixture(scope="module")
def rows():
    return json.loads(reference_scores.MEASURED.read_text(encoding="utf-8"))["rows"]


def test_every_row_is_of_its_plan_finished_and_named_after_its_method(rows):
    plan = plan_file.read(reference_scores.MEASURED.with_suffix(".yaml"))
    labels = [", ".join(filter(None, (row["method"], row["setting"]))) for row in rows]
    assert labels == [variant.label for variant in plan.variants]
    assert [row["method"] for row in rows] == [variant.method for variant in plan.variants]
    assert {row["method"] for row in rows} <= {*methods.names()}
    assert {run["state"] for row in rows for run in row["runs"]} == {"finished"}


def test_the_documentation_has_each_row_with_the_same_scores(rows):
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    table = text.partition("## Every method, 200 updates of 16 rows")[2].partition("\n## ")[0]
    found = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("|")}
    for row in rows:
        method, setting = row["method"], row["setting"]
        line = found[f"`{method}`, {setting}" if setting else f"`{method}`"]
        (mean, std), (gap, low, high) = row["test"], row["difference"]
        assert f"| {mean:.2f} |" in line if std is None else f"| {mean:.2f} ± {std:.2f} |" in line
        assert f"| {gap:+.2f} ({low:.2f} to {high:.2f}) |" in line


def test_a_method_is_told_with_its_scores_before_and_after(rows):
    own = [row for row in rows if row["method"] == "simcse"]
    told = reference_scores.advice("simcse", "Often.")
    assert told.startswith("When to use: Often. Measured: ")
    for row in own:
        setting, (mean, std) = row["setting"], row["test"]
        spread = "" if std is None else f" ± {std:.2f}"
        assert f"{setting} {row['before'][0]:.2f} → {mean:.2f}{spread}" in told
    assert reference_scores.advice("classify", "Seldom.") == "When to use: Seldom."
    assert reference_scores.advice("simcse", "") == ""
    assert "scores 82.03." in reference_scores.measured_source()


def test_every_method_says_when_to_use_it():
    for name in methods.names():
        when = methods.load(name).when_to_use
        assert re.fullmatch(r"[A-Z\[].{20,200}\.", when), when
