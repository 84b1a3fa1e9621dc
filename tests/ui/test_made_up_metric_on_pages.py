"""Test that a metric of one row is found on Layers, Compare with its interval, and Results."""

import pytest

from explorer.data import sources
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import STS
from explorer.evaluating.tasks import sts
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.measure import Settings, measure
from explorer.measuring.scores.metrics import METRICS
from explorer.progress import finish
from explorer.training.record import run_results
from explorer.ui import layers
from tests import shown_numbers
from tests.commands.test_made_up_metric import MADE_UP, slowly
from tests.evaluating.results_by_hand import task
from tests.visits import layer_table, opened, words


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    monkeypatch.setitem(METRICS, MADE_UP.name, MADE_UP)


@pytest.fixture
def pairs(place):
    return sources.scored_pairs(str(place.test))[0]


@pytest.fixture
def scores(place, pairs):
    return finish(measure(find(str(place.model)), pairs, Settings()))


@pytest.fixture
def app(furnished, place):
    furnished.query_params["sts"], furnished.query_params["metric"] = str(place.test), MADE_UP.name
    return furnished


def by_hand(scores, title):
    """The metric of the cosines of a layer & pooling, as a page shows it."""
    return f"{100 * slowly(scores.gold, scores.cosines_of(parse(title, scores.last))):.2f}"


def test_layers_shows_it_with_its_help(app, scores):
    opened(app, "layers", reading="cls of layer 1")
    assert layer_table(app)[layers.CHOSEN].score == by_hand(scores, "cls of layer 1")
    assert MADE_UP.help in app.segmented_control(key="metric").help


def test_compare_shows_the_difference_with_an_interval(app, place, scores):
    chosen = {"beside_reading": "cls of layer 1", "reading": "max of layer 2"}
    opened(app, "compare", beside=str(place.model), tab="Layers", **chosen)
    titles = {"A": "max of layer 2", "B": "cls of layer 1"}
    (line,) = [one for one in words(app.markdown) if one.startswith("Under the chosen")]
    for side, title in titles.items():
        assert f"{side} **{by_hand(scores, title)}** ({title})" in line
    difference = bootstrap.difference(
        scores.gold, *(scores.cosines_of(parse(title, scores.last)) for title in titles.values()), metric=MADE_UP.name
    )
    of_cards = shown_numbers.difference(*(float(by_hand(scores, title)) for title in titles.values()))
    low, high = (shown_numbers.written(float(end)) for end in (difference.low, difference.high))
    assert f"B − A **{of_cards} ({low} to {high})**" in line


def test_results_offers_it(app, pairs, scores, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path))
    monkeypatch.setattr(run_results, "of_runs", list)
    found = sts.of_scores(scores, pairs)
    result_files.write(Result(ScoredModel("tiny", "1", "d"), task("STS12", kind=STS), found))
    opened(app, "results", measure=MADE_UP.key)
    assert app.selectbox(key="measure").value == MADE_UP.key
    (column,) = [name for name in app.dataframe[0].value if name.startswith("STS12")]
    assert MADE_UP.name in column
    assert list(app.dataframe[0].value[column]) == [found.score("model default", MADE_UP.key)]
