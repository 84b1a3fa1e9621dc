"""Test pair classification against scikit-learn and a slow loop, on vectors of sentence-transformers."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import average_precision_score

from explorer.data import sample
from explorer.data.graded import sts
from explorer.data.labelled import pair_classification
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import BadScores, DataError, SetNotFound, UnreadableFile
from explorer.evaluating import tasks
from explorer.evaluating.evaluation import evaluation
from explorer.evaluating.results.result_files import ScoredModel, path_of
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import Subject
from explorer.evaluating.tasks.pair_classification import PairClassification
from explorer.evaluating.tasks.word_models import WordSubject
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.tiny_models import save_tiny

NAME = "TwitterSemEval2015"
PAIRS = sample.pairs()
ROWS = {
    "sentence1": list(PAIRS.first[:60]),
    "sentence2": list(PAIRS.second[:60]),
    "labels": [int(score > 3) for score in PAIRS.gold[:60]],
}
ONES = sum(ROWS["labels"])


def write_lines(path, rows=ROWS):
    """A row for each pair, as MTEB's newer files have them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(dict(zip(rows, row, strict=True))) + "\n" for row in zip(*rows.values(), strict=True))
    path.write_text(text, encoding="utf-8")


def write_lists(path, rows=ROWS):
    """One row of lists, as MTEB's older files have them, compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))


def write_parquet(path, rows=ROWS):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: [cells] for name, cells in rows.items()}), path)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of data with a small set in place of a published one."""
    write_lists(tmp_path / "data" / NAME / "test.jsonl.gz")
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    known = sts.named(NAME, pair_classification.SETS)
    split = replace(known.splits[0], rows=60, sizes=(60 - ONES, ONES))
    monkeypatch.setattr(pair_classification, "SETS", (replace(known, splits=(split,)),))
    return tmp_path


def test_both_layouts_of_mteb_hold_the_same_pairs_in_every_format(tmp_path):
    write_lines(tmp_path / "lines/test.jsonl")
    write_lists(tmp_path / "lists/test.jsonl.gz")
    write_parquet(tmp_path / "hub/data/test-00000-of-00001.parquet")
    found = [tasks.load(str(tmp_path / name), Options()) for name in ("lines", "lists", "hub")]
    assert {type(one) for one in found} == {PairClassification}
    assert {one.data.digest for one in found} == {found[0].data.digest}
    assert list(found[0].data.first) == ROWS["sentence1"]
    assert list(found[0].data.gold) == ROWS["labels"]


def test_its_scores_are_those_of_scikit_learn_and_of_a_slow_loop_on_vectors_of_sentence_transformers(place):
    from sentence_transformers import SentenceTransformer

    model = of_folder("tiny", save_tiny("bert", place / "tiny"))
    scored, subject = ScoredModel("tiny", "local-1", model.digest), Subject(model, Settings("float32", "cpu"))
    (result,) = finish(evaluation([(scored, subject)], [NAME], Options())).results
    encoder = SentenceTransformer(str(place / "tiny"), device="cpu")
    one, other = (encoder.encode(ROWS[side]).astype(np.float64) for side in ("sentence1", "sentence2"))
    cosines = (one * other).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    labels = np.array(ROWS["labels"])
    right, f1 = [], []
    for threshold in cosines:
        positive = cosines >= threshold
        right.append((positive == labels).mean())
        f1.append(2 * (positive & (labels == 1)).sum() / (positive.sum() + labels.sum()))
    measured = result.measured
    expected = {
        "average precision": average_precision_score(labels, cosines),
        "F1": max(f1),
        "best accuracy": max(right),
    }
    assert measured.measures[:3] == tuple(expected)
    for title in ("mean of layer 2", "model default"):
        for measure, score in expected.items():
            assert measured.score(title, measure) == pytest.approx(100 * score, abs=1e-3)
    low, high = measured.ends["average precision"]
    assert low < measured.score() < high
    assert measured.score("cls of layer 1") != pytest.approx(measured.score(), abs=0.1)
    content = json.loads((path_of(scored, result.task).parents[2] / f"{NAME}.json").read_text())
    assert content["scores"]["test"][0]["main_score"] == pytest.approx(expected["average precision"], abs=1e-5)


def test_shared_words_are_a_baseline(place):
    found = finish(WordSubject("bag-of-words").score(tasks.load(NAME, Options()), Options()))
    assert (found.split, found.measures[0]) == ("test", "average precision")
    assert 100 * ONES / 60 < found.score() < 100


def test_another_version_of_a_published_set_is_refused_with_its_labels(place):
    write_lists(place / "data" / NAME / "test.jsonl.gz", ROWS | {"labels": [1, 0] * 30})
    with pytest.raises(DataError, match=rf"30 pairs of label 0, 30 .* but {60 - ONES} pairs of label 0 .* replace it"):
        tasks.load(NAME, Options())


def test_a_published_set_that_is_not_there_names_folder_and_hub(place, monkeypatch):
    monkeypatch.setenv("STRATA_DATA", str(place / "nothing"))
    with pytest.raises(
        SetNotFound, match=rf"(?s)no .*{NAME}/test\.tsv, and mteb/twittersemeval2015-pair.*first line: label"
    ):
        tasks.load(NAME, Options())


def test_one_label_and_an_empty_file_are_refused(tmp_path):
    write_lines(tmp_path / "one/test.jsonl", ROWS | {"labels": [1] * 60})
    with pytest.raises(BadScores, match="every score in 'labels' is 1"):
        tasks.load(str(tmp_path / "one"), Options())
    write_lines(tmp_path / "empty/test.jsonl", dict.fromkeys(ROWS, ()))
    with pytest.raises(UnreadableFile, match=r"test\.jsonl is empty"):
        tasks.load(str(tmp_path / "empty"), Options())


def test_a_folder_with_a_train_file_or_with_other_scores_is_of_another_kind(tmp_path):
    write_lines(tmp_path / "train and test/test.jsonl")
    write_lines(tmp_path / "train and test/train.jsonl")
    assert PairClassification.own(str(tmp_path / "train and test")) is None
    write_lines(tmp_path / "scores/test.jsonl", ROWS | {"labels": [score % 6 for score in range(60)]})
    assert PairClassification.own(str(tmp_path / "scores")) is None
