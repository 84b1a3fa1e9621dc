"""Test the NanoBEIR suite against NanoBEIREvaluator of sentence-transformers, on small sets in its layout."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import NanoBEIREvaluator
from sentence_transformers.sentence_transformer.evaluation import nano_beir as theirs

from explorer.data.graded import nano_beir
from explorer.encoding.locate.model_names import of_folder
from explorer.evaluating import tasks
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.result_table import models
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import Subject
from explorer.measuring.neighbours.rankings import MEASURES
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.spoiling import save_of_max
from tests.tiny_models import SENTENCES

SHORT = {"nq": "NanoNQ", "scifact": "NanoSciFact"}  # names of sentence-transformers
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})
SETTINGS = Settings("float32", "cpu")


class OfFolder(NanoBEIREvaluator):
    """Theirs, with tables of a folder in place of those that `datasets` downloads."""

    def _load_dataset_subset_split(self, subset, split, required_columns):
        rows = pq.read_table(f"{self.dataset_id}/{subset}/{split}-00000-of-00001.parquet").to_pylist()
        assert {*required_columns} <= {*rows[0]}
        return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two sets, in which phrases are searched among others that share some of their words."""
    folder = tmp_path_factory.mktemp("data") / "NanoBEIR-en"
    drawn = np.random.default_rng(0)
    for name in SHORT.values():
        phrases = [drawn.permutation(WORDS).tolist() for _ in range(30)]
        texts = [" ".join(words[:shared] + words[5 : 10 - shared]) for shared in (4, 3) for words in phrases]
        judged = [(at, at) for at in range(12)] + [(0, 33), (1, 34), (1, 2)]
        tables = {
            "corpus": [{"_id": f"d{at}", "text": text} for at, text in enumerate([*texts, ""])],
            "queries": [{"_id": f"q{at}", "text": " ".join(words[:5])} for at, words in enumerate(phrases[:12])],
            "qrels": [{"query-id": f"q{query}", "corpus-id": f"d{at}"} for query, at in judged],
        }
        for table, rows in tables.items():
            path = folder / table / f"{name}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist(rows), path)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model that declares prompts for queries and documents."""
    found = save_of_max(tmp_path_factory.mktemp("declared") / "tiny")
    prompts = {"prompts": {"query": "the guitar and ", "document": "a train is "}}
    (found / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return found


@pytest.fixture
def results(data, model, monkeypatch):
    small = (replace(one, documents=61, queries=12) for one in nano_beir.SETS)
    monkeypatch.setattr(nano_beir, "SETS", tuple(small))
    monkeypatch.setenv("STRATA_DATA", str(data.parent))
    subject, options = Subject(of_folder("tiny", model), SETTINGS), Options(titles=("model default",))
    found = []
    for name in SHORT.values():
        task = tasks.load(name, options)
        measured = finish(task.score(subject, options))
        found.append(Result(ScoredModel("org/tiny", "1", "d"), task.key(options, SETTINGS), measured))
    return found


def test_scores_and_their_mean_are_those_of_sentence_transformers(results, data, model, monkeypatch):
    monkeypatch.setattr(theirs, "is_datasets_available", lambda: True)
    evaluator = OfFolder([*SHORT], dataset_id=str(data), precision_recall_at_k=[1, 10, 100], write_csv=False)
    expected = evaluator(SentenceTransformer(str(model), device="cpu"))
    (row,) = models(results)
    for measure in MEASURES:
        for one in results:
            score = 100 * expected[f"{one.task.name}_cosine_{measure.lower()}"]
            assert one.measured.score(measure=measure) == pytest.approx(score, abs=1e-9), (one.task.name, measure)
        mean = row.average([one.task for one in results], measure=measure).mean
        assert mean == pytest.approx(100 * expected[f"NanoBEIR_mean_cosine_{measure.lower()}"], abs=1e-9)
    assert 5 < results[0].measured.score() < 95, "the premise: some queries are answered"
    assert results[0].measured.setting["query prompt"] == "the guitar and "


def test_the_suite_has_the_sets_of_sentence_transformers_under_names_that_mteb_knows_too(results, tmp_path):
    assert tasks.tasks_of("nanobeir") == tuple(f"Nano{name}" for name in theirs.DATASET_NAME_TO_HUMAN_READABLE.values())
    assert tasks.named("NanoClimateFeverRetrieval") == "NanoClimateFEVER"
    assert tasks.named("nano-nq") == "NanoNQ"
    result_files.write(results[0], tmp_path)
    content = json.loads((tmp_path / "org__tiny/1/NanoNQRetrieval.json").read_text())
    (score,) = content["scores"]["train"]
    assert content["task_name"] == "NanoNQRetrieval"
    assert score["main_score"] == score["ndcg_at_10"] == results[0].measured.score() / 100
    assert score["recall_at_10"] == results[0].measured.score(measure="Recall@10") / 100
