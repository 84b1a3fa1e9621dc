"""Test the accuracy of translations against sentence-transformers and slow loops, and how a file of them is known."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import TranslationEvaluator

from explorer.data import sample, sources
from explorer.encoding.read.pooling import parse
from explorer.evaluating import kinds, tasks
from explorer.evaluating.encoded import encoded
from explorer.evaluating.kinds.item_scores import ONE_VECTOR, score_items
from explorer.evaluating.kinds.translations import BOTH, TO_SOURCE, TO_TRANSLATION, Translations
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks.item_sets import ItemSets
from explorer.measuring.scores.judge import COSINE
from explorer.progress import finish

COUNT = 24
NAME = "Q. Ñandú"  # equal to its translation


def rows():
    """Paraphrases in place of translations, a text with two translations, two texts with one, and a name."""
    given = sample.triplets()
    pairs = list(zip(given.anchors[:COUNT], given.positives[:COUNT], strict=True))
    return [*pairs, (pairs[0][0], given.positives[COUNT]), (given.anchors[COUNT], pairs[1][1]), (NAME, NAME)]


def written(path, headings, given):
    path.write_text("\n".join(json.dumps(dict(zip(headings, row, strict=True))) for row in given), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    file = written(tmp_path_factory.mktemp("sets") / "pairs.jsonl", ("source", "translation"), rows())
    return kinds.run_set(sources.identity(file))


@pytest.fixture(scope="module")
def scores(encoder, given):
    return finish(score_items(encoder, kinds.judge_of(given, encoder)))


def test_accuracies_are_those_of_sentence_transformers(model, scores):
    evaluator = TranslationEvaluator(*map(list, zip(*rows(), strict=True)), write_csv=False)
    theirs = evaluator(SentenceTransformer(str(model), device="cpu"))
    names = {BOTH: "mean_accuracy", TO_TRANSLATION: "src2trg_accuracy", TO_SOURCE: "trg2src_accuracy"}
    assert scores.metrics == (*names,)
    assert 0 < theirs["mean_accuracy"] < 1
    for measure, name in names.items():
        assert scores.score(parse("mean of layer 2", 2), measure) == pytest.approx(100 * theirs[name], abs=1e-9)


@pytest.mark.parametrize("title", ["max of layer 1", "cls of layer 2", "mean of layers 0 + 2"])
def test_items_are_those_of_loops_over_all_cosines(encoder, scores, title):
    texts = list(dict.fromkeys(text for row in rows() for text in row))
    found = finish(encoded(encoder, texts, titles=[title])).of(title).astype(np.float64)
    vectors = dict(zip(texts, found / np.linalg.norm(found, axis=1, keepdims=True), strict=True))
    there, back, cosines = [], [], []
    for source, translation in rows():
        there.append(float(translation == max(rows(), key=lambda row: vectors[source] @ vectors[row[1]])[1]))
        back.append(float(source == max(rows(), key=lambda row: vectors[translation] @ vectors[row[0]])[0]))
        cosines.append(vectors[source] @ vectors[translation])
    reading = parse(title, 2)
    assert scores.items_of(reading, TO_TRANSLATION).tolist() == there
    assert scores.items_of(reading, TO_SOURCE).tolist() == back
    assert scores.items_of(reading, BOTH).tolist() == [
        (one + other) / 2 for one, other in zip(there, back, strict=True)
    ]
    assert scores.details_of(reading)[COSINE] == pytest.approx(cosines, abs=1e-6)


def test_a_layer_whose_texts_all_have_one_vector_has_no_accuracy(scores):
    first = parse("cls of layer 0", 2)
    assert np.isnan(scores.score(first, BOTH))
    assert scores.why_not_measured(first) == ONE_VECTOR


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        (("source", "translation"), True),
        (("English", "non_english"), True),
        (("text", "Translation"), True),
        (("query", "passage"), False),
        (("first", "second"), False),
    ],
)
def test_a_file_is_known_by_the_names_of_its_columns(tmp_path, headings, expected):
    file = written(tmp_path / "pairs.jsonl", headings, rows())
    task = tasks.load(file, Options())
    assert isinstance(task.data, Translations) == isinstance(task, ItemSets) == expected
    if expected:
        found = kinds.run_set(sources.identity(file))
        assert list(zip(found.source, found.translation, strict=True)) == rows()
        assert found.digest == task.data.digest


def test_a_score_makes_translations_scored_pairs_and_a_source_is_a_sub_corpus_beside_named_texts(tmp_path):
    graded = [(*row, number % 5) for number, row in enumerate(rows())]
    file = written(tmp_path / "graded.jsonl", ("source", "translation", "score"), graded)
    found = kinds.run_set(sources.identity(file))
    assert (found.first, found.second) == tuple(zip(*rows(), strict=True))
    assert set(found.parts) == {""}
    named = [(*row, "news" if number % 2 else "web") for number, row in enumerate(rows())]
    file = written(tmp_path / "named.jsonl", ("text", "translation", "source"), named)
    found = kinds.run_set(sources.identity(file))
    assert isinstance(found, Translations)
    assert [one.name for one in found.split_columns] == ["source", "length"]


def test_some_rows_are_a_set_of_their_own(given):
    part = given.taken([2, 0])
    assert list(zip(part.source, part.translation, strict=True)) == [rows()[2], rows()[0]]
    assert part.digest != given.digest
    assert list(part.related) == [(*rows()[2], 1.0), (*rows()[0], 1.0)]
