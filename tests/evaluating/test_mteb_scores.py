"""Test the STS tasks of MTEB(eng, v2): scores of sentence-transformers and scipy, the mean, and the files for mteb."""

import gzip
import json
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sentence_transformers import SentenceTransformer

from explorer.encoding.locate.model_names import of_folder
from explorer.evaluating import tasks
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.result_table import models
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import Subject
from explorer.evaluating.tasks.sts import NEWS, OF_MTEB
from explorer.measuring.neighbours.rankings import MEASURES
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.evaluating.results_by_hand import measured, result, task
from tests.tiny_models import SENTENCES, save_tiny

SETTINGS = {"text": "raw", "max_length": None, "precision": "float32", "device": "cpu"}
MODEL = ScoredModel("org/model", "abc123", "d" * 64)


@pytest.fixture
def news(tmp_path, monkeypatch):
    """The subsets of 8 and of 28 pairs, of articles with line ends."""
    drawn = np.random.default_rng(0)
    rows = [
        {
            "sentence1": "\n\n".join(drawn.choice(SENTENCES, 3)),
            "sentence2": " ".join(drawn.choice(SENTENCES, 2)),
            "score": float(drawn.integers(3, 13)) / 3,
            "lang": lang,
        }
        for lang in ["fr-pl"] * 8 + ["de-pl"] * 28
    ]
    path = tmp_path / "sts22-crosslingual-sts/data/test.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    return rows


def test_the_subsets_of_sts22_score_as_by_sentence_transformers_and_share_a_file_for_mteb(news, tmp_path):
    folder = save_tiny("bert", tmp_path / "tiny")
    theirs, subject = SentenceTransformer(str(folder), device="cpu"), of_folder("tiny", folder)
    expected = {}
    for lang in ("fr-pl", "de-pl"):
        rows = [row for row in news if row["lang"] == lang]
        first, second = (theirs.encode([row[key] for row in rows]) for key in ("sentence1", "sentence2"))
        cosines = theirs.similarity_pairwise(first, second).double().numpy()
        gold = [row["score"] for row in rows]
        expected[lang] = spearmanr(gold, cosines).statistic, pearsonr(gold, cosines).statistic
        of_lang = tasks.load(f"STS22.v2-{lang}", Options())
        found = finish(of_lang.score(Subject(subject, Settings("float32", "cpu")), Options()))
        result_files.write(Result(MODEL, of_lang.key(Options(), Settings("float32", "cpu")), found), tmp_path / "out")
    content = json.loads((tmp_path / "out/org__model/abc123/STS22.v2.json").read_text())
    scores = {one["hf_subset"]: one for one in content["scores"]["test"]}
    assert content["task_name"] == "STS22.v2"
    assert {*scores} == {*expected}
    for lang, (spearman, pearson) in expected.items():
        assert scores[lang]["cosine_spearman"] == scores[lang]["main_score"] == pytest.approx(spearman, abs=1e-9)
        assert scores[lang]["cosine_pearson"] == pytest.approx(pearson, abs=1e-6)
    assert scores["de-pl"]["languages"] == ["deu-Latn", "pol-Latn"]


def test_the_mean_of_the_suite_is_that_of_its_nine_tasks():
    assert tasks.tasks_of("sts-mteb") == OF_MTEB
    assert tasks.tasks_of("sts22") == NEWS
    assert {"BIOSSES", "STS22.v2"} <= {*OF_MTEB}
    scores = {name: 60.0 + at * at for at, name in enumerate(OF_MTEB)}
    results = [result("m", name, score, measure="spearman") for name, score in scores.items()]
    (row,) = models(results)
    assert row.average([one.task for one in results]).mean == pytest.approx(fmean(scores.values()))
    assert row.average([one.task for one in results[1:]] + [task("STS16")]) is None


def written(tmp_path, name, kind="sts", **how):
    settings = SETTINGS if kind == "sts" else {}
    result_files.write(Result(MODEL, task(name, kind=kind, **settings), measured(80, **how)), tmp_path)
    return {path.name: json.loads(path.read_text()) for path in (tmp_path / "org__model/abc123").glob("*.json")}


def test_files_for_mteb_have_its_names_of_tasks_subsets_and_measures(tmp_path):
    for name in ("STS17", "STS17-ar-en", "SICK-R-all", "SICK-R", "BIOSSES", "STR-2022", "MR"):
        found = written(tmp_path, name, measure="spearman")
    assert {*found} - {"model_meta.json"} == {"STS17.json", "SICK-R.json", "BIOSSES.json", "MR.json"}
    assert found["SICK-R.json"]["strata"]["task"]["name"] == "SICK-R-all", "MTEB's task has all 9,927 pairs"
    subsets = {one["hf_subset"]: one["languages"] for one in found["STS17.json"]["scores"]["test"]}
    assert subsets == {"en-en": ["eng-Latn"], "en-ar": ["eng-Latn", "ara-Arab"]}
    (score,) = found["BIOSSES.json"]["scores"]["test"]
    assert score["main_score"] == score["cosine_spearman"] == score["spearman"] == 0.8
    (score,) = written(tmp_path, "X", "retrieval", measure=MEASURES[0])["X.json"]["scores"]["test"]
    assert score["main_score"] == score["ndcg_at_10"] == 0.8


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"task_name": "STS17", "scores": {"test": [3]}}', '{"scores": 1}'])
def test_a_file_of_another_program_is_replaced_and_a_subset_has_one_score(tmp_path, text):
    path = tmp_path / "org__model/abc123/STS17.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    for _ in range(2):
        (score,) = written(tmp_path, "STS17", measure="spearman")["STS17.json"]["scores"]["test"]
    assert score["hf_subset"] == "en-en"
