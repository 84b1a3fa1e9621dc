"""Test the search task: MRR@10 against brute force, the golden case of the protocol, and what the setting states."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from explorer.data.graded.question_pairs import QuestionPairs
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import GRID_POOLINGS, MODEL_DEFAULT, OWN, parse, rows
from explorer.evaluating.encoded import titles_of
from explorer.evaluating.tasks import retrieval
from explorer.evaluating.tasks.retrieval import search
from explorer.measuring.neighbours.ranking_judge import reciprocal_ranks
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import Progress, finish
from tests.tiny_models import SENTENCES

WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    found = copy.copy(tiny_encoder)
    found.head = Head(("mean",))
    return found


@pytest.fixture(scope="module")
def questions():
    """60 pairs of which every third is a duplicate; some questions are in several pairs."""
    drawn = np.random.default_rng(0)
    texts = [" ".join(drawn.choice(WORDS, size=drawn.integers(2, 9))) for _ in range(90)]
    first = tuple(texts[at] for at in drawn.integers(0, 30, 60))
    second = tuple(texts[at] for at in drawn.integers(20, 90, 60))
    return QuestionPairs("Questions", "all", first, second, tuple(at % 3 == 0 for at in range(60)))


def brute_force(encoder, pairs, title, max_length=64):
    """The reciprocal ranks by query, from vectors of single sentences and a loop over all documents in float64."""
    last = encoder.rows[-1].layers[-1]

    def vector(text):
        found = finish(of_reading(encoder, [text], parse(title, last), max_length))[0].astype(float)
        return found / np.sqrt((found**2).sum())

    documents = {text: vector(text) for text in pairs.second}
    gold = {}
    for first, second, same in zip(pairs.first, pairs.second, pairs.duplicate, strict=True):
        if same:
            gold.setdefault(first, set()).add(second)
    values = {}
    for query, answers in gold.items():
        of_query = vector(query)
        nearest = sorted(documents, key=lambda text: -(documents[text] @ of_query))[:10]
        ranks = [rank for rank, text in enumerate(nearest, start=1) if text in answers]
        values[query] = 1 / ranks[0] if ranks else 0.0
    return values


@pytest.mark.parametrize("title", [MODEL_DEFAULT, "max of layer 1", "mean of layers 0 + 2"])
def test_mrr_is_that_of_brute_force(encoder, questions, title):
    found = finish(search(encoder, questions, titles=[title]))
    slow = brute_force(encoder, questions, title)
    assert 0 < np.mean(list(slow.values())) < 1
    assert found.score(title) == pytest.approx(100 * np.mean(list(slow.values())), abs=1e-9)
    if title == MODEL_DEFAULT:
        by_query = dict(zip(questions.collection.queries, found.items.values, strict=True))
        assert by_query == pytest.approx(slow)


def of_vectors(vectors, monkeypatch):
    """A stand-in for an encoder that has one vector for each text as its model default."""

    def encoded(encoder, texts, max_length, titles, prompt):
        own = np.array([vectors[text] for text in texts], dtype=np.float32)
        yield Progress("encoding texts", len(texts), len(texts))
        return SimpleNamespace(of=lambda title: own)

    monkeypatch.setattr(retrieval, "encoded", encoded)
    head = Head(("mean",))
    return SimpleNamespace(
        name="vectors",
        rows=rows(1),
        poolings=GRID_POOLINGS,
        max_length=64,
        precision="float32",
        device="cpu",
        default_head=head,
    )


def test_first_answers_at_ranks_1_3_and_nowhere_give_the_published_value(monkeypatch):
    angles = {f"document {at}": at for at in range(12)}  # nearest to a query: the document of its angle, then the next
    angles |= {"first": 0, "third": 5.1, "nowhere": 0.2, "without an answer": 3}
    encoder = of_vectors(
        {text: (np.cos(angle / 20), np.sin(angle / 20)) for text, angle in angles.items()}, monkeypatch
    )
    gold = {"first": "document 0", "third": "document 4", "nowhere": "document 11"}  # third: 5, 6, 4
    angles_of_third = sorted(range(12), key=lambda at: abs(at - 5.1))[:3]
    assert angles_of_third == [5, 6, 4]
    rows_of = [(query, document, True) for query, document in gold.items()]
    rows_of += [("without an answer", f"document {at}", False) for at in range(12)]
    pairs = QuestionPairs("E3", "all", *map(tuple, zip(*rows_of, strict=True)))
    found = finish(search(encoder, pairs))
    assert found.score() == pytest.approx(44.4444, abs=1e-4)
    assert found.items.values.tolist() == pytest.approx([1, 1 / 3, 0])
    assert found.setting["queries without an answer (excluded)"] == 1
    assert (found.setting["queries"], found.setting["documents"]) == (3, 12)
    assert found.setting["question key"] == "text"


def test_the_first_of_several_answers_counts():
    places = np.array([[4, 2, 7], [1, 0, -1], [9, 8, 3]])
    assert reciprocal_ranks(places, [{7: 1, 2: 1}, {5: 1}, {3: 1}]).tolist() == pytest.approx([0.5, 0, 1 / 3])


def test_one_encoding_serves_every_layer_and_pooling(encoder, questions, monkeypatch):
    passes = []
    real = type(encoder).views_of
    monkeypatch.setattr(type(encoder), "views_of", lambda self, ids, *_: passes.append(len(ids)) or real(self, ids))
    titles = titles_of(encoder)
    found = finish(search(encoder, questions, titles=titles))
    assert passes == [len({*questions.collection.documents, *questions.collection.queries})]
    assert found.titles == titles
    assert titles[-1] == MODEL_DEFAULT
    assert len(titles) == 3 * len(encoder.rows) + 1
    assert found.table.shape == (len(titles), 3, 1)
    assert found.score("mean of layer 2") == pytest.approx(found.score(MODEL_DEFAULT)), "the head is that cell"
    assert np.isnan(found.score("cls of layer 0")), "the same vector for every question"
    assert np.isnan(found.table).any(axis=(1, 2)).sum() == 1


def test_inverted_lists_are_fewer_for_few_documents_and_the_setting_says_so(encoder, questions):
    found = finish(search(encoder, questions, index="ivf"))
    documents = len(questions.collection.documents)
    assert found.setting["index"] == "ivf"
    assert (found.setting["nlist"], found.setting["nprobe"]) == (1, 1)
    assert (
        f"nlist is 1 instead of 1,024: FAISS wants at least 39 training vectors per list, and there are {documents}"
        in str(found.setting["adapted"])
    )
    assert found.score() == pytest.approx(finish(search(encoder, questions)).score()), "all lists are searched"
    assert found.score(measure="index MB") == pytest.approx((documents * (32 * 4 + 8) + 32 * 4) / 1e6)


def test_the_flat_index_is_as_large_as_its_vectors_and_has_no_lists(encoder, questions):
    found = finish(search(encoder, questions))
    assert found.score(measure="index MB") == pytest.approx(len(questions.collection.documents) * 32 * 4 / 1e6)
    assert not {"nlist", "nprobe", "adapted"} & set(found.setting)
    assert found.setting["threads"] >= 1
    assert found.score(measure="ms per query") > 0


def test_the_items_are_those_of_the_model_default(encoder, questions):
    found = finish(search(encoder, questions, titles=["max of layer 1"]))
    assert found.titles == ("max of layer 1", MODEL_DEFAULT)
    assert 100 * found.items.values.mean() == pytest.approx(found.score(MODEL_DEFAULT))
    assert found.score("max of layer 1") != found.score(MODEL_DEFAULT)
    assert found.items.digest == questions.collection.digest
    assert finish(search(encoder, questions, titles=["max of layer 1"])).items is not None


def test_the_length_is_limited_by_the_model_and_stated(encoder, questions):
    assert finish(search(encoder, questions)).setting["max length"] == 64
    short = finish(search(encoder, questions, max_length=4))
    assert short.setting["max length"] == 4
    assert short.score() == pytest.approx(100 * np.mean(list(brute_force(encoder, questions, OWN.title, 4).values())))
    assert short.score() != finish(search(encoder, questions)).score()
    limited = copy.copy(encoder)
    limited.max_length = 16
    assert finish(search(limited, questions)).setting["max length"] == 16


def test_without_a_declared_default_it_is_the_mean_of_the_last_layer(tiny_encoder, questions):
    found = finish(search(tiny_encoder, questions, titles=["mean of layer 2"]))
    assert found.score() == found.score("mean of layer 2") > 0
    assert found.items is not None
