"""Test the pair of the first screen: what both models answer, without and with a model B, and to what is typed."""

import numpy as np
import pytest

import strata
from explorer.data import sample, selections
from explorer.encoding.locate import lookup
from explorer.ui.access import selection
from explorer.ui.start import first_pair
from tests.tiny_models import save_tiny
from tests.visits import by_link, entered, measured, pressed, words

MODELS = lookup.BUNDLED, "run:example"


@pytest.fixture(autouse=True, scope="module")
def fresh(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STRATA_CACHE", "STRATA_RUNS"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        yield


@pytest.fixture(scope="module")
def encoders():
    return [strata.load(name) for name in MODELS]


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return save_tiny("bert", tmp_path_factory.mktemp("other") / "model", seed=9)


def cosine(encoder, first, second):
    one, other = strata.encode(encoder, [first, second]).astype(np.float64)
    return f"{one @ other / np.linalg.norm(one) / np.linalg.norm(other):.2f}".replace("-", "−")


def answer(app):
    return next(text for text in words(app.markdown) if text.startswith("####"))


def test_the_first_screen_says_what_the_difference_costs_under_a_and_the_example_that_ships(app, encoders):
    measured(app)
    before, after = (cosine(encoder, *sample.NEGATION) for encoder in encoders)
    assert f"“not” removed costs {1 - float(before):.2f} under A and {1 - float(after):.2f} under B" in answer(app)
    assert f"{before} → {after}" in answer(app)
    assert first_pair.EXAMPLE_AS_B.format("example run") in words(app.caption)
    assert app.selectbox(key="beside").value == "nothing", "the sidebar is not changed"
    text = " ".join(words(app.markdown))
    assert f"cosine **{before}**" in text
    assert f"cosine **{after}**" in text


def test_without_a_model_b_of_ones_own_the_example_as_model_a_stands_alone(app, nothing_is_measured):
    by_link(app, model="run:example")
    assert "“not” removed costs" in answer(app)
    assert "under B" not in answer(app)


def test_a_pair_that_is_typed_is_answered_and_is_that_of_every_page(app, encoders):
    measured(app)
    app.text_input(key=first_pair.FIRST).set_value("Only two  lifeboats were lowered.")
    entered(app, app.text_input(key=first_pair.SECOND), "Only seven lifeboats were lowered.")
    pair = "Only two lifeboats were lowered.", "Only seven lifeboats were lowered."
    assert selections.read(app.session_state[selection.PAIR]) == pair
    before, after = (cosine(encoder, *pair) for encoder in encoders)
    assert answer(app).startswith(f"#### two → seven costs {1 - float(before):.2f} under A")
    assert f"{before} → {after}" in answer(app)
    entered(app, app.text_input(key=first_pair.FIRST), "  ")
    assert app.text_input(key=first_pair.FIRST).value == pair[0], "an empty field gets its sentence again"


def test_a_word_that_is_changed_is_answered_and_the_pair_stays(app, encoders):
    measured(app)
    typed = "A man is playing a violin."
    entered(app, app.text_input(key=first_pair.WHAT_IF), typed)
    first, second = sample.NEGATION
    changes = [
        f"{cosine(one, first, second)} → {cosine(one, first, typed)} under {side}"
        for one, side in zip(encoders, "AB", strict=True)
    ]
    assert first_pair.ANSWER.format("guitar → violin", " and ".join(changes)) in words(app.markdown)
    assert not app.session_state[selection.PAIR]
    assert "“not” removed" in answer(app)


@pytest.mark.parametrize("pair", [("Dogs bark.", "We sing."), ("Dogs bark.", "Dogs bark.")])
def test_sentences_without_a_common_word_and_equal_ones_have_their_cosines(furnished, place, other, pair):
    measured(furnished, beside=str(other), pair=selections.keep(pair))
    before, after = (cosine(strata.load(model), *pair) for model in (place.model, other))
    assert answer(furnished).endswith(f"he cosine is {before} → {after}.")


def test_own_sentences_become_those_of_every_page(app):
    measured(app)
    app.text_area(key="start own sentences").set_value("One  line.\n\nAnother line.\nOne line.")
    pressed(app, "use own sentences")
    assert selections.read(app.session_state[selection.SENTENCES]) == ("One line.", "Another line.")
