"""Test embedding geometry where it is known, of every layer in one pass, and the dev score in float64."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from explorer.data import sample
from explorer.data.text_sets import GradedPairs
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import OWN, Reading, Row, parse
from explorer.errors import BadChoice
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.measuring.geometry import layer_geometry as layers
from explorer.measuring.geometry import vector_geometry as geometries
from explorer.measuring.geometry.layer_geometry import (
    MEASURES,
    close_from,
    definition,
    drift_rows,
    geometry_rows,
    layer_geometry,
    not_comparable,
    reading_geometry,
    scale,
)
from explorer.measuring.geometry.vector_geometry import alignment, alike, checkup, geometry, moved, shift
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.progress import finish
from tests.spoiling import configure, reweigh
from tests.tiny_models import save_tiny

COUNT = 60


@pytest.fixture
def vectors():
    return (np.random.default_rng(0).normal(size=(57, 12)) * np.linspace(0.3, 2, 12) + 0.7).astype(np.float32)


def unit(vectors):
    return [row / math.sqrt(sum(float(x) ** 2 for x in row)) for row in vectors.astype(float)]


def test_blocks_of_rows_a_scale_and_a_turn_change_nothing(vectors, monkeypatch):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    one, other = geometry(vectors), geometry((vectors @ turn * 5).astype(np.float32))
    for name, value in vars(one).items():
        assert getattr(other, name) == pytest.approx(value, abs=1e-4, nan_ok=True), name
    whole = geometry(vectors)
    monkeypatch.setattr(geometries, "_ROWS", 10)
    for name, value in vars(geometry(vectors)).items():
        assert getattr(whole, name) == pytest.approx(value, abs=1e-6, nan_ok=True), name


def test_a_cone_is_told_from_a_ball_and_alignment_is_the_mean_squared_distance_of_partners(vectors):
    random = np.random.default_rng(0)
    ball, cone = random.normal(size=(300, 64)), random.normal(size=(300, 64)) * 0.1 + 1
    assert abs(geometry(ball).random_pairs) < 0.02
    assert geometry(cone).random_pairs > 0.98
    assert geometry(cone).uniformity > geometry(ball).uniformity + 2
    one, other = vectors[:20], vectors[20:40]
    slow = [sum((a - b) ** 2) for a, b in zip(unit(one), unit(other), strict=True)]
    assert alignment(one, other) == pytest.approx(np.mean(slow), abs=1e-5)
    assert alignment(one, one * 3) == pytest.approx(0, abs=1e-6)
    assert math.isnan(alignment(one[:0], other[:0]))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_sentences_have_what_can_be_said_of_them(count):
    found = geometry(np.eye(4, dtype=np.float32)[:count])
    assert found.sentences == count
    assert math.isnan(found.random_pairs) == (count < 2)
    assert count < 2 or found.random_pairs == pytest.approx(0)


@pytest.mark.parametrize("rounding", [0, 1e-8])
def test_identical_sentences_are_one_point(rounding):
    found = geometry(1 + np.random.default_rng(0).uniform(-rounding, rounding, (200, 8)))
    assert (found.random_pairs, found.uniformity) == (pytest.approx(1), pytest.approx(0, abs=1e-6))
    assert math.isnan(found.first_direction)
    assert math.isnan(found.hubness)


@pytest.fixture
def sides():
    random = np.random.default_rng(0)
    one = random.normal(size=(80, 12))
    other = one[:, :5] @ random.normal(size=(5, 7)) + random.normal(size=(80, 7))
    return one.astype(np.float32), other.astype(np.float32)


def test_a_model_is_like_itself_however_it_is_turned_and_what_never_varies_is_like_nothing(sides):
    one, _ = sides
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    assert alike(one, one) == pytest.approx(1)
    assert alike(one, one @ turn * 3 + 7) == pytest.approx(1, abs=1e-6)
    assert alike(one, one @ np.diag(np.arange(12))) < 0.99, "it is no matter of any linear map"
    assert math.isnan(alike(sides[0], np.ones((80, 3))))
    rounding = np.random.default_rng(3).uniform(-1e-8, 1e-8, (80, 3))
    assert math.isnan(alike(sides[0], 1 + rounding)), "what is the same but for rounding does not vary"


def test_a_shift_is_what_a_cosine_lacks_of_one(sides):
    one, other = sides
    random = one + np.random.default_rng(2).normal(size=one.shape)
    slow = [1 - float(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in zip(one, random, strict=True)]
    assert shift(one, random) == pytest.approx(np.mean(slow), abs=1e-6)
    assert shift(one, one * 2) == pytest.approx(0, abs=1e-6)
    assert math.isnan(shift(one, other)), "widths differ"


def test_how_far_a_sentence_moved_is_1_less_its_cosine_and_missing_without_a_length():
    random = np.random.default_rng(3)
    one, other = (random.normal(size=(40, 6)).astype(np.float32) for _ in range(2))
    other[5] = 0
    found = moved(one, other)
    assert np.isnan(found[5])
    cosine = float(one[7] @ other[7]) / np.linalg.norm(one[7]) / np.linalg.norm(other[7])
    assert found[7] == pytest.approx(1 - cosine, abs=1e-6)
    assert shift(one, other) == pytest.approx(np.mean(np.delete(found, 5))), "of those that have a length"
    assert math.isnan(shift(one, 0 * other))
    assert moved(one, one).round(6).max() == 0
    assert moved(one, np.ones((40, 7))) is None, "vectors of different widths have no cosine"


@pytest.fixture(scope="module")
def rounded():
    gold = tuple(np.random.default_rng(0).integers(0, 6, COUNT).astype(float).tolist())
    texts = [f"sentence {number}" for number in range(2 * COUNT)]
    return GradedPairs("made up", tuple(texts[:COUNT]), tuple(texts[COUNT:]), gold, ("",) * COUNT)


def near_vectors(apart):
    """Sentences (sentence, width) that are about so far apart, as a share of their length."""
    random = np.random.default_rng(1)
    length = np.sqrt(2 * 48)
    noise = random.normal(size=(2 * COUNT, 48)) * apart / np.sqrt(2 * 48) * random.uniform(0.5, 1.5, (2 * COUNT, 1))
    return torch.from_numpy(((random.normal(size=48) / np.sqrt(48) + noise) * length).astype(np.float32))


def test_geometry_is_that_of_directions_however_short_the_vectors_are(rounded):
    found = near_vectors(1.0)
    of_long, of_short = (checkup(PairJudge(rounded), found * length) for length in (1.0, 1e-3))
    for name in ("score", "alignment", "uniformity", "alike", "random_pairs"):
        assert getattr(of_short, name) == pytest.approx(getattr(of_long, name), abs=1e-4), name
    assert np.allclose(np.linalg.norm(of_short.probe.astype(float), axis=1), 1, atol=1e-2)


@pytest.mark.parametrize("apart", [1e-4, 1.0])
def test_the_score_is_that_of_wider_cosines(rounded, apart):
    found = near_vectors(apart)
    wide = found.numpy().astype(np.longdouble)
    wide /= np.sqrt((wide * wide).sum(1, keepdims=True))
    place = {text: at for at, text in enumerate(rounded.sentences)}
    both = [(wide[place[one]], wide[place[other]]) for one, other in zip(rounded.first, rounded.second, strict=True)]
    wanted = 100 * spearmanr(rounded.gold, [float((one * other).sum() - 1) for one, other in both])[0]
    assert checkup(PairJudge(rounded), found).score == pytest.approx(wanted, abs=0.01)


def test_bfloat16_scores_only_what_is_further_apart_than_it_rounds(rounded):
    assert np.isnan(checkup(PairJudge(rounded), near_vectors(1e-3), precision="bfloat16").score)
    assert np.isfinite(checkup(PairJudge(rounded), near_vectors(1e-1), precision="bfloat16").score)
    assert np.isfinite(checkup(PairJudge(rounded), near_vectors(1e-3), precision="float32").score)
    assert np.isnan(checkup(PairJudge(rounded), torch.ones(2 * COUNT, 8)).score), "one vector for all"


PAIRS = 20
SETTINGS = Settings("float32", "cpu")
READINGS = parse("mean of layer 2", 2), parse("cls of layers 1 + 2", 2)


@pytest.fixture(scope="module")
def pairs():
    whole = sample.pairs()
    return GradedPairs("some", whole.first[::12], whole.second[::12], whole.gold[::12], ("",) * PAIRS)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, times in (("one", 10), ("two", 15)):  # as made up, the weights leave every [CLS] almost the same
        save_tiny("bert", folder / name)
        reweigh(folder / name, lambda own, times=times: {key: _more(key, one, times) for key, one in own.items()})
    return of_folder("one", folder / "one"), of_folder("two", folder / "two")


def _more(key, weight, times):
    return weight * times if "encoder." in key and weight.dim() > 1 else weight


@pytest.fixture(scope="module")
def looked(found, pairs):
    return finish(layer_geometry(found, pairs, "mean", READINGS, SETTINGS))


def one_by_one(encoder, sentences):
    """Vectors of a sentence under a reading, each sentence read by itself."""
    views = {sentence: next(encoder.views([sentence])).grid[:, :, 0].numpy() for sentence in sentences}

    def vectors(sentences, reading):
        at = encoder.rows.index(reading.row), ("cls", "mean", "max").index(reading.pooling)
        return np.array([views[sentence][at] for sentence in sentences])

    return vectors


def test_every_number_is_that_of_vectors_read_one_by_one(looked, found, pairs):
    both = []
    for side, one, reading, chosen in zip(looked.layers, found, READINGS, looked.chosen, strict=True):
        vectors = one_by_one(load_encoder(one, SETTINGS), pairs.sentences)
        close = [place for place in range(PAIRS) if pairs.gold[place] >= 4]
        assert 0 < len(close) == looked.close
        clouds = [*((Reading(Row((layer,)), "mean"), side[layer]) for layer in range(3)), (reading, chosen)]
        for which, cloud in clouds:
            slow = vars(geometry(vectors(pairs.sentences, which)))
            del slow["alignment"]
            for name, value in slow.items():
                # a last bit can make another the tenth nearest
                near = 0.1 if name == "hubness" else 1e-4
                assert getattr(cloud, name) == pytest.approx(value, abs=near), (which, name)
            partners = [vectors([texts[place] for place in close], which) for texts in (pairs.first, pairs.second)]
            assert cloud.alignment == pytest.approx(alignment(*partners), abs=1e-4)
        both.append([vectors(pairs.sentences, which) for which, _ in clouds[:3]])
    for layer, sides in enumerate(zip(*both, strict=True)):
        assert looked.alike[layer] == pytest.approx(alike(*sides), abs=1e-4)
        assert looked.shift[layer] == pytest.approx(shift(*sides), abs=1e-4)
    assert min(looked.alike) < 0.99, "the premise: the two differ"


def test_one_encoder_alone_has_the_same_geometry_and_none_has_moved_from_itself(looked, found, pairs):
    alone = finish(layer_geometry(found[:1], pairs, "mean", READINGS[:1], SETTINGS))
    assert (alone.layers, alone.readings, alone.chosen) == (looked.layers[:1], READINGS[:1], looked.chosen[:1])
    assert (alone.alike, alone.shift, not_comparable(alone), drift_rows(alone, None)) == ((), (), "", [])
    assert geometry_rows(alone) == geometry_rows(looked)[:4]
    looked = finish(layer_geometry((found[0], found[0]), pairs, "cls", READINGS[:1] * 2, SETTINGS))
    assert (looked.layers[0][1:], looked.alike[1:]) == (looked.layers[1][1:], pytest.approx([1, 1]))
    assert looked.shift == pytest.approx([0, 0, 0], abs=1e-6)
    assert math.isnan(looked.alike[0]), "every [CLS] of layer 0 is the same"
    assert math.isnan(looked.layers[0][0].first_direction)
    row = drift_rows(looked, None)[0]
    assert (row["CKA"], str(row["shift"])) == (None, "0.0")


def test_another_reading_needs_no_other_look_among_the_layers_and_one_of_its_own_apart(looked, found, pairs):
    readings = parse("mean of layer 1", 2), READINGS[1]
    clouds = [looked.geometry_of(side, reading) for side, reading in enumerate(readings)]
    assert clouds == [looked.layers[0][1], looked.chosen[1]]
    stands = replace(looked, readings=readings, chosen=tuple(clouds))
    assert stands == finish(layer_geometry(found, pairs, "mean", readings, SETTINGS))
    apart = parse("max of layer 2", 2)
    assert looked.geometry_of(0, apart) is None
    cloud = finish(reading_geometry(found[0], pairs, apart, SETTINGS))
    both = finish(layer_geometry(found, pairs, "mean", (apart, READINGS[1]), SETTINGS))
    assert cloud == both.chosen[0] != looked.chosen[0]
    assert replace(looked, readings=(apart, READINGS[1]), chosen=(cloud, looked.chosen[1])) == both


def test_large_sets_are_drawn_from_whole_pairs_and_say_so(found, pairs, monkeypatch):
    monkeypatch.setattr(layers, "MOST", 25)
    work = [layer_geometry(found, pairs, "mean", READINGS, SETTINGS, seed=seed) for seed in (0, 0, 1)]
    looked, again, another = map(finish, work)
    assert looked == again != another
    assert looked.sentences <= 25 < len(pairs.sentences)
    assert looked.pairs < looked.of_pairs == PAIRS
    assert f"drawn from {PAIRS} (seed 0)" in definition(looked)


def test_what_was_looked_at_is_told_and_it_can_be_stopped_between_two_batches(looked, pairs, found):
    count = len(pairs.sentences)
    told = definition(looked)
    assert f"{count} distinct sentences of {PAIRS} pairs." in told
    assert f"the {looked.close} pairs graded 4 or more" in told
    assert f"all {count * (count - 1) // 2:,} pairs of sentences" in told
    work = layer_geometry(found, pairs, "mean", READINGS, SETTINGS)
    stages = {next(work).stage for _ in range(3)}
    work.close()
    assert "loading one" in stages


def test_encoders_of_another_depth_or_width_say_what_cannot_be_compared(found, pairs, tmp_path, looked):
    shallow = save_tiny("bert", tmp_path / "shallow")
    configure(shallow / "config.json", num_hidden_layers=1)
    readings = READINGS[0], parse("mean of layer 1", 1)
    apart = finish(layer_geometry((found[0], of_folder("s", shallow)), pairs, "mean", readings, SETTINGS))
    assert (apart.alike, apart.shift, drift_rows(apart, None)) == ((), (), [])
    assert not_comparable(apart) == "A has 2 layers and B 1: their layers do not correspond."
    assert len(geometry_rows(apart)) == 3 + 1 + 2 + 1
    assert not_comparable(looked) == ""
    assert "CKA is still defined" in not_comparable(replace(looked, shift=(float("nan"),) * 3))


def test_rows_hold_the_numbers_of_both_and_of_the_chosen_readings(looked):
    rows = geometry_rows(looked)
    assert [row["encoder"] for row in rows] == ["A"] * 4 + ["B"] * 4
    assert rows[1]["layer & pooling"] == "mean of layer 1"
    assert rows[-1]["layer & pooling"] == "chosen: cls of layers 1 + 2"
    for measure in MEASURES:
        assert rows[-1][measure.name] == pytest.approx(measure.of(looked.chosen[1]), abs=1e-5)
    numbers = np.arange(3.0)
    moved = drift_rows(looked, Interval(numbers, numbers - 1, numbers + 1))
    assert [(row["difference"], row["low"], row["high"]) for row in moved] == [(0, -1, 1), (1, 0, 2), (2, 1, 3)]
    assert [row["CKA"] for row in moved] == pytest.approx(looked.alike, abs=1e-5)


@pytest.mark.parametrize(
    ("pooling", "reading", "words"), [("sum", READINGS[0], "no pooling 'sum'"), ("mean", OWN, "no model default")]
)
def test_what_cannot_be_read_is_refused(found, pairs, pooling, reading, words):
    with pytest.raises(BadChoice, match=words):
        finish(layer_geometry(found, pairs, pooling, (reading, READINGS[1]), SETTINGS))


@pytest.mark.parametrize(
    ("gold", "ends", "least"),
    [
        ([0, 5, 2.5], (0, 5), 4),
        ([1, 5], (0, 5), 4),  # SICK's grades start at 1; papers take its 4s all the same
        ([0.2, 1], (0, 1), 0.8),
        ([3, 8.5], (0, 10), 8),
        ([0, 100], (0, 100), 80),
        ([0, 250], (0, 250), 200),
        ([-1, 1], (-1, 1), 0.6),
        ([-0.2, 0.9], (-1, 1), 0.6),
    ],
)
def test_it_is_four_fifths_of_the_scale(gold, ends, least):
    assert scale(gold) == ends
    assert close_from(gold) == least, "exactly, or grades that are just as high would be missed"


def test_the_sample_has_close_pairs():
    gold = sample.pairs().gold
    assert close_from(gold) == 4
    assert 0 < sum(grade >= 4 for grade in gold) < len(gold)
