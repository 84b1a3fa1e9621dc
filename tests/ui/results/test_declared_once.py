"""Test that a setting which is declared once is a flag, a field, a key and a line of the docs."""

from dataclasses import dataclass

import pytest

from explorer.__main__ import main
from explorer.evaluating.results import scored_task
from explorer.evaluating.results.scored_task import EVALUATED, Options
from explorer.knobs import knob
from explorer.ui.results import evaluate_form
from explorer.ui.widgets import controls
from tests.flags_page import page
from tests.ui.results.test_results_page import opened


@dataclass(frozen=True)
class WithCasing(Options):
    """The options of an evaluation with a setting that Strata does not have."""

    casing: str = knob("kept", choices=("kept", "lower"), title="Casing", help="lower: every letter is a small one.")


@pytest.fixture
def casing(monkeypatch):
    monkeypatch.setattr(scored_task, "Options", WithCasing)  # which command and form ask


def test_it_is_a_flag_with_help_and_a_line_of_the_page_of_flags(casing, capsys):
    about = "--casing {kept,lower} Casing. lower: every letter is a small one (default: kept)"
    assert main(["evaluate", "--help"]) == 0
    assert about in " ".join(capsys.readouterr().out.split())
    assert about in page().replace("`", "").replace(" |", "")


def test_a_value_that_is_not_allowed_is_refused_in_one_line(casing, capsys):
    assert main(["evaluate", "all-MiniLM-L6-v2", "--casing", "upper"]) == 1
    assert capsys.readouterr().err == (
        "--casing cannot be 'upper'. Choose one of kept, lower (default kept). lower: every letter is a small one.\n"
    )


def test_it_is_a_field_whose_value_reaches_the_evaluation(casing, app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    opened(app, tab="Evaluate models")
    field = app.radio(key=controls.key_of(evaluate_form.FORM, "casing"))
    assert (field.label, field.options, field.value) == ("Casing", ["kept", "lower"], "kept")
    assert field.help == "lower: every letter is a small one."
    choice = evaluate_form.EvaluationChoice(("bag-of-words",), ("STS12",), {"casing": "lower"})
    assert choice.checked([]).options.casing == "lower"


def test_it_is_a_setting_that_results_are_filed_under(casing):
    assert scored_task.stated(WithCasing(casing="lower"), EVALUATED)["casing"] == "lower"
    assert scored_task.stated(WithCasing(), EVALUATED) != scored_task.stated(WithCasing(casing="lower"), EVALUATED)


def test_the_form_has_every_setting_as_it_is_declared(app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    opened(app, tab="Evaluate models")
    kinds = (app.radio, app.text_input, app.selectbox, app.number_input, app.toggle)
    fields = {drawn.key: drawn for kind in kinds for drawn in kind}
    for name, one in evaluate_form.fields().items():
        field = fields[controls.key_of(evaluate_form.FORM, name)]
        assert field.label == one.label
        assert one.help in field.help
