"""Test cosines in float64, the best layer & pooling, chosen on the dev set alone, and the table of all."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import rankdata, spearmanr

from explorer.commands.scores import as_json, as_text
from explorer.data import sample
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, Reading, parse, readings
from explorer.errors import BadChoice
from explorer.measuring.scores import best_cell, bootstrap, layer_scores
from explorer.measuring.scores.best_cell import pick
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.correlation import spearman
from explorer.measuring.scores.layer_scores import as_csv, for_people, score_layers, score_rows
from explorer.measuring.scores.pair_cosines import chunks, exact_cosines
from explorer.progress import finish


@pytest.fixture(scope="module")
def halves(bundled_scores):
    whole = sample.pairs()
    return tuple(bundled_scores.of_pairs(whole.rows_of(half)) for half in (sample.dev(), sample.test()))


def test_best_and_runner_up_are_those_of_the_dev_set(halves):
    dev, test = halves
    found = best_cell.choose(dev, test)
    cells = (Reading(row, pooling) for row in dev.rows for pooling in GRID_POOLINGS)
    slow = sorted((cell for cell in cells if np.isfinite(dev.score(cell))), key=dev.score, reverse=True)
    assert [found.best, found.runner_up] == slow[:2]
    assert (found.dev_score, found.test_score) == (dev.score(found.best), test.score(found.best))


@pytest.fixture(scope="module")
def tied(halves):
    """Both halves, in which two more layers & poolings have the cosines of the best one."""
    cosines = [half.cosines.copy() for half in halves]
    best, *others = (
        halves[0].place(parse(title, 6)) for title in ("mean of layer 6", "cls of layer 0", "max of layer 2")
    )
    for half in cosines:
        for other in others:
            half[other] = half[best]
    return tuple(replace(scores, cosines=half) for scores, half in zip(halves, cosines, strict=True))


def test_what_has_the_score_of_the_best_is_called_tied_by_the_choice_the_pick_and_the_command(tied):
    dev, test = tied
    found = best_cell.choose(dev, test)
    score = {one: f"{dev.score(one):.2f}" for one in dev.grid}
    slow = [one for one in dev.grid if one != found.best and score[one] == score[found.best]]
    assert len(slow) == 2, "the premise"
    assert (sorted(found.ties, key=dev.grid.index), found.runner_up) == (slow, found.ties[0])
    text = f", tied with {found.ties[0].title} and 1 more"
    picked = pick(sample.dev(), (dev, dev), sample.test())
    assert picked.words.count(f"{score[found.best]}{text})") == 2
    told = as_text(find("all-MiniLM-L6-v2"), sample.dev(), dev, "Spearman", "all")
    assert f"best here: {score[found.best]} ({found.best.title}{text})" in told
    assert layer_scores.tied_text(found.ties[:1]) == f", tied with {found.ties[0].title}"


def test_a_best_that_is_alone_is_tied_with_none(halves):
    assert best_cell.choose(*halves).ties == ()
    assert "tied" not in pick(sample.dev(), halves, sample.test()).words


@pytest.mark.parametrize(("metric", "aggregate"), [("Spearman", "all"), ("Pearson", "all"), ("Spearman", "wmean")])
def test_the_intervals_are_those_of_the_bootstrap_on_the_test_set(halves, metric, aggregate):
    dev, test = halves
    found = best_cell.choose(dev, test, metric, aggregate)
    for rival, interval in ((found.runner_up, found.over_runner_up), (OWN, found.over_default)):
        sides = test.cosines_of(rival), test.cosines_of(found.best)
        slow = bootstrap.difference(test.gold, *sides, test.parts, metric, aggregate)
        for side in ("difference", "low", "high"):
            assert getattr(interval, side) == pytest.approx(float(getattr(slow, side)), abs=1e-9)
        gap = test.score(found.best, metric, aggregate) - test.score(rival, metric, aggregate)
        assert float(interval.difference) == pytest.approx(gap, abs=0.01)


def test_scores_of_a_half_are_those_of_the_half_encoded_alone(tiny_encoder, bundled_scores):
    whole = sample.pairs()
    scores = finish(score_layers(tiny_encoder, whole))
    alone = finish(score_layers(tiny_encoder, sample.test()))
    part = scores.of_pairs(whole.rows_of(sample.test()))
    assert (part.gold.tolist(), part.parts) == (alone.gold.tolist(), alone.parts)
    assert np.abs(part.cosines - alone.cosines).max() < 1e-5
    assert bundled_scores.of_pairs(range(240)).table() == pytest.approx(bundled_scores.table(), nan_ok=True)
    assert bundled_scores.of_pairs(range(9)).own.shape == (9,)


def test_without_a_model_default_or_a_score_there_is_none_to_compare_with(tiny_encoder, few_pairs):
    scores = finish(score_layers(tiny_encoder, few_pairs))
    found = best_cell.choose(scores, scores)
    assert scores.own is None
    assert found.over_default is None
    assert found.over_runner_up.difference.shape == ()
    pairs = GradedPairs("few", ("a b", "c d", "e f"), ("g h", "i j", "k l"), (1.0, 2.0, 3.0), ("x", "y", "z"))
    scores = finish(score_layers(tiny_encoder, pairs))
    assert best_cell.choose(scores, scores, aggregate="mean") is None


@pytest.mark.parametrize(
    ("default", "second", "holds"),
    [((1, 0.5, 2), (1, 0.5, 2), True), ((-1, -2, 0.5), None, True), ((-1, -2, -0.5), (1, 0.5, 2), False),
     ((1, 0.5, 2), (-1, -2, -0.5), False), (None, None, True)],
)  # fmt: skip
def test_the_choice_holds_unless_it_is_significantly_worse_than_what_it_was_preferred_to(default, second, holds):
    sides = [None if one is None else Interval(*map(np.asarray, one)) for one in (second, default)]
    assert best_cell.BestCell(OWN, 80.0, 70.0, None, *sides).holds is holds


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((0.96, -0.2, 2.1), "0.96 above B (−0.20 to +2.10), could be chance"),
        ((-1.5, -2.5, -0.5), "1.50 below B (−2.50 to −0.50), significant"),
        ((0, 0, 0), "equal to B"),
        ((0.001, -0.004, 0.002), "equal to B"),
        ((0.001, -0.5, 0.6), "as high as B (−0.50 to +0.60)"),
        ((np.nan, np.nan, np.nan), "without a difference to B, which has no score on the test set"),
    ],
)
def test_a_difference_in_words(numbers, told):
    scores = 70.0, 70.0 + numbers[0]
    assert best_cell.difference_in_words(scores, Interval(*map(np.asarray, numbers)), "B") == told


def test_each_side_has_its_own_best_and_one_without_a_score_is_named(bundled_scores):
    noise = np.linspace(0, 3, bundled_scores.cosines.shape[0])[:, None, None]  # so that another reading is the best
    random = np.random.default_rng(0).normal(size=bundled_scores.cosines.shape)
    moved = replace(bundled_scores, cosines=(bundled_scores.cosines + noise * random).astype(np.float32))
    others = GradedPairs("others", ("a", "b"), ("c", "d"), (1.0, 2.0), ("", ""))
    found = pick(sample.pairs(), (bundled_scores, moved), others)
    assert found.readings[0] != found.readings[1]
    for scores, reading, told in zip((bundled_scores, moved), found.readings, found.scores, strict=True):
        assert told == scores.score(reading) == np.nanmax(scores.table())
    constant = replace(bundled_scores, cosines=np.ones_like(bundled_scores.cosines))
    with pytest.raises(BadChoice, match="No layer & pooling of B has a score on Sample pairs"):
        pick(sample.pairs(), (bundled_scores, constant), others)
    with pytest.raises(BadChoice, match="has all 240 pairs of the test set"):
        pick(sample.pairs(), (bundled_scores, moved), sample.pairs())


def test_pairs_in_both_are_counted_either_way_round(bundled_scores):
    dev = sample.pairs()
    here = GradedPairs(
        "here",
        (dev.first[0], dev.second[1], "new", dev.first[2]),
        (dev.second[0], dev.first[1], "pair", "x"),
        (1, 2, 3, 4),
        (),
    )
    found = pick(dev, (bundled_scores, bundled_scores), here)
    assert found.shared == 2
    assert "2 of the pairs scored here are among those" in found.words
    apart = pick(sample.dev(), (bundled_scores, bundled_scores), sample.test())
    assert apart.shared == 0
    assert "None of the pairs scored here were used" in apart.words


ALL = np.arange(60)


@pytest.fixture(scope="module")
def rounded_scores():
    return finish(score_layers(load(find("all-MiniLM-L6-v2"), precision="bfloat16", device="cpu"), sample.pairs()))


def slow_cosine(one, other):
    """In numpy's widest floats, from float32 vectors."""
    one, other = one.numpy().astype(np.longdouble), other.numpy().astype(np.longdouble)
    return (one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum())


def test_nearly_constant_cosines_rank_as_in_wider_floats_and_equal_vectors_tie_exactly():
    random = np.random.default_rng(0)  # in float32, vectors that differ by about 1e-4 of their length
    nearly_constant = random.normal(size=48) + 1e-5 * random.normal(size=(120, 48))
    nearly_constant = torch.from_numpy(nearly_constant.astype(np.float32))
    found = exact_cosines(nearly_constant, ALL, ALL + 60)
    slow = np.array([slow_cosine(nearly_constant[place], nearly_constant[place + 60]) for place in ALL])
    assert np.ptp(found) < 1e-8, "the premise: float32 has steps of 6e-8 here"
    assert np.array_equal(rankdata(found), rankdata(slow.astype(np.float64)))
    gold = np.random.default_rng(1).uniform(0, 5, 60)
    assert spearman(gold, found) == pytest.approx(spearmanr(gold, slow.astype(np.float64))[0], abs=1e-12)
    vectors = torch.cat([nearly_constant, nearly_constant[:60]])
    assert (exact_cosines(vectors, ALL, ALL + 120) == 1).all()
    assert np.array_equal(exact_cosines(vectors, ALL, ALL + 60), exact_cosines(vectors, ALL + 60, ALL))
    vectors = torch.tensor([[0.0, 0.0], [3.0, 4.0], [float("nan"), 1.0], [-6.0, -8.0]])
    found = exact_cosines(vectors, np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 3]))
    assert found == pytest.approx([0, 0, 1, float("nan"), -1], nan_ok=True)


def test_sentences_of_the_same_tokens_tie(bundled_encoder):
    first = ("A small boat.", "The kettle boils over and over again in the kitchen.", "nobody came")
    pairs = GradedPairs("case", first, tuple(text.upper() for text in first), (1.0, 2.0, 3.0), ("",) * 3)
    scores = finish(score_layers(bundled_encoder, pairs))
    assert (scores.cosines == 1).all()
    assert (scores.own == 1).all()


class Recorder:
    """An encoder that keeps the vectors it gives."""

    def __init__(self, encoder):
        self.encoder, self.grid, self.own = encoder, {}, {}

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def views_of(self, ids, also=()):
        for views in self.encoder.views_of(ids, also):
            for at, place in enumerate(views.positions):
                self.grid[tuple(ids[place])] = views.grid[:, :, at].clone()
                self.own[tuple(ids[place])] = views.own[at].clone()
            yield views


def test_every_score_is_that_of_scipy_on_wider_cosines_of_the_same_vectors(bundled_encoder, bundled_scores):
    pairs, recorder = sample.pairs(), Recorder(bundled_encoder)
    scores = finish(score_layers(recorder, pairs))
    assert scores.table() == pytest.approx(bundled_scores.table(), abs=0.01, nan_ok=True), "those that ship"
    assert scores.cosines == pytest.approx(bundled_scores.cosines, abs=1e-4, nan_ok=True)
    assert scores.own == pytest.approx(bundled_scores.own, abs=1e-4)
    ids = dict(zip(pairs.sentences, map(tuple, bundled_encoder.tokens(pairs.sentences).ids), strict=True))
    both = [(ids[one], ids[other]) for one, other in zip(pairs.first, pairs.second, strict=True)]
    for reading in (*readings(6), OWN):
        if reading == OWN:
            slow = [slow_cosine(recorder.own[one], recorder.own[other]) for one, other in both]
        else:
            at = scores.place(reading)
            slow = [slow_cosine(recorder.grid[one][at], recorder.grid[other][at]) for one, other in both]
        if reading.title == "cls of layer 0":
            assert np.isnan(scores.score(reading))
            continue
        wanted = 100 * spearmanr(pairs.gold, np.array(slow, dtype=np.float64))[0]
        assert scores.score(reading) == pytest.approx(wanted, abs=0.01), reading.title


def test_what_bfloat16_shows_is_within_half_a_point_of_float32_and_the_rest_is_missing(rounded_scores, bundled_scores):
    missing = [reading.title for reading in rounded_scores.not_measured]
    assert "cls of layer 3" in missing
    assert "cls of layer 0" not in missing, "it is constant in every precision"
    assert len(missing) <= 3
    assert bundled_scores.not_measured == ()
    for reading in (*readings(6), OWN):
        if reading.title in missing:
            assert np.isnan(rounded_scores.score(reading))
            assert np.isnan(rounded_scores.cosines_of(reading)).all()
        elif np.isfinite(bundled_scores.score(reading)):
            assert rounded_scores.score(reading) == pytest.approx(bundled_scores.score(reading), abs=0.5)


def test_a_cell_that_is_not_measured_is_never_the_best(rounded_scores):
    lost = rounded_scores.cosines.copy()
    lost[rounded_scores.place(rounded_scores.best())] = np.nan
    again = replace(rounded_scores, cosines=lost)
    assert again.best() not in (None, rounded_scores.best())
    assert rounded_scores.best() in again.not_measured
    assert rounded_scores.best().title in again.not_measured_text
    assert again.table()[parse("mean of layer 0", 6).row.layers[0], GRID_POOLINGS.index("mean")] > 0


@pytest.mark.parametrize(("count", "sentences", "most"), [(200, 1000, 50), (200, 20, 10), (1, 2, 2), (50, 1, 2)])
def test_every_pair_is_in_one_chunk_of_at_most_so_many_sentences(count, sentences, most):
    chance = np.random.default_rng(0)
    drawn = chance.integers(0, sentences, (2, count))
    _, places = np.unique(np.concatenate(drawn), return_inverse=True)  # only sentences that occur
    first, second, lengths = places[:count], places[count:], chance.integers(3, 40, places.max() + 1)
    seen = []
    for chunk in chunks(first, second, lengths, most):
        assert len({*first[chunk], *second[chunk]}) <= most
        seen.extend(chunk.tolist())
    assert sorted(seen) == list(range(count))


def test_pairs_that_share_a_sentence_stay_together_and_the_longest_family_comes_first():
    first, second = np.array([0, 3, 6, 1, 4, 7]), np.array([1, 4, 7, 2, 5, 8])
    read = [{*first[chunk].tolist(), *second[chunk].tolist()} for chunk in chunks(first, second, [5] * 9, 3)]
    assert sorted(map(sorted, read)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    first, second = np.array([0, 2, 4]), np.array([1, 3, 5])
    assert [chunk.tolist() for chunk in chunks(first, second, [5, 5, 5, 40, 9, 9], 2)] == [[1], [2], [0]]


def test_the_table_reads_back_as_it_was_shown_with_a_row_for_every_reading(bundled_scores):
    rows = score_rows(bundled_scores)
    again = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [row["layer & pooling"] for row in again] == [row["reading"] for row in rows]
    assert float(again[-1]["spearman"]) == rows[-1]["spearman"]
    rows = score_rows(bundled_scores)
    assert (len(rows), rows[-1]["reading"]) == (len(bundled_scores.rows) * 3 + 1, "model default")
    assert rows[-1]["pooling"] == bundled_scores.own_title
    rows = score_rows(bundled_scores)
    assert rows[0]["spearman"] is None
    assert as_csv(rows).splitlines()[1].startswith("cls of layer 0,0,cls,,")


def test_the_best_of_all_is_the_model_default_where_the_grid_is_below_it(bundled_scores):
    gold, pairs = bundled_scores.gold, sample.pairs()
    better = replace(bundled_scores, own=gold.astype(np.float64), own_title="a dense layer")
    grid = bundled_scores.best()
    assert (better.best(), better.best_of_all()) == (grid, OWN)
    of_grid = f"{100 * spearmanr(gold, bundled_scores.items_of(grid, 'Spearman')).statistic:.2f} ({grid.title})"
    found = find("all-MiniLM-L6-v2")
    assert f"best here: 100.00 (model default); of the grid {of_grid}" in as_text(
        found, pairs, better, "Spearman", "all"
    )
    assert bundled_scores.best_of_all() == grid, "equal to the model default but for rounding"
    assert f"best here: {of_grid}" in as_text(found, pairs, bundled_scores, "Spearman", "all")


def test_what_is_not_measurable_is_empty_and_named(bundled_scores):
    cosines = bundled_scores.cosines.copy()
    cosines[3, 0] = np.nan
    scores = replace(bundled_scores, cosines=cosines, precision="bfloat16")
    row = next(row for row in score_rows(scores) if row["reading"] == "cls of layer 3")
    assert [row[name] for name in row if name.startswith(("spearman", "pearson"))] == [None] * 6
    assert json.loads(as_json(find("all-MiniLM-L6-v2"), sample.pairs(), scores))["not_measurable"] == ["cls of layer 3"]
    told = as_text(find("all-MiniLM-L6-v2"), sample.pairs(), scores, "Spearman", "all")
    assert "Not measurable in bfloat16: cls of layer 3." in told
    assert "Not measurable" not in as_text(find("all-MiniLM-L6-v2"), sample.pairs(), bundled_scores, "Spearman", "all")


def test_a_table_for_people_has_no_name_of_the_code_and_no_truth_value():
    sure = {"reading": "cls of layer 1", "A": None, "sure": True}
    rows = [sure, {"reading": "mean of layer 2", "A": 1.5, "sure": False}]
    assert for_people(rows) == [
        {"layer & pooling": "cls of layer 1", "A": None, "significant": "yes"},
        {"layer & pooling": "mean of layer 2", "A": 1.5, "significant": "no"},
    ]
    assert as_csv(rows).splitlines()[1] == "cls of layer 1,,yes"
