"""Test the Search page on vectors on disk, without a browser."""

import json
import re

import numpy as np
import pytest

from explorer.__main__ import main
from explorer.data import sample
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.measuring.scores import calibration, similarity
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.ui.access import jobs
from explorer.ui.search import query_view, searched_corpus
from explorer.ui.widgets import cosine_meaning
from tests.studies.embedding.desk import LINES, furnish
from tests.tiny_models import save_tiny
from tests.ui.search.test_search_page import ask
from tests.visits import buttons, entered, lead, measured, words

TITLE = "mean of layer 2"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    desk = furnish(tmp_path_factory.mktemp("desk"))
    desk.embed("vectors", titles=(TITLE,), with_text=True)
    np.save(desk.folder / "mine.npy", np.random.default_rng(0).normal(size=(len(LINES), 5)))
    (desk.folder / "mine.txt").write_text("\n".join(LINES), encoding="utf-8")
    return desk


@pytest.fixture
def app(furnished, desk):
    furnished.switch_page("pages/search.py")
    furnished.query_params.update(corpus=str(desk.folder / "vectors"), precision="float32", model=str(desk.model))
    return furnished


def shown(app):
    return [text.value for text in app.text]


@pytest.mark.parametrize("index", ["exact", "IVF", "HNSW"])
def test_the_page_shows_what_the_command_finds_and_what_the_index_misses(app, desk, capsys, index):
    measured(app, query="a red ball", index=index)
    capsys.readouterr()
    asked = ["search", "a red ball", "--vectors", desk.folder / "vectors", "--model", desk.model]
    assert main([*map(str, asked), "--index", index.lower(), "--precision", "float32", "--json"]) == 0
    assert shown(app) == [row["sentence"] for row in json.loads(capsys.readouterr().out)["results"]]
    assert any(f"{len(LINES)} sentences of vectors" in one for one in words(app.caption))
    assert any("Recall@10 1.000" in one for one in words(app.caption)) is (index != "exact")
    assert any("ms for this query" in one for one in words(app.caption))
    assert any(TITLE in one for one in words(app.markdown)), "the layer & pooling is that of the vectors"


def test_a_result_can_be_the_next_query_and_needs_no_encoder(app, desk):
    measured(app)
    assert app.text_input(key=query_view.QUERY).value == LINES[0], "the first of the corpus"
    first = shown(app)[0]
    assert f"**{query_view.NAMED.format(LINES[0])}**" in words(app.markdown)
    next(one for one in app.button if (one.key or "").startswith("search for vector ")).click()
    measured(app)
    assert app.text_input(key=query_view.QUERY).value == first
    assert query_view.LEFT_OUT in words(app.caption)


def test_vectors_of_another_model_are_searched_only_from_their_own_sentences(app, desk):
    save_tiny("bert", desk.folder / "other", initializer_range=0.5)
    measured(app, model=str(desk.folder / "other"), query=searched_corpus.DEFAULT)
    assert any(lead(query_view.OTHER_MODEL.partition("}")[2]) in one for one in words(app.warning))
    assert not shown(app)
    ask(app, LINES[3])
    assert len(shown(app)) == 10


@pytest.mark.parametrize(("name", "reason"), [("mine", "32 dimensions"), ("absent", "There is no")])
def test_an_encoder_of_another_width_and_missing_vectors_are_errors_on_the_page(app, desk, name, reason):
    measured(app, corpus=str(desk.folder / f"{name}.npy"), query=searched_corpus.DEFAULT)
    assert any(reason in one for one in words(app.error))


def meant(app):
    """Cosine and meaning of every result."""
    found = re.findall(r"cosine (−?[\d.]+): ([^\]]*? random pairs)", "\n".join(words(app.markdown)))
    return [(float(cosine.replace("−", "-")), text) for cosine, text in found]


def test_cosines_have_the_meaning_of_the_model_and_pooling_that_made_the_vectors(app, desk):
    measured(app, query="a red ball")
    assert not meant(app), "nobody asked"
    found = meant(entered(app, app.toggle(key=cosine_meaning.KEY), True))
    encoder, reading = load(find(str(desk.model)), precision="float32", device="cpu"), parse(TITLE, 2)
    halves = []
    for half in (sample.dev(), sample.test()):
        scores = finish(score_layers(encoder, half))
        halves.append(calibration.LabelledCosines(half.name, scores.gold, scores.cosines_of(reading)))
    vectors = finish(of_reading(encoder, list(dict.fromkeys(LINES)), reading))
    meaning = similarity.CosineMeaning("", "", calibration.calibrate(*halves), similarity.random_pairs(vectors, ""))
    assert len(found) == 10
    for cosine, text in found:  # which is shown with three digits
        assert text in {meaning.words(cosine + apart) for apart in np.linspace(-0.0005, 0.0005, 101)}


@pytest.mark.parametrize("vectors", ["vectors", "mine.npy"])
def test_without_the_model_that_made_them_random_pairs_alone_are_known_and_the_page_says_why(app, desk, vectors):
    save_tiny("bert", desk.folder / "other", initializer_range=0.5)
    link = {"corpus": str(desk.folder / vectors), "query": LINES[3], "meaning": "true"}
    measured(app, model=str(desk.folder / "other"), **link)
    assert len(meant(app)) == 10
    assert all(re.fullmatch(r"(top|under) [\d.]+ % of random pairs", text) for _, text in meant(app))
    why = query_view.NO_MODEL if vectors == "mine.npy" else query_view.ITS_MODEL
    assert why.format(vectors, "tiny") in words(app.caption)


def test_a_build_that_is_stopped_leaves_the_page_alive(app, desk, monkeypatch):
    import threading

    from explorer.measuring.neighbours import vector_search

    go, real = threading.Event(), vector_search._trained

    def slow(corpus, setting):
        from explorer.progress import Progress

        while not go.wait(0.02):
            yield Progress("training the index", 1, 10)
        return (yield from real(corpus, setting))

    monkeypatch.setattr(vector_search, "_trained", slow)
    np.save(desk.folder / "again.npy", np.random.default_rng(1).normal(size=(len(LINES), 5)))
    (desk.folder / "again.txt").write_text("\n".join(LINES), encoding="utf-8")
    app.query_params.update(corpus=str(desk.folder / "again.npy"), query=LINES[2], index="IVF")
    while not any(key.startswith("stop index of vectors") for key in buttons(app.run())):
        pass
    next(one for one in app.button if (one.key or "").startswith("stop index of vectors")).click().run()
    while any(job.live for job in jobs._jobs.values()):
        pass
    app.run()
    assert any(one.startswith("Stopped") for one in words(app.info))
    go.set()
    next(one for one in app.button if (one.key or "").startswith("again index of vectors")).click()
    measured(app)
    assert len(shown(app)) == 10
