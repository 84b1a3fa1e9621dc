"""Test retrieval tasks: rankings, prompts, intervals, and the layer & pooling that half of the queries choose."""

import hashlib
import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from explorer.data.retrieval_sets import of_pairs, retrieval_set
from explorer.data.sample import minimal_pairs, triplets
from explorer.encoding.load.loading import load
from explorer.encoding.locate.lookup import BUNDLED
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.head_facts import RolePrompts
from explorer.encoding.read.pooling import MODEL_DEFAULT, parse
from explorer.errors import BadChoice, UnsupportedModel
from explorer.evaluating import tasks
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import Subject
from explorer.evaluating.tasks.retrieval import chosen, intervals, intervals_text, retrieval
from explorer.measuring.neighbours.ranking_judge import MEASURES, measures
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish


@pytest.fixture(scope="module")
def task():
    """Paraphrases are searched among paraphrases and sentences that only share their words."""
    rows = triplets()
    documents = (*rows.positives[:40], *rows.negatives[:40], *minimal_pairs().negatives[:40])
    texts = {str(at): text for at, text in enumerate(documents)}
    queries = dict(zip("abcdefghijklmnopqrstuvwxyz", rows.anchors, strict=False))
    grades = {(key, str(at)): 1 for at, key in enumerate(queries)} | {("a", "45"): 1}
    return retrieval_set("Paraphrases", "test", queries, texts, grades)


@pytest.fixture(scope="module")
def found(task, bundled_encoder):
    return finish(retrieval(bundled_encoder, task))


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


def test_the_model_default_scores_what_sentence_transformers_says(task, found):
    theirs = of_sentence_transformers(task, SentenceTransformer(str(find(BUNDLED).folder), device="cpu"))
    for measure in MEASURES:
        assert found.score(MODEL_DEFAULT, measure) == pytest.approx(theirs[measure], abs=1e-4), measure


def test_it_adds_the_prompts_that_sentence_transformers_adds(task, found, tmp_path):
    folder = tmp_path / "with-prompts"
    shutil.copytree(find(BUNDLED).folder, folder, copy_function=os.symlink)
    (folder / "config_sentence_transformers.json").unlink()
    prompts = {"prompts": {"query": "question: ", "document": "An answer is this: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    theirs = of_sentence_transformers(task, SentenceTransformer(str(folder), device="cpu"))
    declared = finish(retrieval(load(find(str(folder)), "float32", "cpu"), task, titles=[MODEL_DEFAULT]))
    for measure in MEASURES:
        assert declared.score(MODEL_DEFAULT, measure) == pytest.approx(theirs[measure], abs=1e-4), measure
    assert declared.score() != found.score(), "the premise: prompts matter"
    assert (declared.setting["query prompt"], declared.setting["document prompt"]) == tuple(prompts["prompts"].values())


def test_prompts_that_are_given_take_the_place_of_those_of_the_model(task, bundled_encoder):
    given = chosen(bundled_encoder, "question: ", None)
    assert given == RolePrompts("question: ", "")
    found = finish(retrieval(bundled_encoder, task, titles=[MODEL_DEFAULT], prompts=given))
    by_hand = replace(task, queries=tuple(f"question: {text}" for text in task.queries))
    assert found.score() == finish(retrieval(bundled_encoder, by_hand, titles=[MODEL_DEFAULT])).score()


def test_a_prompt_that_leaves_no_room_is_refused(task, bundled_encoder):
    with pytest.raises(BadChoice, match=r"query prompt 'night night .* has 22 tokens .* at most 16 tokens are read"):
        finish(retrieval(bundled_encoder, task, max_length=16, prompts=RolePrompts("night " * 20)))


def test_prompts_that_are_left_out_of_the_pooling_are_refused(task, bundled_encoder):
    with pytest.raises(UnsupportedModel, match=r"leaves prompts, such as 'answer: ' before a document"):
        finish(retrieval(bundled_encoder, task, prompts=RolePrompts("", "answer: ", pooled=False)))


@pytest.mark.parametrize("title", ["mean of layer 3", "cls of layer 6", "max of layer 1"])
def test_every_layer_and_pooling_scores_what_a_slow_search_says(task, found, bundled_encoder, title):
    reading = parse(title, 6)
    vectors = finish(of_reading(bundled_encoder, [*task.documents, *task.queries], reading)).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[len(task.documents) :] @ vectors[: len(task.documents)].T
    slow = measures(np.argsort(-cosines, axis=1, kind="stable")[:, :100], task.judgements)
    for row, measure in enumerate(MEASURES):
        assert found.score(title, measure) == pytest.approx(100 * slow[row].mean(), abs=1e-9)


def test_equal_vectors_have_no_ranking(found):
    assert np.isnan(found.score("cls of layer 0"))


def test_the_items_are_the_queries(task, found):
    assert found.items.values.shape == (26,)
    assert 100 * found.items.values.mean() == pytest.approx(found.score())
    assert found.items.digest == task.digest


def test_what_decides_the_scores_is_stated(found):
    stated = {"documents": 120, "queries": 26, "queries without a relevant document (excluded)": 0}
    assert stated.items() <= found.setting.items()
    assert found.setting["relevant documents per query"] == pytest.approx(27 / 26, abs=0.01)
    assert found.setting["distinct texts truncated"] == 0


def test_fewer_documents_than_are_ranked_are_all_found(bundled_encoder):
    small = of_pairs("Three", ["night birds", "baking", "tax"], ["Owls hunt.", "Bread rises.", "Pay by May."])
    assert finish(retrieval(bundled_encoder, small)).score(MODEL_DEFAULT, "Recall@100") == 100


def test_a_file_of_queries_and_passages_is_a_task(tmp_path):
    file = tmp_path / "help.csv"
    file.write_text("query,passage\nnight birds,Owls hunt at night.\nbaking,Bread rises in the warm.\n")
    task = tasks.load(str(file), Options())
    assert task.data.split == "all"
    measured = finish(task.score(Subject(find(BUNDLED)), Options()))
    assert (measured.measures, len(measured.titles)) == (MEASURES, 31)


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
    assert found.title == TITLES[best]
    assert found.score == pytest.approx(own, abs=1e-4)
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


def test_the_interval_of_the_model_default_is_about_two_standard_errors_each_way():
    default = noise(1)[-1]
    found = intervals(TITLES, noise(1), QUERIES, every=False)
    error = 100 * default.std(ddof=1) / np.sqrt(len(default))
    assert found.low == pytest.approx(100 * default.mean() - 1.96 * error, abs=error / 4)
    assert found.high == pytest.approx(100 * default.mean() + 1.96 * error, abs=error / 4)


def test_nothing_is_chosen_of_a_few_layers_or_by_a_few_queries():
    assert intervals(TITLES, noise(1), QUERIES, every=False).choice is None
    assert intervals(TITLES, noise(1)[:, :9], QUERIES[:9], every=True) is None
    assert intervals(TITLES, noise(1)[:, :19], QUERIES[:19], every=True).choice is None
    assert intervals(TITLES, noise(1)[:, :20], QUERIES[:20], every=True).choice


def test_a_layer_without_a_ranking_is_never_chosen():
    scores = noise(2)
    scores[:-1] = np.nan
    assert intervals(TITLES, scores, QUERIES, every=True).choice.title == "model default"


def test_a_model_default_without_a_ranking_has_no_interval():
    scores = noise(2)
    scores[-1] = np.nan
    assert intervals(TITLES, scores, QUERIES, every=True) is None


def test_interval_and_choice_are_told_in_words():
    found = intervals(TITLES, noise(3), QUERIES, every=True)
    one = found.choice
    for part in (f"{found.low:.2f} to {found.high:.2f}", one.title, f"{one.score:.2f}", f"{one.low:+.2f} to"):
        assert part in intervals_text(found)
    assert "Chosen" not in intervals_text(replace(found, choice=None))
