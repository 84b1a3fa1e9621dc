"""Test clustering against scikit-learn on vectors of sentence-transformers, and its interval against a slow loop."""

import gzip
import json
import random
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import v_measure_score

from explorer.data import sample
from explorer.data.labelled import clustering_sets
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import DataError, SetNotFound, TooFewRows, UnreadableFile
from explorer.evaluating import tasks
from explorer.evaluating.evaluation import evaluation
from explorer.evaluating.probes import clusters
from explorer.evaluating.results.result_files import ScoredModel, path_of
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import Subject, clustering
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.tiny_models import save_tiny

NAME = "TwentyNewsgroupsClustering"
LABELS = ["guitar", "dog", "city", "ball"] * 20
TEXTS = [f"{text} {label}" for text, label in zip(sample.pairs().first[:80], LABELS, strict=True)]
SETS = [{"sentences": TEXTS[:50], "labels": LABELS[:50]}, {"sentences": TEXTS[30:], "labels": LABELS[30:]}]
ROWS = [{"sentences": text, "labels": label} for text, label in zip(TEXTS, LABELS, strict=True)]
DRAWN, ENCODED = 100, 60  # in place of MTEB's, which take seconds


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of data with a small set in place of the published one."""
    write(tmp_path / "data" / NAME / "test.jsonl.gz", SETS)
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    (split,) = clustering_sets.NEWSGROUPS.splits
    known = replace(clustering_sets.NEWSGROUPS, splits=(replace(split, rows=100),), classes=4)
    monkeypatch.setattr(clustering_sets, "SETS", (known,))
    monkeypatch.setattr(clustering_sets, "SHARE", ENCODED / 100)
    monkeypatch.setattr(clustering, "DRAWN", DRAWN)
    return tmp_path


def measured(place, task, **options):
    found = of_folder("tiny", save_tiny("bert", place / "tiny"))
    model = ScoredModel("tiny", "local-1", found.digest)
    work = evaluation([(model, Subject(found, Settings("float32", "cpu")))], [task], Options(**options))
    (result,) = finish(work).results
    return result


def encode(place, texts):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(place / "tiny"), device="cpu").encode(texts)


def test_sets_have_the_mean_v_measure_of_scikit_learn_on_vectors_of_sentence_transformers(place):
    result = measured(place, NAME, titles=("mean of layer 2", "cls of layer 1"))
    scores = []
    for one in SETS:
        model = MiniBatchKMeans(n_clusters=4, batch_size=500, n_init="auto", random_state=42)
        scores.append(v_measure_score(one["labels"], model.fit(encode(place, one["sentences"])).labels_))
    found = result.measured
    assert found.titles == ("cls of layer 1", "mean of layer 2", "model default")
    for title in found.titles[1:]:
        assert found.score(title) == pytest.approx(100 * np.mean(scores), abs=1e-3)
    assert found.score("cls of layer 1") != pytest.approx(found.score(), abs=0.1)
    low, high = found.ends["v_measure"]
    assert low < found.score() < high
    content = json.loads((path_of(result.model, result.task).parents[2] / f"{NAME}.json").read_text())
    assert content["scores"]["test"][0]["main_score"] == content["scores"]["test"][0]["v_measure"]


def test_a_sample_is_drawn_and_clustered_as_by_mteb(place):
    result = measured(place, f"{NAME}.v2")
    texts, labels = ([cell for one in SETS for cell in one[side]] for side in ("sentences", "labels"))
    stream = random.Random(42)
    kept = stream.sample(range(len(texts)), k=ENCODED)
    vectors, scores = encode(place, [texts[row] for row in kept]), []
    for _ in range(10):
        rows = stream.choices(range(ENCODED), k=DRAWN)
        model = MiniBatchKMeans(n_clusters=4, batch_size=512, init="k-means++", n_init=1, random_state=42)
        scores.append(v_measure_score([labels[kept[row]] for row in rows], model.fit_predict(vectors[rows])))
    assert result.measured.titles == ("model default",)
    assert result.measured.score() == pytest.approx(100 * np.mean(scores), abs=1e-3)
    assert result.task.digest != tasks.load(NAME, Options()).key(Options(), Settings("float32", "cpu")).digest


def test_the_interval_is_that_of_resampled_texts_that_are_scored_one_by_one(monkeypatch):
    monkeypatch.setattr(clusters, "RESAMPLES", 60)
    draws = np.random.default_rng(1)
    labels = draws.integers(0, 3, 40)
    texts = np.arange(40) % 35  # five texts occur twice
    drawn = [np.arange(25), np.arange(15, 40)]
    found = [np.where(draws.random(25) < 0.7, labels[rows], draws.integers(0, 4, 25)) for rows in drawn]
    scores = []
    for times in np.random.default_rng(0).multinomial(35, np.full(35, 1 / 35), size=60):
        of_sets = []
        for rows, of in zip(drawn, found, strict=True):
            again = np.repeat(np.arange(25), times[texts[rows]])
            of_sets.append(v_measure_score(labels[rows][again], of[again]))
        scores.append(100 * np.mean(of_sets))
    score = 100 * np.mean([v_measure_score(labels[rows], of) for rows, of in zip(drawn, found, strict=True)])
    assert clusters.mean_v_measure(labels, drawn, found) == pytest.approx(score)
    expected = score + np.quantile(np.array(scores) - np.mean(scores), [0.025, 0.975])
    assert clusters.ends(labels, texts, drawn, found) == pytest.approx(expected, abs=1e-6)


def test_a_folder_has_sets_or_rows_and_more_rows_than_are_encoded_are_sampled(place, monkeypatch):
    write(place / "sets/test.jsonl", SETS)
    write(place / "rows/test.jsonl.gz", ROWS)
    of_sets, of_rows = (tasks.load(str(place / name), Options()) for name in ("sets", "rows"))
    assert (of_sets.kind, of_rows.kind) == ("clustering", "clustering")
    assert [len(rows) for rows in of_sets.drawn] == [50, 50]
    assert (len(of_rows.data), [len(rows) for rows in of_rows.drawn]) == (80, [DRAWN] * 10)
    monkeypatch.setattr(clustering_sets, "ENCODED", ENCODED)
    few = tasks.load(str(place / "rows"), Options()).data
    assert (len(few), few.total) == (ENCODED, 80)
    assert {*zip(few.texts, few.labels, strict=True)} < {*zip(TEXTS, LABELS, strict=True)}


@pytest.mark.parametrize(
    ("records", "error", "message"),
    [
        ([{**row, "labels": "dog"} for row in ROWS], DataError, "Every text of mine has the label 'dog'"),
        ([{**row, "labels": ""} for row in ROWS[:1]] + ROWS, DataError, "line 1 has a text without a label"),
        ([{**row, "labels": at} for at, row in enumerate(ROWS)], TooFewRows, "80 labels of 80 texts"),
        ([], UnreadableFile, r"test\.jsonl is empty"),
    ],
)
def test_what_cannot_be_clustered_is_refused_with_its_reason(tmp_path, records, error, message):
    write(tmp_path / "mine/test.jsonl", records)
    with pytest.raises(error, match=message):
        tasks.load(str(tmp_path / "mine"), Options())


def test_a_published_set_that_is_not_there_or_is_cut_off_is_refused(place, monkeypatch):
    write(place / "data" / NAME / "test.jsonl.gz", SETS[:1])
    with pytest.raises(DataError, match="50 texts of 4 classes here, but 100 of 4 as published"):
        tasks.load(NAME, Options())
    monkeypatch.setenv("STRATA_DATA", str(place / "nothing"))
    with pytest.raises(SetNotFound, match=rf"(?s)no .*{NAME}/test\.tsv, and mteb/twentynewsgroups-clustering is not"):
        tasks.load(f"{NAME}.v2", Options())
