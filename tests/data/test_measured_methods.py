"""Test that the menu's figures are those of the table in the documentation, and of methods that exist."""

import json
import re

import pytest

from explorer import methods
from explorer.data import measured_methods
from explorer.studies.plans import plan_file
from tests.live import ROOT


@pytest.fixture(scope="module")
def rows():
    return json.loads(measured_methods.TABLE.read_text(encoding="utf-8"))["rows"]


def test_every_row_is_of_its_plan_and_named_after_its_method(rows):
    plan = plan_file.read(measured_methods.TABLE.with_suffix(".yaml"))
    labels = [", ".join(filter(None, (row["method"], row["setting"]))) for row in rows]
    assert labels == [variant.label for variant in plan.variants]
    assert [row["method"] for row in rows] == [variant.method for variant in plan.variants]
    assert {row["method"] for row in rows} <= {*methods.names()}


def test_every_run_of_the_table_is_finished(rows):
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
    told = measured_methods.advice("simcse", "Often.")
    assert told.startswith("When to use: Often. Measured: ")
    for row in own:
        setting, (mean, std) = row["setting"], row["test"]
        spread = "" if std is None else f" ± {std:.2f}"
        assert f"{setting} {row['before'][0]:.2f} → {mean:.2f}{spread}" in told
    assert measured_methods.advice("classify", "Seldom.") == "When to use: Seldom."
    assert measured_methods.advice("simcse", "") == ""
    assert "scores 82.03." in measured_methods.source()


def test_every_method_says_when_to_use_it():
    for name in methods.names():
        when = methods.load(name).when_to_use
        assert re.fullmatch(r"[A-Z\[].{20,200}\.", when), when
