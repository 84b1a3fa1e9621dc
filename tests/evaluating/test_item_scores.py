"""Test that texts are encoded once for every layer & pooling, and scores of queries, triplets and labelled rows."""

import gc
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from explorer.data import sample
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.retrieval_sets import of_pairs
from explorer.data.set_items import size_of
from explorer.data.text_sets import Labelled, Triplets, related_pairs
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import GRID_POOLINGS, MODEL_DEFAULT, OWN, Reading, parse
from explorer.errors import BadChoice, NotWritable
from explorer.evaluating import encoded as module
from explorer.evaluating.encoded import encoded, titles_of
from explorer.evaluating.kinds import judge_of, judged
from explorer.evaluating.kinds.item_scores import ONE_VECTOR, score_items
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.best_cell import choose
from explorer.measuring.scores.bootstrap import mean_difference
from explorer.measuring.scores.judge import COSINE, FIRST, RANK
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish

ALSO = (parse("last of layer 1", 2),)


def sets_of_every_kind():
    rows = sample.triplets()
    some = Triplets("triplets", rows.anchors[:30], rows.positives[:30], rows.negatives[:30])
    texts = rows.anchors[:60] + rows.negatives[:60]
    labels = tuple("question" if number % 2 else "statement" for number in range(120))
    return {
        "queries": of_pairs("queries", some.anchors, some.positives, some.negatives),
        "triplets": some,
        "rows": LabelledSet("rows", Labelled("rows", texts, labels)),
    }


@pytest.mark.parametrize("kind", sets_of_every_kind())
def test_each_layer_and_pooling_has_what_its_judge_gives_to_vectors_of_its_own(encoder, kind):
    import torch

    given = sets_of_every_kind()[kind]
    scores = finish(score_items(encoder, judge_of(given, encoder), also=ALSO))
    judge = judge_of(given, encoder)
    titles = ["mean of layer 2", "max of layer 1", "last of layer 1", MODEL_DEFAULT]
    found = finish(encoded(encoder, judge.texts, titles=titles))
    if kind == "rows":
        judge = judge.settled(torch.from_numpy(found.of(MODEL_DEFAULT)))
    among = f" among {len(given.documents)} passages" if kind == "queries" else ""
    assert size_of(judge) == size_of(given) == f"{len(scores.gold):,} {kind}{among}"
    for title in titles[:-1]:
        reading = parse(title, 2)
        items = judge.items(torch.from_numpy(found.of(title)))
        assert np.array_equal(scores.items_of(reading, scores.metrics[0]), items)
        assert scores.score(reading, scores.metrics[0]) == pytest.approx(judge.score(items))


def test_a_layer_whose_texts_all_have_one_vector_has_no_score_and_a_metric_of_another_set_is_refused(encoder):
    scores = finish(score_items(encoder, judge_of(sets_of_every_kind()["queries"], encoder)))
    first = parse("cls of layer 0", 2)
    assert np.isnan(scores.score(first, "nDCG@10"))
    assert scores.why_not_measured(first) == ONE_VECTOR
    assert first.title in scores.not_measured_text
    scores = finish(score_items(encoder, judge_of(sets_of_every_kind()["triplets"], encoder)))
    with pytest.raises(BadChoice, match="accuracy"):
        scores.score(parse("mean of layer 1", 2), "Spearman")


def test_ranks_are_those_of_a_full_search(encoder):
    given = sets_of_every_kind()["queries"]
    scores = finish(score_items(encoder, judge_of(given, encoder)))
    judge = judge_of(given, encoder)
    vectors = finish(encoded(encoder, judge.texts, titles=["mean of layer 2"])).of("mean of layer 2")
    vectors = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    place = {text: at for at, text in enumerate(judge.texts)}
    documents = vectors[[place[text] for text in given.documents]]
    ranks, nearest, firsts = [], [], []
    for query, right in zip(given.queries, given.judgements, strict=True):
        cosines = documents @ vectors[place[query]]
        nearest.append(cosines[list(right)].max())
        firsts.append(int(cosines.argmax()))
        ranks.append(1 + (cosines > cosines[list(right)].max() + 1e-9).sum())
    assert scores.details_of(parse("mean of layer 2", 2))[RANK].tolist() == ranks
    assert scores.details_of(parse("mean of layer 2", 2))[FIRST].tolist() == firsts
    assert scores.details_of(parse("mean of layer 2", 2))[COSINE] == pytest.approx(nearest, abs=1e-6)


def test_differences_are_of_a_paired_bootstrap_and_the_best_layer_of_some_items_is_compared_on_the_others(
    encoder,
):
    scores = finish(score_items(encoder, judge_of(sets_of_every_kind()["queries"], encoder)))
    one, other = parse("mean of layer 1", 2), parse("max of layer 2", 2)
    for metric in ("nDCG@10", "Recall@1"):
        found = Comparison(scores, scores, one, other).chosen(metric)
        slow = mean_difference(scores.items_of(one, metric), scores.items_of(other, metric))
        assert [float(x) for x in (found.difference, found.low, found.high)] == pytest.approx(
            [float(x) for x in (slow.difference, slow.low, slow.high)]
        )
    dev, test = scores.of_pairs(range(0, 30, 2)), scores.of_pairs(range(1, 30, 2))
    found = choose(dev, test, "MRR@10")
    table = {reading: dev.score(reading, "MRR@10") for reading in dev.grid}
    assert found.dev_score == max(score for score in table.values() if not np.isnan(score))
    assert found.test_score == pytest.approx(100 * scores.items_of(found.best, "MRR@10")[1::2].mean())


@pytest.mark.parametrize("kind", sets_of_every_kind())
def test_scores_are_stored_with_all_that_is_asked_of_them(model, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    given, found = sets_of_every_kind()[kind], find(str(model))
    if kind == "rows":  # with splits there are no folds
        given = replace(given, dev=given.train, test=given.train)
    first = finish(judged(given).measured(found, Settings(), also=ALSO))
    loaded = []
    again = finish(judged(given).measured(found, Settings("bfloat16"), lambda *_: loaded.append(1), also=ALSO))
    assert not loaded, "in float32 whatever is chosen, so the stored ones serve"
    for reading in (*first.grid, *ALSO):
        for metric in first.metrics:
            assert np.array_equal(first.items_of(reading, metric), again.items_of(reading, metric), equal_nan=True)
    assert [*again.details] == {"queries": [RANK, COSINE, FIRST], "triplets": [COSINE], "rows": []}[kind]
    for reading in first.grid:
        for name, each in first.details_of(reading).items():
            assert np.array_equal(each, again.details_of(reading)[name], equal_nan=True)
    assert judged(replace(given, name="another name")).key(found, Settings()) == judged(given).key(found, Settings())


def test_items_are_the_texts_that_a_score_is_of_and_their_right_answer():
    sets = sets_of_every_kind()
    for given in sets.values():
        assert len(next(iter(given.text_columns.values()))) == len(given)
    query, passage = sets["queries"].shown_columns.values()
    rows = sample.triplets()
    assert (query[3], passage[3]) == (rows.anchors[3], rows.positives[3])
    assert related_pairs(sets["rows"]) is None
    assert set(related_pairs(sets["triplets"]).gold) == {0.0, 1.0}


TEXTS = ("a man plays a guitar", "no", "the dog runs", "no", "two women talk about the weather", "a man plays a guitar")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_every_title_has_the_vectors_of_its_layer_and_pooling_in_the_order_of_the_texts(tiny_encoder):
    found = finish(encoded(tiny_encoder, TEXTS))
    cells = [Reading(row, pooling) for row in tiny_encoder.rows for pooling in GRID_POOLINGS]
    assert found.titles == (*(cell.title for cell in cells), "model default") == titles_of(tiny_encoder)
    for cell in cells:
        vectors = found.of(cell.title)
        assert vectors.dtype == np.float32
        assert np.array_equal(vectors, finish(of_reading(tiny_encoder, TEXTS, cell)))


def test_a_declared_default_is_used_else_the_mean_of_the_last_layer(bundled_encoder, tiny_encoder):
    found = finish(encoded(bundled_encoder, TEXTS, titles=("cls of layer 1",)))
    assert found.titles == ("cls of layer 1", "model default")
    assert np.array_equal(found.of("model default"), finish(of_reading(bundled_encoder, TEXTS, OWN)))
    assert not np.allclose(found.of("model default"), finish(encoded(bundled_encoder, TEXTS)).of("mean of layer 6"))
    assert tiny_encoder.head is None
    found = finish(encoded(tiny_encoder, TEXTS))
    assert np.array_equal(found.of("model default"), found.of("mean of layer 2"))
    assert finish(encoded(tiny_encoder, ())).of("model default").shape == (0, tiny_encoder.width)
    told = []
    finish(encoded(tiny_encoder, TEXTS), told.append)
    assert (told[-1].text, told[-1].done, told[-1].total) == ("encoding texts", 4, 4)


def test_a_text_that_occurs_twice_is_encoded_once_and_cut_at_the_limit(tiny_encoder, monkeypatch):
    seen = []
    real = type(tiny_encoder).parts
    monkeypatch.setattr(
        type(tiny_encoder), "parts", lambda self, texts, *how: seen.append(len(texts)) or real(self, texts, *how)
    )
    finish(encoded(tiny_encoder, TEXTS))
    assert seen == [4]
    found = finish(encoded(tiny_encoder, TEXTS, max_length=4))
    assert found.truncated == 3
    cell = Reading(tiny_encoder.rows[1], "max")
    assert np.array_equal(found.of(cell.title), finish(of_reading(tiny_encoder, TEXTS, cell, 4)))


def test_layers_and_poolings_outside_of_the_grid_are_encoded_if_they_are_named(tiny_encoder):
    asked = ("last of layer 1", "mean of layers 0-2", "max of layer 1", "mean of layers 1-1")
    found = finish(encoded(tiny_encoder, TEXTS, titles=asked))
    cells = "mean of layer 1", "max of layer 1", "last of layer 1", "mean of layers 0-2"
    assert found.titles == (*cells, "model default")
    for title in found.titles[:-1]:
        assert np.array_equal(found.of(title), finish(of_reading(tiny_encoder, TEXTS, parse(title, 2))))


@pytest.mark.parametrize("title", ["mean of layer 9", "mean"])
def test_a_title_that_does_not_exist_is_answered_with_what_can_be_named(tiny_encoder, title):
    with pytest.raises(BadChoice, match=rf"no layer & pooling '{title}' here.* a layer from 0 to 2, two layers, or"):
        finish(encoded(tiny_encoder, TEXTS, titles=(title,)))
    with pytest.raises(BadChoice, match=rf"no vectors of '{title}'"):
        finish(encoded(tiny_encoder, TEXTS)).of(title)


def test_the_file_has_no_name_and_its_space_is_reserved(tiny_encoder, folder):
    found = finish(encoded(tiny_encoder, TEXTS))
    assert list(folder.iterdir()) == []
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line]
    assert len(mapped) == 1
    assert "(deleted)" in mapped[0]
    del found
    gc.collect()
    assert str(folder) not in Path("/proc/self/maps").read_text()


def test_a_disk_that_is_too_small_is_refused_before_anything_is_encoded(tiny_encoder, folder, monkeypatch):
    need = 4 * 4 * tiny_encoder.width * len(titles_of(tiny_encoder))
    monkeypatch.setattr(type(tiny_encoder), "parts", lambda *_: pytest.fail("encoded"))
    monkeypatch.setattr(module, "SPARE", 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=need - 1))
    with pytest.raises(NotWritable, match=r"The vectors need 8.19 KB in .*cache, where .* are free\. Choose fewer"):
        finish(encoded(tiny_encoder, TEXTS))


def test_a_disk_that_fills_up_meanwhile_is_an_error_and_no_kill(tiny_encoder, folder, monkeypatch):
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NotWritable, match=r"cannot hold the vectors.*No space left on device\. Make room"):
        finish(encoded(tiny_encoder, TEXTS))
