"""The Compare page and the two sides of the sidebar, without a browser."""

import io
import json
from contextlib import redirect_stdout
from unittest import mock

import pytest

from explorer.__main__ import main
from explorer.measuring.geometry_tables import MEASURES
from tests import trainings
from tests.visits import cards, measured


@pytest.fixture(scope="module")
def run(place):
    return trainings.train(trainings.new(place, "simcse", name="tuned", settings={"steps": 2}))


@pytest.fixture
def app(furnished, run):
    furnished.switch_page("pages/compare.py")
    furnished.query_params["sts"] = "Sample pairs"
    return furnished


def test_without_b_the_runs_there_are_stand_a_click_away(app):
    app.run()
    assert "Beside it" in app.info[0].value
    (button,) = (one for one in app.button if one.label.replace("\\", "") == "Compare with run:tuned")
    button.click()
    measured(app)
    assert app.selectbox(key="beside").value == "run:tuned"
    assert not app.exception
    assert {"A", "B", "B - A"} <= set(cards(app))


def test_an_address_says_a_and_b_and_their_readings(app):
    app.query_params["beside"] = "run:tuned"
    app.query_params["reading"], app.query_params["beside_reading"] = "cls of layer 1", "max of layer 2"
    measured(app)
    assert not app.exception
    assert [card.delta for card in app.metric][:2] == ["cls of layer 1", "max of layer 2"]
    assert len(app.get("plotly_chart")) == 5


def test_a_and_b_change_places_with_one_key(app):
    app.query_params["beside"] = "run:tuned"
    app.query_params["reading"], app.query_params["beside_reading"] = "cls of layer 1", "max of layer 2"
    measured(app)
    before = cards(app)
    (button,) = (one for one in app.button if one.label == "Exchange A and B")
    button.click()
    measured(app)
    after = cards(app)
    assert app.selectbox(key="model").value == "run:tuned"
    assert (after["A"], after["B"]) == (before["B"], before["A"])
    assert [card.delta for card in app.metric][:2] == ["max of layer 2", "cls of layer 1"]


def test_an_encoder_beside_itself_has_changed_nothing(app, place):
    app.query_params["beside"] = str(place.folder / "." / "tiny" / ".." / "tiny")
    measured(app)
    assert cards(app)["B - A"] == "+0.00 (+0.00 to +0.00)"


def test_geometry_and_drift_are_looked_at_when_asked_for(app, place):
    app.query_params["sts"] = str(place.test)
    app.query_params["beside"], app.query_params["compared_pooling"] = "run:tuned", "max"
    measured(app)
    assert len(app.get("plotly_chart")) == 5, "until then the page does not wait for it"
    app.toggle(key="geometry").set_value(True)
    with mock.patch("explorer.ui.vectors._MOMENT", 0):
        app.run()
    assert not app.exception
    assert not [one for one in app.button if one.label == "Make the report (HTML)"], (
        "it is under way, and once is enough"
    )
    measured(app)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 5 + len(MEASURES) + 2
    numbers = told_by_the_command(place, "--geometry", "--pooling", "max")
    assert numbers["geometry"]["layers"] in shown(app)
    assert numbers["geometry"]["drift"] in shown(app)


def test_the_table_and_the_report_hold_the_numbers_of_the_command(app, place):
    app.query_params["sts"] = str(place.test)
    app.query_params["beside"] = "run:tuned"
    measured(app)
    numbers = told_by_the_command(place, "--geometry")
    assert shown(app)[-1] == numbers["cells"]
    assert cards(app)["A"] == f"{numbers['chosen']['A']:.2f}"
    assert not [one for one in app.get("download_button") if one.proto.label == "Report (HTML)"]
    (button,) = (one for one in app.button if one.label == "Make the report (HTML)")
    button.click()
    measured(app)
    assert [one for one in app.get("download_button") if one.proto.label == "Report (HTML)"]
    assert not app.exception


def told_by_the_command(place, *flags):
    """The JSON of the same comparison on the command line."""
    told = io.StringIO()
    with redirect_stdout(told):
        assert main(["compare", str(place.model), "run:tuned", "--sts", str(place.test), "--json", *flags]) == 0
    return json.loads(told.getvalue())


def shown(app):
    """The tables of the page, as rows; a missing number is None."""
    frames = [table.value for table in app.dataframe]
    return [frame.astype(object).where(frame.notna(), None).to_dict("records") for frame in frames]


@pytest.mark.parametrize(("pictures", "kept"), [("PNG", "png"), ("SVG", "svg"), ("<b>", "svg")])
def test_cameras_keep_what_was_chosen(app, pictures, kept):
    app.query_params["beside"], app.query_params["pictures"] = "run:tuned", pictures
    measured(app)
    assert not app.exception
    options = [json.loads(chart.proto.config)["toImageButtonOptions"] for chart in app.get("plotly_chart")]
    assert {one["format"] for one in options} == {kept}
    assert len({one["filename"] for one in options}) == len(options) == 5


def test_pairs_that_flipped_can_be_filtered_down_to_none(app):
    app.query_params["beside"] = "run:tuned"
    app.query_params["flips"] = "still wrong"
    measured(app)
    assert not app.exception
    app.number_input(key="flips words").set_value(500)
    app.run()
    assert any("No pair is left" in info.value for info in app.info)


@pytest.mark.parametrize("beside", ["nonsense", "run:nobody", "<b>x</b>", "/no/such", "run:../tuned"])
def test_a_b_that_is_not_there_is_an_error_in_words(app, beside):
    app.query_params["beside"] = beside
    measured(app)
    assert not app.exception
    assert app.error
