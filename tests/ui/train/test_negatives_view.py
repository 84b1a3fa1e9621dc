"""Test that the Train page shows hard negatives before a training uses them, and drops and restores single ones."""

import pytest

from explorer.methods import negative_id, written_id
from explorer.ui.runs import set_fields, training_form
from explorer.ui.train import negatives_view
from tests.tiny_models import save_tiny
from tests.visits import by_link, lead, measured, pressed, words

DROPPED = "knob contrast dropped"


@pytest.fixture
def pairs(app, place):
    """The form of a training on pairs, with the tab of hard negatives open."""
    fields = {"recipe dev": str(place.dev), "recipe test": str(place.test), set_fields.ELSEWHERE: []}
    app.session_state[training_form.BY_HAND] = set(fields)
    for name, value in (fields | {"knob contrast batch_size": 4, "knob contrast steps": 6}).items():
        app.session_state[name] = value
    link = {"method": "contrast", "data": str(place.triplets), "tab": negatives_view.TAB, "model": str(place.model)}
    return by_link(app, **link)


def lines(app):
    (found,) = [one.value for one in app.dataframe if negatives_view.DROP in one.value]
    return found


def test_without_hard_negatives_the_tab_says_what_they_are_and_other_methods_have_none(pairs):
    assert any(lead(negatives_view.NONE_YET) in text for text in words(pairs.caption))
    assert negatives_view.TAB in pairs.segmented_control(key="tab").options
    pairs.selectbox(key="method").set_value("contrast-hard").run()
    assert negatives_view.TAB not in pairs.segmented_control(key="tab").options


def test_negatives_are_shown_and_one_that_is_dropped_can_be_restored(pairs, place, tmp_path):
    guide = save_tiny("bert", tmp_path / "guide", seed=9)
    pairs.number_input(key="knob contrast hard_negatives").set_value(1)
    pairs.text_input(key="knob contrast guide").set_value(str(guide))
    measured(pairs)
    table = lines(pairs)
    closer = (table[negatives_view.OPINION] == negatives_view.PERHAPS_RIGHT).sum()
    assert any(
        text.startswith(f"**{closer} of {len(table)} hard negatives are closer") for text in words(pairs.markdown)
    )
    assert closer == (table["guide"] > table["guide_of_positive"]).sum() > 0
    assert (table["guide"] - table["guide_of_positive"]).is_monotonic_decreasing
    anchor, negative = table["Anchor"][0], table["Negative"][0]
    pairs.text_input(key=DROPPED).set_value(written_id(negative_id(anchor, negative)))
    measured(pairs)
    (left,) = lines(pairs)[lines(pairs)["Anchor"] == anchor]["Negative"]
    assert left != negative
    (listed,) = [one.value for one in pairs.dataframe if "Dropped" in one.value]
    assert listed.values.tolist() == [[anchor, negative]]
    pressed(pairs, "restore dropped")
    assert negative in set(lines(pairs)["Negative"])
    assert pairs.text_input(key=DROPPED).value == ""


def test_nonsense_is_refused_in_one_line(pairs):
    pairs.number_input(key="knob contrast hard_negatives").set_value(1)
    pairs.text_input(key=DROPPED).set_value("nonsense").run()
    assert any("dropped cannot be 'nonsense'" in text for text in words(pairs.error))
