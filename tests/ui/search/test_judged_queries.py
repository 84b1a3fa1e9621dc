"""Test judged queries on the Search page: the menu, the score of each side, and the documents that are relevant."""

import json
import re

import pytest

from explorer.data import sample, sources
from explorer.data.corpora import SAMPLE
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.evaluating.tasks.retrieval import retrieval
from explorer.progress import finish
from explorer.ui.search import neighbours, query_view
from tests.tiny_models import save_tiny
from tests.ui.search.test_search_page import ask
from tests.visits import by_link, cards, entered, measured, words

DOCUMENTS = ("a man is playing a guitar", "two dogs run", "a woman reads", "the dog sleeps", "men talk", "a cat",
             "children sing", "the man walks", "women dance", "a dog barks", "birds fly", "a woman cooks")  # fmt: skip
QUERIES = {"who plays music": {0: 1, 6: 1}, "**which** animals <b>sleep</b>": {3: 2}}


@pytest.fixture(scope="module")
def place(place):
    save_tiny("bert", place.folder / "other", seed=1)
    folder = place.folder / "judged"
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        lines = [json.dumps({"_id": f"{name}{at}", "text": text}) for at, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    rows = [
        f"queries{at}\tcorpus{document}\t{grade}"
        for at, judged in enumerate(QUERIES.values())
        for document, grade in judged.items()
    ]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    return place


@pytest.fixture
def app(furnished, place):
    furnished.switch_page("pages/search.py")
    furnished.query_params["corpus"], furnished.query_params["precision"] = str(place.folder / "judged"), "float32"
    return furnished


def told(app) -> list[tuple[float, list[int]]]:
    """The score of each side that has one, and the ranks of the relevant documents."""
    found = (re.match(r"\*\*nDCG@10 ([\d.]+)\*\* · relevant at rank ([\d, ]+)$", text) for text in words(app.markdown))
    return [(float(one[1]), [int(rank) for rank in one[2].split(",")]) for one in found if one]


def badges(app) -> int:
    return sum("relevant]" in text for text in words(app.markdown))


def slow_ndcg(ranks: list[int]) -> float:
    """For documents that are all graded 1, or for a single one."""
    gain = [0.0, *(1.0 for _ in range(10))]
    discount = [0.0, 1.0, 1.5849625, 2.0, 2.32192809, 2.5849625, 2.80735492, 3.0, 3.169925, 3.32192809, 3.45943162]
    found = sum(gain[rank] / discount[rank] for rank in ranks if rank <= 10)
    return 100 * found / sum(1 / discount[place] for place in range(1, len(ranks) + 1))


def test_a_query_that_is_chosen_is_searched_and_each_side_is_scored(app, place):
    measured(app, beside=str(place.folder / "other"), query=query_view.DEFAULT)
    assert told(app) == [], "this query is not judged"
    assert app.selectbox(key=neighbours.MENU).value is None
    for query, judged in QUERIES.items():
        entered(app, app.selectbox(key=neighbours.MENU), query)
        assert app.text_input(key=query_view.QUERY).value == query
        scores = told(app)
        assert len(scores) == 2
        for score, ranks in scores:
            assert len(ranks) == len(judged)
            assert score == pytest.approx(slow_ndcg(ranks), abs=0.006)
        assert badges(app) == sum(rank <= 10 for _, ranks in scores for rank in ranks)


def test_a_judged_query_that_is_typed_is_scored_too_and_any_other_one_is_not(app):
    measured(app, query=next(iter(QUERIES)))
    assert app.selectbox(key=neighbours.MENU).value == next(iter(QUERIES))
    assert len(told(app)) == 1
    ask(app, "who plays")
    assert app.selectbox(key=neighbours.MENU).value is None
    assert told(app) == []
    assert badges(app) == 0


def test_the_first_query_of_the_set_is_searched_before_one_is_given(app):
    measured(app)
    assert app.text_input(key=query_view.QUERY).value == next(iter(QUERIES))
    assert len(told(app)) == 1


def test_all_queries_are_compared_as_the_retrieval_task_scores_them(app, place):
    measured(app, beside=str(place.folder / "other"))
    task = sources.evaluation_set(sources.identity(str(place.folder / "judged")))
    encoders = [load(find(str(folder)), precision="float32", device="cpu")
                for folder in (place.model, place.folder / "other")]  # fmt: skip
    wanted = [finish(retrieval(one, task, titles=["model default"])) for one in encoders]
    means = [100 * one.items.values.mean() for one in wanted]
    shown = cards(app)
    assert [shown[f"nDCG@10 of {name}"] for name in "AB"] == [f"{mean:.2f}" for mean in means]
    assert shown["B - A"] == f"{means[1] - means[0]:+.2f}"
    gaps = wanted[1].items.values - wanted[0].items.values
    told = f"2 queries: {(gaps > 1e-9).sum()} improved, {(gaps < -1e-9).sum()} got worse"
    assert any(text.startswith(told) for text in words(app.caption))


def test_a_pooling_under_which_nothing_can_be_ranked_is_told(app, place):
    measured(app, beside=str(place.folder / "other"), reading="cls of layer 0")
    assert neighbours.NO_SCORE in words(app.info)


def test_the_sample_has_its_judged_queries_and_other_corpora_have_none(app):
    by_link(app, corpus=sample.SEARCH)
    assert len(app.selectbox(key=neighbours.MENU).options) == 60
    entered(app, app.selectbox(key="corpus"), SAMPLE)
    assert neighbours.MENU not in {box.key for box in app.selectbox}


def test_a_damaged_folder_is_told_and_not_searched(app, place):
    (place.folder / "judged2" / "qrels").mkdir(parents=True, exist_ok=True)
    (place.folder / "judged2" / "corpus.jsonl").write_text('{"_id": "d1", "text": "a man"}\n')
    by_link(app, corpus=str(place.folder / "judged2"))
    assert any("has no file of queries" in text for text in words(app.error))
