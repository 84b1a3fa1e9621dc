"""Test what pages say of cosines on request: the numbers of the sidebar's evaluation set, next to every cosine."""

import re

import numpy as np
import pytest

from explorer.data import sample
from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.measuring.scores import calibration, similarity
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.ui.sentences import probe_view
from explorer.ui.widgets import cosine_meaning, microscope
from tests.shown_numbers import value_of
from tests.visits import entered, opened, words


@pytest.fixture(scope="module")
def meaning(place):
    """Of the model default on the sample, computed without a page."""
    model = find(str(place.model))
    encoder, reading = load(model, precision="float32", device="cpu"), declared.named(None, model.folder)
    halves = []
    for half in (sample.dev(), sample.test()):
        scores = finish(score_layers(encoder, half))
        halves.append(calibration.LabelledCosines(half.name, scores.gold, scores.cosines_of(reading)))
    vectors = finish(of_reading(encoder, sample.pairs().sentences, reading))
    return similarity.CosineMeaning("", "", calibration.calibrate(*halves), similarity.random_pairs(vectors, ""))


def said(app) -> str:
    return "\n".join(words([*app.markdown, *app.caption]))


def notes(app) -> list[tuple[float, str]]:
    """Cosine and meaning of every result."""
    found = re.findall(r"cosine (−?[\d.]+): (match [^\]]*? random pairs)", said(app))
    return [(value_of(cosine), text) for cosine, text in found]


def test_search_says_what_each_cosine_means_if_it_is_asked(furnished, meaning) -> None:
    assert not notes(opened(furnished, "search"))
    found = notes(entered(furnished, furnished.toggle(key=cosine_meaning.KEY), True))
    assert len(found) == 10
    for cosine, text in found:  # which is shown with three digits
        assert text in {meaning.words(cosine + apart) for apart in np.linspace(-0.0005, 0.0005, 101)}


@pytest.mark.parametrize("page", ["search", "sentences", "layers", "compare"])
def test_the_prevalence_stands_beside_every_probability(furnished, place, meaning, page) -> None:
    dev = meaning.calibration.dev
    share = f"{100 * dev.matches / dev.pairs:.0f} %"
    tab = {"tab": cosine_meaning.LABEL} if page == "layers" else {}
    opened(furnished, page, beside=str(place.model), **tab)
    assert "revalence" not in said(furnished), "nothing is asked for"
    entered(furnished, furnished.toggle(key=cosine_meaning.KEY), True)
    told = [line for line in said(furnished).splitlines() if "prevalence" in line]
    assert len(told) == 1, "once, also for two models"
    assert f"prevalence of {share}" in told[0] or f"prevalence {share}" in told[0]
    assert dev.name in told[0]


def test_tables_and_cards_of_sentences_have_it_after_the_cosine(furnished, meaning) -> None:
    opened(furnished, "sentences", meaning="true", tab="Pair", pair_part=microscope.LAYERS)
    row = furnished.dataframe[0].value.iloc[0]
    assert row["A means"] == meaning.words(row["cosine A"], short=True)
    assert re.search(r"A: match .+ % of random pairs", said(furnished))


def test_pairs_of_probe_packs_have_it_too(furnished) -> None:
    opened(furnished, "sentences", tab="Probe packs", probe_part=probe_view.PAIRS, meaning="true")
    assert "A means" in furnished.dataframe[0].value.columns


def test_layers_has_thresholds_that_follow_the_fields_and_refuses_what_says_nothing(furnished, meaning) -> None:
    opened(furnished, "layers", meaning="true", tab=cosine_meaning.LABEL)
    (best,) = meaning.calibration.thresholds
    assert f"best F1: cosine {best.cosine:.3f}" in said(furnished)
    entered(furnished, furnished.number_input(key="match at_recall"), 0.8)
    assert "recall 0.8: cosine " in said(furnished)
    entered(furnished, furnished.number_input(key="match match"), 5.5)
    assert any("0 match (a gold score of 5.5 or more)" in text for text in words(furnished.info))
    assert "random pairs" in furnished.dataframe[0].value.columns, "which need no labels"


def test_compare_judges_the_cosines_of_b(furnished, place) -> None:
    opened(furnished, "compare", beside=str(place.model), meaning="true", other="mean of layer 0")
    assert not furnished.error
    assert cosine_meaning.LABEL in [one.value for one in furnished.subheader]
    assert "Brier score of" in "\n".join(words([*furnished.success, *furnished.info, *furnished.warning]))
