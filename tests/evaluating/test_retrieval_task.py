"""Test retrieval and search tasks against brute force: rankings, prompts, intervals, and the protocol of questions."""

import copy
import hashlib
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from transformers import AutoTokenizer

from explorer.data.graded.question_pairs import QuestionPairs
from explorer.data.retrieval_sets import of_pairs, retrieval_set
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import GRID_POOLINGS, MODEL_DEFAULT, OWN, parse, rows
from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import BadChoice
from explorer.evaluating import tasks
from explorer.evaluating.encoded import titles_of
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import Subject
from explorer.evaluating.tasks.retrieval import Retrieval, choice_text, chosen, intervals, retrieval, search
from explorer.measuring.neighbours.rankings import MEASURES, measures, reciprocal_ranks
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import Progress, finish
from tests.shown_numbers import written
from tests.spoiling import encoder_of, save_of_max
from tests.tiny_models import SENTENCES

WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model that declares a pooling, and prompts that are added only if they are asked for."""
    return save_of_max(tmp_path_factory.mktemp("declared") / "tiny")


@pytest.fixture(scope="module")
def task():
    """Phrases that share four of their five words are searched among others that share three or two."""
    drawn = np.random.default_rng(0)
    phrases = [drawn.permutation(WORDS).tolist() for _ in range(40)]
    documents = [" ".join(words[:shared] + words[5 : 10 - shared]) for shared in (4, 3, 2) for words in phrases]
    texts = {str(at): text for at, text in enumerate(documents)}
    queries = {key: " ".join(words[:5]) for key, words in zip("abcdefghijklmnopqrstuvwxyz", phrases, strict=False)}
    grades = {(key, str(at)): 1 for at, key in enumerate(queries)} | {("a", "45"): 1}
    return retrieval_set("Paraphrases", "test", queries, texts, grades)


@pytest.fixture(scope="module")
def declared(folder):
    return encoder_of(folder)


@pytest.fixture(scope="module")
def found(task, declared):
    return finish(retrieval(declared, task))


def of_sentence_transformers(task, model) -> dict[str, float]:
    """Its scores × 100, by our names."""
    evaluator = InformationRetrievalEvaluator(
        {str(at): text for at, text in enumerate(task.queries)},
        {str(at): text for at, text in enumerate(task.documents)},
        {str(at): {str(place) for place in judged} for at, judged in enumerate(task.judgements)},
        precision_recall_at_k=[1, 10, 100],
        write_csv=False,
    )
    theirs = evaluator(model)
    return {measure: 100 * theirs[f"cosine_{measure.lower()}"] for measure in MEASURES}


def test_the_model_default_scores_what_sentence_transformers_says(task, found, folder):
    theirs = of_sentence_transformers(task, SentenceTransformer(str(folder), device="cpu"))
    for measure in MEASURES:
        assert found.score(MODEL_DEFAULT, measure) == pytest.approx(theirs[measure], abs=1e-4), measure


def test_it_adds_the_prompts_that_sentence_transformers_adds(task, found, folder, tmp_path):
    prompts = {"prompts": {"query": "the guitar and ", "document": "a train is "}}
    shutil.copytree(folder, tmp_path / "with-prompts")
    (tmp_path / "with-prompts/config_sentence_transformers.json").write_text(json.dumps(prompts))
    theirs = of_sentence_transformers(task, SentenceTransformer(str(tmp_path / "with-prompts"), device="cpu"))
    declared = finish(retrieval(encoder_of(tmp_path / "with-prompts"), task, titles=[MODEL_DEFAULT]))
    for measure in MEASURES:
        assert declared.score(MODEL_DEFAULT, measure) == pytest.approx(theirs[measure], abs=1e-4), measure
    assert declared.score() != found.score(), "the premise: prompts matter"
    assert (declared.setting["query prompt"], declared.setting["document prompt"]) == tuple(prompts["prompts"].values())


def test_prompts_that_are_given_take_the_place_of_those_of_the_model_or_are_refused(task, declared):
    given = chosen(declared, "the dog ", None)
    assert given == RolePrompts("the dog ", "")
    found = finish(retrieval(declared, task, titles=[MODEL_DEFAULT], prompts=given))
    by_hand = replace(task, queries=tuple(f"the dog {text}" for text in task.queries))
    assert found.score() == finish(retrieval(declared, by_hand, titles=[MODEL_DEFAULT])).score()
    with pytest.raises(BadChoice, match=r"query prompt 'dog dog .* has 22 tokens .* at most 16 tokens are read"):
        finish(retrieval(declared, task, max_length=16, prompts=RolePrompts("dog " * 20)))


@pytest.mark.parametrize("title", ["mean of layer 1", "cls of layer 2", "max of layer 0"])
def test_every_layer_and_pooling_scores_what_a_slow_search_says(task, found, declared, title):
    vectors = finish(of_reading(declared, [*task.documents, *task.queries], parse(title, 2))).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[len(task.documents) :] @ vectors[: len(task.documents)].T
    slow = measures(np.argsort(-cosines, axis=1, kind="stable")[:, :100], task.judgements)
    for row, measure in enumerate(MEASURES):
        assert found.score(title, measure) == pytest.approx(100 * slow[row].mean(), abs=1e-9)


def test_the_items_are_the_queries_and_what_decides_the_scores_is_stated(found, task):
    assert np.isnan(found.score("cls of layer 0"))
    assert found.items.values.shape == (26,)
    assert 100 * found.items.values.mean() == pytest.approx(found.score())
    assert found.items.digest == task.digest
    stated = {"documents": 120, "queries": 26, "queries without a relevant document (excluded)": 0}
    assert stated.items() <= found.setting.items()
    assert found.setting["relevant documents per query"] == pytest.approx(27 / 26, abs=0.01)


def test_queries_and_documents_are_counted_that_are_longer_than_is_read_with_their_prompts(task, declared):
    limit = 8
    subject = Subject(declared, Settings(max_length=limit), lambda *_: declared)
    found = Retrieval("own", task).cut(subject, Options(query_prompt="the dog ", document_prompt=""))
    tokenizer = AutoTokenizer.from_pretrained(str(declared.folder))
    texts = {*task.documents, *(f"the dog {query}" for query in task.queries)}
    longer = sum(len(tokenizer(text)["input_ids"]) > limit for text in texts)
    assert (found.of, found.used, found.used_limit) == (len(texts), longer, limit)
    assert 0 < longer < len(texts)


def test_fewer_documents_than_are_ranked_are_all_found_and_the_first_of_several_answers_counts(declared):
    small = of_pairs("Three", ["night birds", "baking", "tax"], ["Owls hunt.", "Bread rises.", "Pay by May."])
    assert finish(retrieval(declared, small)).score(MODEL_DEFAULT, "Recall@100") == 100
    places = np.array([[4, 2, 7], [1, 0, -1], [9, 8, 3]])
    assert reciprocal_ranks(places, [{7: 1, 2: 1}, {5: 1}, {3: 1}]).tolist() == pytest.approx([0.5, 0, 1 / 3])


def test_a_file_of_queries_and_passages_is_a_task(tmp_path, folder):
    file = tmp_path / "help.csv"
    file.write_text("query,passage\nnight birds,Owls hunt at night.\nbaking,Bread rises in the warm.\n")
    task = tasks.load(str(file), Options())
    assert task.data.split == "all"
    measured = finish(task.score(Subject(of_folder("tiny", folder)), Options()))
    assert (measured.measures, len(measured.titles)) == (MEASURES, 16)


TITLES = (*(f"mean of layer {layer}" for layer in range(40)), "model default")
QUERIES = tuple(f"query {number}" for number in range(60))


def noise(seed: int) -> np.ndarray:
    """Layers & poolings that are equally good: (layer & pooling, query)."""
    return np.random.default_rng(seed).uniform(size=(len(TITLES), len(QUERIES)))


def test_the_best_on_one_half_is_scored_on_the_other():
    scores = noise(3)
    by_hash = sorted(range(60), key=lambda place: hashlib.sha256(QUERIES[place].encode()).digest())
    first, second = by_hash[:30], by_hash[30:]
    best = max(range(len(TITLES)), key=lambda row: np.mean([scores[row, query] for query in first]))
    found = intervals(TITLES, scores, QUERIES, every=True).choice
    own, default = (np.mean([100 * scores[row, query] for query in second]) for row in (best, -1))
    assert (found.title, found.score) == (TITLES[best], pytest.approx(own, abs=1e-4))
    assert found.default_score == pytest.approx(default, abs=1e-4)
    assert found.difference == pytest.approx(own - default, abs=1e-4)
    assert found.low < own - default < found.high


def test_of_layers_that_are_equally_good_none_gains_by_being_chosen():
    gains, inflated = [], []
    for seed in range(40):
        scores = noise(seed)
        gains.append(intervals(TITLES, scores, QUERIES, every=True).choice.difference)
        inflated.append(100 * (scores.mean(axis=1).max() - scores[-1].mean()))
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(len(gains))
    assert np.mean(inflated) > 5, "the premise: the best on the same queries seems to gain"


def test_the_interval_of_the_model_default_is_about_two_standard_errors_each_way_and_is_told_in_words():
    default = noise(1)[-1]
    found = intervals(TITLES, noise(1), QUERIES, every=False)
    error = 100 * default.std(ddof=1) / np.sqrt(len(default))
    assert found.low == pytest.approx(100 * default.mean() - 1.96 * error, abs=error / 4)
    assert found.high == pytest.approx(100 * default.mean() + 1.96 * error, abs=error / 4)
    found = intervals(TITLES, noise(3), QUERIES, every=True)
    one = found.choice
    for part in (one.title, f"{one.score:.2f}", f"{written(one.low)} to"):
        assert part in choice_text(one)


def test_nothing_is_chosen_of_a_few_or_without_a_ranking():
    assert intervals(TITLES, noise(1), QUERIES, every=False).choice is None
    assert intervals(TITLES, noise(1)[:, :9], QUERIES[:9], every=True) is None
    assert intervals(TITLES, noise(1)[:, :19], QUERIES[:19], every=True).choice is None
    assert intervals(TITLES, noise(1)[:, :20], QUERIES[:20], every=True).choice
    scores = noise(2)
    scores[:-1] = np.nan
    assert intervals(TITLES, scores, QUERIES, every=True).choice.title == "model default"
    scores = noise(2)
    scores[-1] = np.nan
    assert intervals(TITLES, scores, QUERIES, every=True) is None


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
        assert dict(zip(questions.collection.queries, found.items.values, strict=True)) == pytest.approx(slow)


def of_vectors(vectors, monkeypatch):
    """A stand-in for an encoder that has one vector for each text as its model default."""

    def encoded(encoder, texts, max_length, titles, prompt):
        own = np.array([vectors[text] for text in texts], dtype=np.float32)
        yield Progress("encoding texts", len(texts), len(texts))
        return SimpleNamespace(of=lambda title: own)

    monkeypatch.setattr("explorer.evaluating.tasks.retrieval.encoded", encoded)
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
    vectors = {text: (np.cos(angle / 20), np.sin(angle / 20)) for text, angle in angles.items()}
    encoder = of_vectors(vectors, monkeypatch)
    gold = {"first": "document 0", "third": "document 4", "nowhere": "document 11"}  # third: 5, 6, 4
    angles_of_third = sorted(range(12), key=lambda at: abs(at - 5.1))[:3]
    assert angles_of_third == [5, 6, 4]
    rows_of = [(query, document, True) for query, document in gold.items()]
    rows_of += [("without an answer", f"document {at}", False) for at in range(12)]
    found = finish(search(encoder, QuestionPairs("E3", "all", *map(tuple, zip(*rows_of, strict=True)))))
    assert found.score() == pytest.approx(44.4444, abs=1e-4)
    assert found.items.values.tolist() == pytest.approx([1, 1 / 3, 0])
    assert found.setting["queries without an answer (excluded)"] == 1
    assert (found.setting["queries"], found.setting["documents"]) == (3, 12)
    assert found.setting["question key"] == "text"


def test_one_encoding_serves_every_layer_and_pooling(encoder, questions, monkeypatch):
    passes = []
    real = type(encoder).parts
    monkeypatch.setattr(
        type(encoder), "parts", lambda self, texts, *how: passes.append(len(texts)) or real(self, texts, *how)
    )
    titles = titles_of(encoder)
    found = finish(search(encoder, questions, titles=titles))
    assert passes == [len({*questions.collection.documents, *questions.collection.queries})]
    assert found.titles == titles
    assert (titles[-1], len(titles)) == (MODEL_DEFAULT, 3 * len(encoder.rows) + 1)
    assert found.table.shape == (len(titles), 3, 1)
    assert found.score("mean of layer 2") == pytest.approx(found.score(MODEL_DEFAULT)), "the head is that cell"
    assert np.isnan(found.score("cls of layer 0")), "the same vector for every question"
    assert np.isnan(found.table).any(axis=(1, 2)).sum() == 1


def test_inverted_lists_are_fewer_for_few_documents_as_the_setting_says_and_a_flat_index_has_none(encoder, questions):
    found, flat = finish(search(encoder, questions, index="ivf")), finish(search(encoder, questions))
    documents = len(questions.collection.documents)
    assert found.setting["index"] == "ivf"
    assert (found.setting["nlist"], found.setting["nprobe"]) == (1, 1)
    assert (
        f"nlist is 1 instead of 1,024: FAISS wants at least 39 training vectors per list, and there are {documents}"
        in str(found.setting["adapted"])
    )
    assert found.score() == pytest.approx(flat.score()), "all lists are searched"
    assert found.score(measure="index MB") == pytest.approx((documents * (32 * 4 + 8) + 32 * 4) / 1e6)
    assert flat.score(measure="index MB") == pytest.approx(documents * 32 * 4 / 1e6)
    assert not {"nlist", "nprobe", "adapted"} & set(flat.setting)
    assert flat.setting["threads"] >= 1
    assert flat.score(measure="ms per query") > 0


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
