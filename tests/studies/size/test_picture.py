"""Test the size-quality picture and its parts against slow ways: a cut encoder, scikit-learn, scipy, and loops."""

import dataclasses
import json
import math
from functools import cache

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import quantize_embeddings
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from explorer.data import sample
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.sample import sentences
from explorer.data.sources import identity
from explorer.data.text_sets import Labelled, Sentences
from explorer.encoding.export.encode import OnnxEncoder
from explorer.encoding.locate.lookup import BUNDLED
from explorer.encoding.locate.model_names import find, of_folder
from explorer.encoding.read.pooling import parse
from explorer.encoding.tune.editing import cut
from explorer.encoding.tune.vocabulary import cut_vocabulary
from explorer.errors import BadChoice
from explorer.evaluating.kinds import evaluated_on, judge_of
from explorer.evaluating.kinds.labelled import SEED, LabelJudge
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.evaluating.probes.logistic import STRENGTHS, predictions
from explorer.evaluating.results import table_formats
from explorer.measuring.scores import similarity
from explorer.measuring.scores.verdict import Verdict
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.studies.size import picture as measuring
from explorer.studies.size import points as size_points
from explorer.studies.size import size_verdict, small_encoder
from explorer.studies.size.picture import besides, picture
from explorer.studies.size.points import COSTS, Point, Size, SizeOptions, front
from explorer.studies.size.smaller_vectors import INT8, ranges_of, step_of
from tests import exported_meaning
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny

WANTED = SizeOptions(
    layers=(3, 6), poolings=("model default", "mean"), dimensions=(64, 384), stored=("float32", "int8", "bits")
)
FEW = SizeOptions(layers=(1,), poolings=("mean",), dimensions=(8,), stored=("float32",))


@pytest.fixture(autouse=True, scope="module")
def timed_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "ROUNDS", 1)
        patch.setattr(measuring, "TEXTS", 16)
        yield


def short(pairs):
    """The half of them with the fewest letters, which are encoded in less than half of the time."""
    rows = sorted(range(len(pairs)), key=lambda row: len(pairs.first[row]) + len(pairs.second[row]))
    return pairs.taken(sorted(rows[: len(rows) // 2]), pairs.name)


@cache
def dev():
    return short(sample.dev())


@pytest.fixture(scope="module")
def text():
    return Sentences("notes <b>", tuple(sorted(sentences().texts, key=len)[:80]))


@pytest.fixture(scope="module")
def found(bundled_encoder, text):
    return finish(picture(bundled_encoder, dev(), text, WANTED))


def point(found, title):
    (one,) = [point for point in found.points if point.size.title == title]
    return one


def cosines(first, second):
    first, second = (side.astype(np.float64) for side in (first, second))
    return (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)


def test_the_whole_model_scores_what_sentence_transformers_says_and_its_table_what_was_measured(found):
    pairs, model = dev(), SentenceTransformer(str(find(BUNDLED).folder), device="cpu")
    theirs = spearmanr(pairs.gold, cosines(model.encode(list(pairs.first)), model.encode(list(pairs.second))))
    assert found.whole.score == pytest.approx(100 * theirs.statistic, abs=1e-6)
    sizes = [point.size for point in found.points]
    assert len(set(sizes)) == len(sizes) == 2 * 2 * 3  # the mean of layer 6 is the model default
    assert found.whole.size.title == "model default, 384 dimensions, float32"
    verdict = found.whole.verdict
    assert verdict.difference == verdict.low == verdict.high == 0
    assert {size.reading for size in sizes} == {"model default", "mean of layer 3"}
    rows = table_formats.shown(*size_points.cells(found))[1]
    assert len(rows) == len(found.points)
    assert rows[0][:6] == [BUNDLED, "model default", "384", "float32", "float32", f"{found.whole.score:.2f}"]
    assert "PCA on 80 sentences of notes" in size_points.as_text(found)
    content = json.loads(size_points.as_text(found, "json"))
    assert content["points"][0]["score"] == pytest.approx(found.whole.score, abs=1e-4)
    assert content["points"][0]["layer & pooling"] == "model default"
    three, six = point(found, "mean of layer 3, 64 dimensions, int8"), found.whole
    assert three.query_ms > 0
    assert three.model_bytes < six.model_bytes
    # all points of a cut have its times
    assert {one.query_ms for one in found.points if one.size.layers == 6} == {six.query_ms}


@pytest.fixture(scope="module")
def three(bundled_encoder):
    return cut(bundled_encoder, 3)


@pytest.fixture(scope="module")
def reduced(three, text):
    """The vectors of either side and of the text, under the mean of layer 3, in 64 dimensions."""
    pairs, reading = dev(), parse("mean of layer 3", 3)
    seen = set(pairs.sentences)
    fit_on = [one for one in dict.fromkeys(text.texts) if one not in seen]
    sides = [finish(of_reading(three, some, reading)) for some in (pairs.first, pairs.second, fit_on)]
    components = PCA(64, svd_solver="covariance_eigh").fit(sides[2].astype(np.float64))
    sides = map(components.transform, sides)
    return [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]


@pytest.mark.parametrize("stored", ["float32", "int8", "bits"])
def test_a_point_scores_what_the_slow_way_says(three, reduced, found, stored):
    first, second, fitted = reduced
    if stored == "int8":
        ranges = np.repeat([[one] for one in ranges_of(step_of(fitted))], 64, axis=1)
        first, second = (quantize_embeddings(side, precision="int8", ranges=ranges) for side in (first, second))
    if stored == "bits":
        first, second = (np.sign(side) for side in (first, second))
    slow = 100 * spearmanr(dev().gold, cosines(first, second)).statistic
    one = point(found, f"mean of layer 3, 64 dimensions, {stored}")
    assert one.score == pytest.approx(slow, abs=0.02)  # rounding can move a code or a bit
    assert one.verdict.difference == pytest.approx(one.score - found.whole.score, abs=1e-6)
    assert one.verdict.low <= one.verdict.difference <= one.verdict.high
    assert one.vector_bytes == {"float32": 256, "int8": 64, "bits": 8}[stored]
    assert one.model_bytes == 4 * (three.model.num_parameters() + 64 * 385)


def test_an_exported_encoder_scores_what_its_point_says(bundled_encoder, text, found, tmp_path):
    one = point(found, "mean of layer 3, 64 dimensions, int8")
    folder, pairs = tmp_path / "small", dev()
    fit_on = besides(text, judge_of(pairs, bundled_encoder))
    known = small_encoder.cosine_sets(sample.dev(), identity("sample dev"), bundled_encoder)
    whole = {"dev": sample.dev(), "test": sample.test()}
    assert {use: one.digest for use, one in known.items()} == {use: one.digest for use, one in whole.items()}
    judged = {use: PairJudge(short(one)) for use, one in whole.items()}
    finish(small_encoder.export(bundled_encoder, find(BUNDLED), found, one, fit_on, judged, folder, "shrink"))
    model = SentenceTransformer(str(folder), device="cpu")
    assert (model[0].auto_model.config.num_hidden_layers, model.get_embedding_dimension()) == (3, 64)
    card = (folder / "README.md").read_text()
    (line,) = [line for line in card.splitlines() if line.startswith("ranges = ")]
    known = {}
    exec(f"import numpy\n{line}", known)
    codes = [
        quantize_embeddings(model.encode(list(side)), precision="int8", ranges=known["ranges"])
        for side in (pairs.first, pairs.second)
    ]
    assert 100 * spearmanr(pairs.gold, cosines(*codes)).statistic == pytest.approx(one.score, abs=0.02)
    assert (folder / "model.safetensors").stat().st_size + (folder / "2_Dense/model.safetensors").stat().st_size == (
        pytest.approx(one.model_bytes, rel=0.02)  # and a pooling layer for AutoModel
    )
    assert f"| Score | {one.score:.2f} | {found.whole.score:.2f} |" in card
    assert r"notes \<b\>" in card, "the name of a text is no tag"
    known = exported_meaning.check(folder, pairs, short(sample.test()))
    assert known["model"] == "all-MiniLM-L6-v2 (mean of layer 3, 64 dimensions)"
    assert known["before"]["reliability"] != known["reliability"], "the whole model has other cosines"
    assert "## What a cosine means" in card
    assert "| cosine | the whole model | this model |" in card
    assert "before they are stored as int8" in card


def test_of_an_encoder_in_bfloat16_the_file_is_of_the_weights_that_are_written(tmp_path, text):
    encoder = encoder_of(save_tiny("bert", tmp_path / "bert"), precision="bfloat16")
    found = finish(picture(encoder, dev(), text, FEW))
    of, folder = of_folder("tiny", tmp_path / "bert"), tmp_path / "small"
    fit_on, judged = besides(text, judge_of(dev(), encoder)), {"dev": judge_of(dev(), encoder)}
    work = small_encoder.export(encoder, of, found, found.points[1], fit_on, judged, folder, "shrink")
    while "what cosines of mean of layer 1" not in next(work).text:
        pass
    work.close()
    assert [one.name for one in tmp_path.iterdir()] == ["bert"], "what is stopped leaves nothing"
    finish(small_encoder.export(encoder, of, found, found.points[1], fit_on, judged, folder, "shrink"))
    vectors = SentenceTransformer(str(folder), device="cpu").encode(list(dev().sentences)).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    known = json.loads((folder / "similarity.json").read_text())["random_pairs"]
    exact = np.quantile(similarity.random_pairs(vectors.astype(np.float32), "").cosines, 0.5)
    assert known["cosine"][known["share"].index(0.5)] == pytest.approx(exact, abs=2e-3)  # the library sums otherwise
    written = load_file(folder / "model.safetensors")
    assert {value.dtype for value in written.values()} == {torch.bfloat16}
    assert sum(value.nbytes for value in written.values()) == pytest.approx(found.points[1].model_bytes, rel=0.1)


def test_another_encoder_has_its_own_points(tiny_encoder, text):
    small = cut(tiny_encoder, 1)
    assert small.name == tiny_encoder.name, "as of two folders that are called alike"
    wanted = dataclasses.replace(FEW, dimensions=(32,))
    found = finish(picture(tiny_encoder, dev(), text, wanted, [small], ["whole", "cut"]))
    ours, theirs = found.points[1:]
    assert ours.model == found.whole.model == "whole"
    assert theirs.model == "cut"
    assert len({found.named(one) for one in found.points}) == 3
    assert (theirs.size.reading, theirs.score) == ("model default", pytest.approx(ours.score, abs=1e-6))
    assert theirs.verdict.difference == pytest.approx(ours.verdict.difference, abs=1e-6)


def test_sizes_with_fewer_words_are_compared_with_the_whole_model_and_exported_so(tiny_encoder, text, tmp_path):
    pairs, words, folder = dev(), Sentences("notes", text.texts[:40]), tmp_path / "small"
    wanted = dataclasses.replace(FEW, words=identity("notes.txt"), weights=("float32",))
    found = finish(picture(tiny_encoder, pairs, text, wanted, words=words))
    fewer = finish(cut_vocabulary(tiny_encoder, words.texts))
    assert found.whole.size.tokens == 0
    assert {one.size.tokens for one in found.points[1:]} == {len(fewer.tokenizer())}
    one = small_encoder.the_one(found, wanted)
    assert one.model_bytes < found.whole.model_bytes
    same = dataclasses.replace(found.whole.size, tokens=1234)
    chance = dataclasses.replace(found.whole.verdict, difference=0.1, low=-0.2, high=0.4)
    points = found.whole, dataclasses.replace(found.whole, size=same, model_bytes=1_000_000, verdict=chance)
    told = [sentence.text for sentence in size_verdict.verdict(dataclasses.replace(found, points=points))]
    assert any(text.startswith("Only the words of notes (1,234 tokens): weights of 1 MB in place of") for text in told)
    model, fit_on = of_folder("tiny", tiny_encoder.folder), besides(text, judge_of(pairs, tiny_encoder))
    judged = {"dev": judge_of(pairs, tiny_encoder)}
    command = small_encoder.command_of(model, identity("sample"), one, wanted)
    assert "--words notes.txt" in command
    finish(small_encoder.export(tiny_encoder, model, found, one, fit_on, judged, folder, command, words=words))
    theirs = SentenceTransformer(str(folder), device="cpu")
    assert len(theirs.tokenizer) == theirs[0].auto_model.config.vocab_size == one.size.tokens
    sides = (theirs.encode(list(side)) for side in (pairs.first, pairs.second))
    assert one.score == pytest.approx(100 * spearmanr(pairs.gold, cosines(*sides)).statistic, abs=0.02)
    assert f"| Tokens | {one.size.tokens:,} | all |" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["modernbert", "qwen2"])
def test_of_a_family_with_a_norm_at_the_end_points_are_those_of_the_cut_encoder(tmp_path, text, kind):
    encoder = encoder_of(save_tiny(kind, tmp_path / kind))
    found = finish(picture(encoder, dev(), text, dataclasses.replace(FEW, poolings=("last",))))
    pairs, folder = dev(), tmp_path / "small"
    of, judge = of_folder("tiny", tmp_path / kind), judge_of(pairs, encoder)
    fit_on = besides(text, judge)
    finish(small_encoder.export(encoder, of, found, found.points[1], fit_on, {"dev": judge}, folder, "shrink"))
    known = json.loads((folder / "similarity.json").read_text())
    assert known.keys() == {"model", "layer_and_pooling", "random_pairs"}, "of one set alone nothing is fitted"
    model = SentenceTransformer(str(folder), device="cpu")
    sides = (model.encode(list(side)) for side in (pairs.first, pairs.second))
    slow = 100 * spearmanr(pairs.gold, cosines(*sides)).statistic
    assert found.points[1].score == pytest.approx(slow, abs=0.02)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"layers": (7,)}, "7 is not a possible layer. Choose 0 to 6."),
        ({"poolings": ("median",)},
         "Choose any of model default, cls, mean, max, last, weighted mean, sqrt mean"),
        ({"dimensions": (-1,)}, "dimensions cannot be"),
        ({"dimensions": (385,)}, "385 is not a possible number of dimensions. Choose 1 to 384"),
        ({"stored": ("int4",)}, "Choose any of float32, float16, int8, bits"),
        ({"cut_by": "random"}, "cut_by cannot be 'random'. Choose one of pca, first"),
    ],
)  # fmt: skip
def test_a_size_that_cannot_be_is_refused_with_those_that_can(bundled_encoder, text, wrong, told):
    with pytest.raises(BadChoice, match=told):
        finish(picture(bundled_encoder, dev(), text, dataclasses.replace(WANTED, **wrong)))


def test_too_little_text_is_refused(tiny_encoder):
    pairs = dev()
    few = Sentences("notes", (*pairs.first[:9], "A sentence of its own.", "And one more."))
    with pytest.raises(BadChoice, match=r"onto 8 dimensions needs more than 8 .* but there are 2 besides"):
        finish(picture(tiny_encoder, pairs, few, FEW))
    with pytest.raises(BadChoice, match="Every sentence of notes is in"):
        finish(picture(tiny_encoder, pairs, Sentences("notes", pairs.first), FEW))


@pytest.mark.parametrize("source", ["Sample search", "more minimal pairs"])
def test_other_kinds_of_sets_are_scored_too(tmp_path, text, source):
    encoder = encoder_of(save_tiny("bert", tmp_path / "bert"))
    wanted = dataclasses.replace(FEW, dimensions=(32,))
    found = finish(picture(encoder, evaluated_on(identity(source)), text, wanted))
    assert found.evaluation == evaluated_on(identity(source)).name
    assert all(0 < point.score <= 100 for point in found.points)


def made_up_point(score, speed, size=100) -> Point:
    return Point("model", Size(1, "mean", size, INT8), Verdict(after=score), size, 5, speed, 1.0)


def test_the_front_is_what_no_other_point_beats():
    random = np.random.default_rng(1)
    points = [made_up_point(*random.integers(0, 6, 2).astype(float), int(size)) for size in random.integers(1, 6, 60)]
    points.append(made_up_point(math.nan, 99.0))

    def beats(one, other):
        ours, theirs = ((each.score, each.sentences_per_second, -each.vector_bytes) for each in (one, other))
        return ours != theirs and all(mine >= yours for mine, yours in zip(ours, theirs, strict=True))

    slow = [one for one in points[:-1] if not any(beats(other, one) for other in points[:-1])]
    assert front(points, ["sentences per second", "bytes per vector"]) == slow
    assert set(slow) <= set(front(points, tuple(COSTS)))


@pytest.fixture
def task():
    random = np.random.default_rng(2)
    texts = tuple(f"text {number}" for number in range(240))
    labels = tuple("abc"[number % 3] for number in range(240))
    train, test = Labelled("train", texts[:160], labels[:160]), Labelled("test", texts[160:], labels[160:])
    centres, noise = random.normal(size=(3, 8)), random.normal(size=(240, 8))
    vectors = {text: centres[number % 3] + noise[number] for number, text in enumerate(texts)}
    return LabelledSet("letters", train, None, test), vectors


def of(vectors, texts) -> torch.Tensor:
    return torch.tensor(np.array([vectors[text] for text in texts]), dtype=torch.float32)


def test_labels_are_judged_by_logistic_regression_with_one_c_and_without_a_test_split_from_the_other_folds(task):
    given, vectors = task
    judge = LabelJudge(given)
    settled = judge.settled(of(vectors, judge.texts))
    assert settled.strength in STRENGTHS
    items = settled.items(of(vectors, settled.texts))
    x, wanted = (of(vectors, rows.texts).numpy() for rows in (given.train, given.test))
    scaler = StandardScaler().fit(x)
    theirs = LogisticRegression(C=settled.strength, tol=1e-8, max_iter=9999)
    theirs.fit(scaler.transform(x), given.train.labels)
    right = theirs.predict(scaler.transform(wanted)) == np.array(given.test.labels)
    assert items.sum() == right.sum()
    assert settled.score(items) == pytest.approx(100 * right.mean())
    # the C that the folds choose is that of the full protocol
    full = judge.items(of(vectors, judge.texts))
    assert np.array_equal(full, items)
    data = judge._data(of(vectors, judge.texts))
    assert np.array_equal(finish(predictions(data, SEED)) == data.scored.y, full.astype(bool))
    texts = tuple(dict.fromkeys(given.train.texts))
    judge = LabelJudge(LabelledSet("letters", given.train)).settled(of(vectors, texts))
    items = judge.items(of(vectors, judge.texts))
    assert len(items) == len(given.train)
    assert 60 < judge.score(items) < 100


def test_with_weights_in_other_formats_it_has_their_scores_and_an_export_scores_what_its_point_says(tmp_path, text):
    encoder, few = encoder_of(save_tiny("bert", tmp_path / "bert")), Sentences("text", text.texts[:40])
    formats = "float32", "bfloat16", "onnx-float32", "int8"
    wanted = dataclasses.replace(FEW, poolings=("model default", "mean"), weights=formats)
    found = finish(picture(encoder, dev(), few, wanted))
    sizes = [(one.size.reading, one.size.dimensions, one.size.weights) for one in found.points]
    cells = ("model default", "mean of layer 1")
    assert sizes == [(cells[0], WIDTH, "float32"), *((cell, 8, one) for one in formats for cell in cells)]
    by = {(one.size.reading, one.size.weights): one for one in found.points[1:]}
    for cell in cells:
        same, exact, rounded = (by[cell, one] for one in ("onnx-float32", "float32", "int8"))
        assert same.score == pytest.approx(exact.score, abs=0.02)
        assert by[cell, "bfloat16"].model_bytes < 0.6 * exact.model_bytes
        assert rounded.model_bytes < same.model_bytes
        assert rounded.query_ms != same.query_ms != exact.query_ms
    assert by[cells[1], "int8"].memory_bytes is None, "of a cut encoder it is not measured"
    assert all(by[cells[0], one].memory_bytes for one in formats)
    assert found.whole.memory_bytes > by[cells[0], "onnx-float32"].memory_bytes > 10_000_000, "torch takes more"
    assert "weights in int8" in rounded.title
    judge, of = judge_of(dev(), encoder), of_folder("tiny", tmp_path / "bert")
    folder, again = tmp_path / "small", "shrink tiny"
    finish(small_encoder.export(encoder, of, found, rounded, besides(few, judge), {"dev": judge}, folder, again))
    encode = OnnxEncoder("onnx/model_qint8.onnx", folder)
    texts = list(judge.texts)  # in the batches in which the picture encodes them
    vectors = dict(zip(texts, encode([*texts, *besides(few, judge)]), strict=False))
    sides = (np.stack([vectors[one] for one in side]) for side in (dev().first, dev().second))
    assert 100 * spearmanr(dev().gold, cosines(*sides)).statistic == pytest.approx(rounded.score, abs=0.02)
    card = (folder / "README.md").read_text()
    assert "| Weights in | int8 | float32 |" in card
    assert "```sh\nshrink tiny\n```" in card
    assert 'OnnxEncoder("onnx/model_qint8.onnx")' in card
    with pytest.raises(BadChoice, match="made of those in float32, and tiny is loaded in bfloat16"):
        finish(picture(encoder_of(tmp_path / "bert", precision="bfloat16"), dev(), few, wanted))
