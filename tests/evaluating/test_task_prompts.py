"""Test the prompts of tasks of every kind against sentence-transformers, and the rule of MTEB by hand."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from explorer.data import sample
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.retrieval_sets import retrieval_set
from explorer.data.text_sets import Labelled
from explorer.encoding.load import chosen_prompts
from explorer.encoding.locate.model_names import Found, of_folder
from explorer.evaluating import kinds, task_prompts
from explorer.evaluating.evaluation import evaluation
from explorer.evaluating.probes import logistic, order_of, probe_data
from explorer.evaluating.results import result_files, scored_task
from explorer.evaluating.results.result_files import ScoredModel
from explorer.evaluating.results.scored_task import MTEB, Options
from explorer.evaluating.tasks import Subject
from explorer.evaluating.tasks.clustering import Clustering
from explorer.evaluating.tasks.pair_classification import PairClassification
from explorer.evaluating.tasks.retrieval import Retrieval
from explorer.evaluating.tasks.sts import ScoredPairs
from explorer.evaluating.tasks.transfer import Classification
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.encoding.load.test_chosen_prompts import DOG, STS, TABLE, saved

PAIRS = sample.pairs().taken(range(30))
WORDS = ("man", "dog", "train", "city", "guitar", "ball")
DOCUMENTS = [f"{one} {other}" for one in WORDS for other in WORDS]
RELEVANT = {str(at): f"the {text}" for at, text in enumerate(DOCUMENTS[::5])}
SEARCH = retrieval_set("Search", "test", RELEVANT, {str(at): text for at, text in enumerate(DOCUMENTS)},
                       {(key, str(5 * int(key))): 1 for key in RELEVANT})  # fmt: skip
DRAWN = ["yes" if one else "no" for one in np.random.default_rng(2).random(len(DOCUMENTS)) < 0.5]
# split by split, since folds take seconds
LABELS = LabelledSet("moods", *(Labelled("moods", tuple(DOCUMENTS[at::3]), tuple(DRAWN[at::3])) for at in range(3)))
TABLE_OF_TASKS = {**TABLE, "Classification": "a city and ", "PairClassification": "p ", "Retrieval-query": "q "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("tasks"), TABLE_OF_TASKS, include_prompt=False)


@pytest.fixture(scope="module")
def opened(folder):
    return SentenceTransformer(str(folder), device="cpu")


@pytest.fixture(autouse=True)
def _own_results(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


def scored(folder, task, **options):
    found = of_folder("tiny", folder)
    models = [(ScoredModel("tiny", "", found.digest), Subject(found, Settings(device="cpu")))]
    evaluated = finish(evaluation(models, [task.name], Options(**options), sets={task.name: task}))
    assert (evaluated.failed, evaluated.missing) == ((), ())
    return evaluated


def of_queries(opened, query, document):
    judged = {key: {str(5 * int(key))} for key in RELEVANT}
    corpus = {str(at): text for at, text in enumerate(DOCUMENTS)}
    evaluator = InformationRetrievalEvaluator(
        RELEVANT, corpus, judged, write_csv=False, query_prompt=query, corpus_prompt=document
    )
    return 100 * evaluator(opened)["cosine_ndcg@10"]


def test_scored_pairs_are_scored_after_the_prompt_of_sentence_transformers(folder, opened):
    task = ScoredPairs("STS-B", PAIRS)
    cases = {"sts": STS, "a typed one: ": "a typed one: ", MTEB: DOG, None: None}  # STSBenchmark is STS-B
    for chosen, text in cases.items():
        first, second = (opened.encode(list(side), prompt=text) for side in (PAIRS.first, PAIRS.second))
        cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
        (result,) = scored(folder, task, prompt=chosen).results
        found = result.measured.items.values
        np.testing.assert_allclose(found, cosines, atol=1e-5, rtol=0)
        assert result.measured.score() == pytest.approx(100 * spearmanr(PAIRS.gold, found).statistic)
        assert (result.measured.setting.get("prompt"), result.task.settings.get("prompt")) == (text, chosen)


def test_labelled_texts_are_classified_after_the_prompt_of_sentence_transformers(folder, opened):
    (result,) = scored(folder, Classification("moods", LABELS), prompt=MTEB).results
    vectors = opened.encode(list(LABELS.texts), prompt="a city and ")
    data = probe_data(LABELS, vectors, {split: order_of(one) for split, one in LABELS.splits.items()})
    right = np.empty(len(LABELS.test))
    right[order_of(LABELS.test)] = finish(logistic.predictions(data, 1)) == data.scored.y
    assert result.measured.items.values.tolist() == right.tolist()
    (usual,) = scored(folder, Classification("moods", LABELS)).results
    assert usual.measured.items.values.tolist() != right.tolist(), "the premise"
    assert result.measured.setting["prompt"] == "a city and "


def test_queries_alone_have_the_prompt_and_documents_what_the_model_declares(folder, opened):
    task, found = Retrieval("Search", SEARCH), of_folder("tiny", folder)
    for options, query, document in (
        ({"prompt": "sts"}, STS, "the train "),
        ({"prompt": "sts", "query_prompt": "STSBenchmark", "document_prompt": ""}, DOG, ""),
        ({"prompt": MTEB}, "q ", "the train "),
        ({}, "women ", "the train "),
    ):
        (result,) = scored(folder, task, **options).results
        settings = result.measured.setting
        assert (settings["query prompt"], settings["document prompt"]) == (query, document)
        assert result.measured.score(measure="nDCG@10") == pytest.approx(of_queries(opened, query, document), abs=1e-3)
    judge = kinds.judged(SEARCH)
    of_sides = [
        finish(judge.measured(chosen_prompts.after(found, one), Settings(device="cpu"))).own_score("nDCG@10")
        for one in (None, "sts")
    ]
    assert of_sides[1] == pytest.approx(of_queries(opened, STS, "the train "), abs=1e-3)
    assert of_sides[0] == pytest.approx(of_queries(opened, "women ", "the train "), abs=1e-3)


def test_the_rule_of_mteb_takes_the_task_then_its_type_then_the_role(tmp_path):
    table = {"STS17": "1", "STS": "2", "query": "3", "Search-document": "4", "Retrieval": "5", "passage": "6"}

    def taken(kind, name, *roles, known=table):
        (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"prompts": known}))
        return task_prompts.by_rule(Found("m", tmp_path, ""), kind(name, None), *roles)

    without = {name: text for name, text in table.items() if name in ("query", "passage")}
    assert taken(ScoredPairs, "STS17") == "1"
    assert taken(ScoredPairs, "STS12") == taken(ScoredPairs, "mine.tsv") == "2"
    assert taken(Retrieval, "Search", "document", "passage") == "4"
    assert taken(Retrieval, "Search", "query") == "5"
    assert taken(Retrieval, "Search", "query", known=without) == "3"
    assert taken(Retrieval, "Search", "document", "passage", known=without) == "6"
    assert taken(Clustering, "C") is taken(PairClassification, "P") is taken(ScoredPairs, "STS17", known={}) is None


def test_a_result_after_another_prompt_is_another_result(folder):
    task = ScoredPairs("STS-B", PAIRS)
    known = [scored(folder, task, **({"prompt": one} if one else {})) for one in ("sts", "own", None)]
    assert not any(one.reused for one in known)
    assert scored(folder, task, prompt="own").reused, "the same prompt again"
    assert len({one.columns[0].digest for one in known}) == 3
    labels = scored_task.labels([one.columns[0] for one in known])
    assert [*labels.values()] == ["STS-B (after the prompt 'sts')", "STS-B (after the prompt 'own')", "STS-B"]
    (result,) = known[0].results
    assert result_files.read(result_files.path_of(result.model, result.task)).measured.setting["prompt"] == STS
    evaluated = finish(evaluation(
        [(ScoredModel("tiny", "", "d"), Subject(of_folder("tiny", folder)))], ["STS-B"], Options(prompt="sts_query"),
        sets={"STS-B": task},
    ))  # fmt: skip
    assert "no prompt named 'sts_query'. Its table has: Classification, " in evaluated.failed[0]
