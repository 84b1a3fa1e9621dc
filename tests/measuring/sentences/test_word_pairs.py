"""Test that words of two sentences add up to their cosine, and the cosines and distinguished pairs of probe packs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from explorer.data.sample import Pack
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read import word_parts as parts_of
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.pooling import MASK, OWN, parse
from explorer.errors import UnsupportedModel
from explorer.measuring.scores.judge import Share, share_above
from explorer.measuring.sentences import edit_costs, sentence_vectors, word_pairs, word_tables
from explorer.measuring.sentences.probe_cosines import (
    differing,
    pack_rows,
    pack_word_rows,
    pack_words,
    pair_rows,
    pair_sums,
    probed,
    sentences_of,
    verdict,
)
from explorer.measuring.sentences.sentence_vectors import similarities
from explorer.measuring.sentences.word_pairs import Explained, WordPair, changes, word_pair
from explorer.progress import finish
from tests.tiny_models import save_tiny

PAIR = "a man is playing the guitar", "a dog is playing"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    found = of_folder("tiny", save_tiny("bert", tmp_path_factory.mktemp("tiny") / "bert"))
    return found, load(found, "float32", "cpu", EAGER)


@pytest.fixture(scope="module")
def encoder(model):
    return model[1]


@pytest.mark.parametrize("title", ["mean of layer 2", "cls of layer 2", "max of layer 1", "mean of layers 0 + 2"])
def test_the_matrix_adds_up_to_the_cosine_that_is_shown_elsewhere(encoder, title):
    reading = parse(title, 2)
    found = finish(word_pair(encoder, *PAIR, reading, matrix=True))
    shown = similarities(finish(sentence_vectors.of_reading(encoder, list(PAIR), reading)))[0, 1]
    assert found.cosine == pytest.approx(shown, abs=1e-5)
    assert found.missed < 0.01  # each side may miss its vector by 0.005
    assert found.matrix.shape == (7, 5)
    for values, rest in zip(found.contributions, found.rests, strict=True):
        assert values.sum() + rest == pytest.approx(found.matrix.sum())
    quick = finish(word_pair(encoder, *PAIR, reading))
    assert quick.matrix is None
    assert (quick.words, quick.cosine) == (found.words, found.cosine)
    assert quick.missed <= 0.005
    for values, sums in zip((*quick.contributions, quick.rests), (*found.contributions, found.rests), strict=True):
        assert values == pytest.approx(sums, abs=0.002)  # by a gradient: up to their points


def test_long_sentences_have_contributions_alone_unless_a_maximum_length_is_set(encoder, monkeypatch):
    monkeypatch.setattr(word_pairs, "WORD_TOKENS", 20)
    long = "a dog " * 10
    found = finish(word_pair(encoder, long, PAIR[1], OWN, matrix=True))
    assert found.matrix is None
    assert (len(found.words[0]), found.cuts) == (20, (None, None))
    assert finish(word_pair(encoder, long, PAIR[1], OWN, max_length=21, matrix=True)).matrix.shape == (20, 5)
    told = plain((long, PAIR[1]), {"A": {}}, {"A": found})["A"]
    assert told["matrix"] is None
    assert told["sums"] == pytest.approx([found.cosine] * 2, abs=0.005)


def test_exchanged_sentences_have_the_matrix_turned(encoder):
    one, other = (finish(word_pair(encoder, *pair, OWN, matrix=True)) for pair in (PAIR, PAIR[::-1]))
    assert other.matrix == pytest.approx(one.matrix.T, abs=1e-6)
    same = finish(word_pair(encoder, PAIR[0], PAIR[0], OWN, matrix=True))
    assert (same.cosine, same.matrix) == (pytest.approx(1, abs=1e-6), pytest.approx(same.matrix.T))


def plain(sentences, models, pairs):
    """Everything, written as JSON and read again."""
    return json.loads(json.dumps(word_tables.content(Explained(sentences, pairs), "[PAD]", models)))


def pair_of(values, words=("open", "shop")):
    """A sentence of these words, and one without words."""
    cosine = float(sum(values))
    return WordPair((tuple(words), ()), (np.array(values), np.zeros(0)), (0.0, cosine), cosine, (16, 16))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((0.3, 0.5), (-0.1, 0.6),
         "Under B the cosine is 0.30 lower (0.80 → 0.50); “open” accounts for −0.40 (+0.30 → −0.10)."),
        (
            (0.7, 0.1),
            (0.1, 0.9),  # “open” changed less, and the other way
            "Under B the cosine is 0.20 higher (0.80 → 1.00); “shop” accounts for +0.80 (+0.10 → +0.90).",
        ),
        ((0.3, 0.1), (0.1, 0.3), "The cosine is 0.40 under A and B; “open” changed most, by −0.20 (+0.30 → +0.10)."),
    ],
)  # fmt: skip
def test_the_word_behind_a_change_is_the_one_that_moved_the_cosine_most_its_way(before, after, told):
    assert word_tables.summary({"A": pair_of(before), "B": pair_of(after)}) == told


def test_other_words_are_not_compared_and_a_cut_is_said_of_the_model_that_cut():
    pairs = {"A": pair_of((0.3, 0.1)), "B": pair_of((0.3, 0.1), ("openshop", "x"))}
    assert word_tables.summary(pairs) == word_tables.OTHER_WORDS
    assert changes(*pairs.values()) == ()
    assert word_tables.summary({"A": pair_of((0.3, 0.1))}) == "“open” adds most to the cosine of 0.40: +0.30."
    assert word_tables.summary({"A": pair_of((), ())}) == ""
    text = word_tables.as_text(("open shop", ""), {side: {"model": side, "reading": "r"} for side in "AB"}, pairs)
    assert "openshop +0.300" in text
    one, other = (replace(pair_of((0.3, 0.1)), cuts=cuts) for cuts in (((64, 431), None), (None, None)))
    line = word_tables.CUT.format(64, 431, "first")
    assert word_tables.cut_notes({"A": one, "B": one}) == [line]
    assert word_tables.cut_notes({"A": other, "B": one}) == [f"B: {line}"]
    assert word_tables.cut_notes({"A": other}) == []
    assert plain(("", ""), {"A": {}}, {"A": one})["A"]["cuts"] == [{"tokens": 64, "of": 431}, None]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    return tmp_path


def never():
    raise AssertionError("the encoder was loaded again")


def test_what_was_computed_is_read_to_the_bit_without_loading_the_encoder(model):
    found, encoder = model
    cut = {"max_length": 6}
    first = finish(word_pairs.measured(found, PAIR, OWN, lambda: encoder, **cut))
    again = finish(word_pairs.measured(found, PAIR, OWN, never, **cut))
    computed = finish(word_pair(encoder, *PAIR, OWN, **cut))
    assert computed.cuts == ((6, 8), None)
    for one in (first, again):
        assert facts(one) == facts(computed)


def facts(pair):
    """All that a pair holds, for an equality to the bit."""
    arrays = *pair.contributions, *(() if pair.matrix is None else (pair.matrix,))
    return pair.words, pair.rests, pair.cosine, pair.points, pair.cuts, *(array.tolist() for array in arrays)


def test_a_matrix_is_added_to_what_is_stored_and_serves_both(model):
    found, encoder = model
    assert finish(word_pairs.measured(found, PAIR, OWN, lambda: encoder)).matrix is None
    whole = finish(word_pairs.measured(found, PAIR, OWN, lambda: encoder, matrix=True))
    assert whole.matrix is not None
    for matrix in (False, True):
        assert facts(finish(word_pairs.measured(found, PAIR, OWN, never, matrix=matrix))) == facts(whole)


def test_costs_that_are_known_exactly_are_kept_and_not_computed_again(model, monkeypatch):
    found, encoder = model
    reading, sentences = parse("mean of layer 2", 2), ("the man plays a guitar", "the dog plays a drum")
    costs = finish(edit_costs.edit_costs(encoder, *sentences, reading))
    monkeypatch.setattr(word_pairs, "edit_costs", None)  # a call would fail
    pair = finish(word_pairs.measured(found, sentences, reading, lambda: encoder, costs=costs))
    assert pair.edits is costs
    again = finish(word_pairs.measured(found, sentences, reading, lambda: encoder, matrix=True))
    assert again.matrix is not None
    assert np.array_equal(again.edits.costs, costs.costs)


@pytest.mark.parametrize(
    ("sentences", "settings"), [((PAIR[0], "a cat"), {}), (PAIR, {"reference": MASK}), (PAIR, {"max_length": 4})]
)
def test_another_pair_and_another_setting_are_computed(model, sentences, settings):
    found, encoder = model
    finish(word_pairs.measured(found, PAIR, OWN, lambda: encoder))
    with pytest.raises(AssertionError, match="loaded again"):
        finish(word_pairs.measured(found, sentences, OWN, never, **settings))


def test_pairs_are_explained_under_both_sides_and_a_refused_model_is_a_reason(model):
    found, encoder = model
    sides = {"A": (found, OWN), "B": (found, parse("max of layer 1", 2))}
    given = [PAIR, ("a cat", "a dog")]
    told = finish(word_pairs.of_pairs(sides, given, lambda _: encoder))
    assert [one.sentences for one in told.pairs] == given
    for side, (_, reading) in sides.items():
        assert told.pairs[1].pairs[side].cosine == finish(word_pair(encoder, *given[1], reading)).cosine

    def refuse(_):
        raise UnsupportedModel("It cannot be weighed.")

    assert finish(word_pairs.of_pairs(sides, given, refuse)).pairs, "they are stored"
    refused = finish(word_pairs.of_pairs(sides, [*given, ("a", "b")], refuse))
    assert (refused.pairs, refused.why_none) == ((), "It cannot be weighed.")


def test_a_broken_file_is_computed_again_and_not_shown(model, own_cache):
    found, encoder = model
    first = finish(word_pairs.measured(found, PAIR, OWN, lambda: encoder))
    (file,) = own_cache.rglob("*.npz")
    whole = file.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert word_pairs.kept(file.stem) is None
    assert facts(finish(word_pairs.measured(found, PAIR, OWN, lambda: encoder))) == facts(first)
    assert word_pairs.kept(file.stem) is not None


def test_what_ships_with_the_examples_is_found(model, monkeypatch, tmp_path):
    found, encoder = model
    computed = finish(word_pair(encoder, *PAIR, OWN))
    monkeypatch.setattr(word_pairs, "examples_folder", lambda: tmp_path / "examples")
    word_pairs.keep(word_pairs.key(found.digest, PAIR, OWN.title), computed, tmp_path / "examples" / word_pairs.WORDS)
    assert facts(finish(word_pairs.measured(found, PAIR, OWN, never))) == facts(computed)


def test_a_pair_that_cannot_be_stored_is_not_lost(model, tmp_path, monkeypatch, logged):
    found, encoder = model
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    assert finish(word_pairs.measured(found, PAIR, OWN, lambda: encoder)).words[1] == ("a", "dog", "is", "playing")
    assert "not stored" in "\n".join(logged)


PACKS = (
    Pack("paraphrase", True, "", ("a", "b", "c"), ("d", "e", "f")),
    Pack("typo", True, "", ("a",), ("c",)),
    Pack("negation", False, "", ("a", "b"), ("b", "f")),
    Pack("number", False, "", ("c",), ("e",)),
)


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def slow_cosines(pack, vectors):
    at = {sentence: vector.astype(float) for sentence, vector in zip("adbecf", vectors, strict=True)}
    return [
        at[one] @ at[other] / np.sqrt((at[one] @ at[one]) * (at[other] @ at[other]))
        for one, other in zip(pack.first, pack.second, strict=True)
    ]


def slow_share(ones, others):
    couples = [(one, other) for one in ones for other in others]
    return sum(1.0 if one > other else 0.5 * (one == other) for one, other in couples) / len(couples)


def test_every_sentence_is_read_once_and_cosines_and_shares_are_those_of_the_slow_loop():
    assert sorted(sentences_of(PACKS)) == list("abcdef")
    order = sentences_of(PACKS)
    vectors = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    found = probed(PACKS, np.stack([vectors["adbecf".index(sentence)] for sentence in order]))
    slow = {pack.name: slow_cosines(pack, vectors) for pack in PACKS}
    for pack in PACKS:
        assert found.of(pack.name) == pytest.approx(slow[pack.name])
        assert found.mean(pack.name) == pytest.approx(sum(slow[pack.name]) / len(pack))
    assert found.distinguished("negation").value == slow_share(slow["paraphrase"], slow["negation"])
    assert found.distinguished_from_all().value == slow_share(slow["paraphrase"], slow["negation"] + slow["number"])


def test_a_share_of_none_or_all_has_the_binomial_bound_and_of_one_vector_it_is_chance():
    share = probed(PACKS, np.ones((6, 4), dtype=np.float32)).distinguished_from_all()
    assert share.value == share.low == share.high == 0.5
    none = share_above(np.zeros(60), np.ones(80))
    assert (none.value, none.low) == (0, 0)
    assert (1 - none.high) ** 60 == pytest.approx(0.025)
    every = share_above(np.ones(60), np.zeros(80))
    assert (every.value, every.high, every.low) == (1, 1, pytest.approx(1 - none.high))


def test_the_interval_of_a_share_is_that_of_pairs_drawn_anew():
    draw = np.random.default_rng(3)
    one, other = draw.normal(size=30), draw.normal(size=20) + 0.5
    found = share_above(one, other, resamples=4000)
    drawn = [
        slow_share(one[draw.integers(30, size=30)].tolist(), other[draw.integers(20, size=20)].tolist())
        for _ in range(1000)
    ]
    assert found.value == pytest.approx(slow_share(one.tolist(), other.tolist()))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.02)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (Share(0.13, 0.07, 0.2), "A does not notice a negation"),
        (Share(0.47, 0.38, 0.56), "Whether A notices a negation cannot be told from chance"),
        (Share(0.4, 0.3, 0.5), "Whether A notices a negation cannot be told from chance"),
        (Share(0.6, 0.5, 0.7), "Whether A notices a negation cannot be told from chance"),
        (Share(0.88, 0.81, 0.94), "A notices a negation"),
    ],
)
def test_a_verdict_is_sure_only_where_the_interval_excludes_chance(share, said):
    cases = f"{100 * share.value:.0f} % of cases"
    told = f"{said}: a paraphrase is more similar than a sentence with a negation in {cases}; a coin would get 50 %."
    assert verdict("A", "negation", share) == told


def test_rows_hold_every_pack_and_every_pair_of_both_sides(vectors):
    one, other = probed(PACKS, vectors), probed(PACKS, vectors[::-1].copy())
    packs = pack_rows(one, other)
    assert [row["pack"] for row in packs] == [pack.name for pack in PACKS]
    assert [row["distinguished A"] is None for row in packs] == [True, True, False, False]
    pairs = pair_rows(one, other)
    assert len(pairs) == sum(map(len, PACKS))
    for row in pairs:
        assert row["B - A"] == pytest.approx(row["cosine B"] - row["cosine A"], abs=2e-4)
    assert "cosine B" not in pair_rows(one, None)[0]


PACK = Pack(
    "number", False, "another number",
    ("a man is playing the guitar", "The dog runs"),
    ("a dog is playing two guitar", "the dog never runs"),
)  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return load(of_folder("tiny", save_tiny("bert", tmp_path_factory.mktemp("tiny") / "bert")), "float32", "cpu", EAGER)


def test_words_differ_that_the_other_sentence_lacks_in_any_case_and_without_punctuation():
    assert differing(("The", "lamp", "works", "."), ("the", "lamp,", "doesn", "'", "t", "work")) == (
        [False, False, True, False],
        [False, False, True, False, True, True],
    )
    assert differing((), ("no",)) == ([], [True])


@pytest.mark.parametrize("title", ["mean of layer 2", "cls of layer 2", "max of layer 1"])
def test_the_sum_is_that_of_the_rows_and_columns_of_the_matrix(small, title):
    reading = parse(title, 2)
    added, cosines = finish(pair_sums(small, PACK, reading))
    for place, pair in enumerate(zip(PACK.first, PACK.second, strict=True)):
        whole = finish(word_pair(small, *pair, reading, matrix=True))
        marks = [np.append(side, False) for side in differing(*whole.words)]
        assert marks[1].any()
        cells = marks[0][:, None] | marks[1][None, :]
        assert added[place] == pytest.approx(whole.matrix[cells].sum(), abs=0.005)  # up to their points
        assert cosines[place] == pytest.approx(whole.cosine, abs=1e-6)


def test_a_gradient_gives_the_numbers_of_a_derivative_for_each_word_at_the_same_points(small):
    ends = parts_of.ends_of(small, PACK.first[0], OWN)
    other = ends.last.flip(0)
    found, path = finish(parts_of.added(ends, other))
    slow = finish(parts_of._parts(ends, path, ends.directions)) @ other.numpy()
    assert np.abs(slow).max() > 0.01
    assert found == pytest.approx(slow, abs=1e-6)


def test_means_and_the_paired_change_have_the_interval_of_the_pairs():
    before = np.random.default_rng(5).normal(-0.04, 0.1, 400)
    sides = {"A": (before, before + 0.8), "B": (before - 0.37, before + 0.3)}
    found = pack_words("negation", sides)
    error = 1.96 * before.std() / np.sqrt(400)
    mean, low, high = found.sides["A"]
    assert mean == pytest.approx(before.mean())
    assert (low, high) == pytest.approx((before.mean() - error, before.mean() + error), abs=0.002)
    assert found.change == pytest.approx((-0.37,) * 3)
    mean = f"{before.mean():.2f}".replace("-", "−")
    assert str(found) == (
        f"In the negation pack the words that differ add {mean} to the cosine under A and "
        f"{before.mean() - 0.37:.2f} under B (change −0.37, 95 % CI −0.37 to −0.37); the mean cosine changes by −0.50."
    ).replace(" -", " −")
    (row,) = pack_word_rows([found])
    assert (row["pairs"], row["change"]) == (400, -0.37)
    alone = pack_words("negation", {"A": sides["A"]})
    assert alone.change is None
    assert str(alone).startswith(f"In the negation pack the words that differ add {mean} to the cosine (95 % CI ")
