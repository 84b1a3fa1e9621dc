"""Test that a part of the rows is drawn from the training text alone, nested for a seed, and stated by the run."""

import hashlib
from dataclasses import replace

import pytest

from explorer.data import corpora
from explorer.data.text_sets import PAIRS, SCORED_PAIRS, TRIPLETS, Corpus
from explorer.errors import BadChoice, BadScores, TooFewRows
from explorer.knobs import find
from explorer.methods import Schedule
from explorer.progress import finish
from explorer.training import running
from explorer.training.loop import preparing, training_texts
from tests.trainings import ROWS, learner, new, recipe, train

TWICE = tuple(tuple(f"{column} {row // 2}" for row in range(200)) for column in ("anchor", "positive"))
TRIPLES = (*TWICE, tuple(f"negative {row}" for row in range(200)))


def rows_of(corpus):
    return list(zip(*corpus.columns, strict=True))


def by_hand(rows, wanted, seed):
    """The rows with the lowest SHA-256 of seed, how often the first two texts came before, and these texts."""
    numbered, before = [], []
    for row in rows:
        before.append(row[:2])
        sha = hashlib.sha256()
        for text in (str(seed), str(before.count(row[:2])), *row[:2]):
            sha.update(len(text.encode()).to_bytes(8, "little") + text.encode())
        numbered.append((sha.hexdigest(), row))
    lowest = sorted(numbered)[:wanted]
    return [row for number, row in numbered if (number, row) in lowest]


def test_more_rows_of_a_seed_hold_those_of_fewer_in_the_order_of_the_text():
    whole = Corpus("text", TRIPLETS, TRIPLES)
    for seed in (1, 2):
        parts = [rows_of(corpora.drawn(whole, wanted, seed)) for wanted in (50, 100, 200)]
        assert [len(part) for part in parts] == [50, 100, 200]
        assert set(parts[0]) < set(parts[1]) < set(parts[2])
        assert parts[:2] == [by_hand(rows_of(whole), wanted, seed) for wanted in (50, 100)]
    assert len(set(parts[0]) & set(rows_of(corpora.drawn(whole, 50, 1)))) < 30, "another seed draws other rows"
    assert corpora.drawn(whole, 200, 1) is whole


def test_pairs_and_triplets_of_a_file_are_drawn_alike_in_any_order():
    drawn = rows_of(corpora.drawn(Corpus("text", TRIPLETS, TRIPLES), 50, 7))
    pairs = rows_of(corpora.drawn(Corpus("other", PAIRS, TRIPLES[:2]), 50, 7))
    assert pairs == [row[:2] for row in drawn]
    backwards = Corpus("text", PAIRS, tuple(column[::-1] for column in TRIPLES[:2]))
    assert sorted(rows_of(corpora.drawn(backwards, 50, 7))) == sorted(pairs)


def test_a_run_trains_on_the_drawn_rows_alone_and_is_judged_as_before(place):
    few = train(new(place, "simcse-hard", "few", settings={"rows": "50 %"}))
    every = train(new(place, "simcse-hard", "every"))
    facts, (made, of_all) = few.status().facts, (run.recipe().made_with for run in (few, every))
    assert (facts.rows, facts.drawn.rows, facts.drawn.of) == (ROWS // 2, ROWS // 2, ROWS)
    assert (every.status().facts.rows, every.status().facts.drawn) == (ROWS, None)
    assert made == of_all, "text, dev set and test set are the same"
    assert f"{ROWS // 2} of {ROWS} rows, drawn with the seed" in (few.folder / "README.md").read_text()
    one = learner(place, "simcse-hard", rows="50 %")
    whole = rows_of(learner(place, "simcse-hard").corpus)
    assert rows_of(one.corpus) == by_hand(whole, ROWS // 2, 1)
    batches = [one.feed.batch(number) for number in range(6)]  # two epochs
    assert {row for batch in batches for row in zip(*batch, strict=True)} == set(rows_of(one.corpus))


def test_a_stopped_run_goes_on_with_the_rows_that_it_drew(place):
    whole, cut = (
        new(place, "simcse-hard", name, settings={"rows": "50 %", "steps": 4}) for name in ("half-whole", "half-cut")
    )
    train(whole)
    work = running.train(cut)
    while cut.status().step < 3:
        next(work)
    work.close()
    assert not cut.has_model
    train(cut)
    for file in ("model/model.safetensors", "items/seed-1.npy"):
        assert (cut.folder / file).read_bytes() == (whole.folder / file).read_bytes(), file


def test_every_seed_of_a_run_draws_its_own_rows_and_mines_among_them(place):
    settings = {"rows": "12", "hard_negatives": 1}
    of_seeds = finish(preparing.prepare(replace(recipe(place, "contrast", settings=settings), seeds=(1, 2)))).rows
    whole = rows_of(learner(place, "contrast", hard_negatives=0).corpus)
    for seed, rows in of_seeds.items():
        *pair, mined = rows.columns
        assert list(zip(*pair, strict=True)) == by_hand(whole, 12, seed)
        assert set(mined) <= set(rows.columns[1])


@pytest.mark.parametrize(
    "typed", ["0 %", "100.1 %", "-5 %", "half", "0", "0.5", "1e3", "", "2,000", True, 2.5, "nan %"]
)
def test_what_is_no_part_of_a_text_is_refused_with_what_is_allowed(typed):
    with pytest.raises(
        BadChoice, match=r"rows cannot be .* Choose a share above 0 %, at most 100 %, or a whole number"
    ):
        find(Schedule.knobs, "rows").checked(typed)


@pytest.mark.parametrize(
    ("typed", "meant"), [("25%", "25 %"), (" 12.50 % ", "12.5 %"), ("100 %", "100 %"), (2000, "2000")]
)
def test_a_part_is_written_in_one_way(typed, meant):
    assert find(Schedule.knobs, "rows").checked(typed) == meant


@pytest.mark.parametrize(
    ("rows", "text"),
    [("25", "rows cannot be 25: .* has 24 rows to train on. Set rows to 24 or less"),
     ("10 %", "rows cannot be 10 %: of the 24 rows of .* these are 2, but a batch takes 4. Raise rows")],
)  # fmt: skip
def test_too_many_or_too_few_rows_are_refused_before_a_model_is_loaded(place, rows, text):
    with pytest.raises(TooFewRows, match=text):
        training_texts.read_texts(recipe(place, "simcse", settings={"rows": rows}))


def test_scores_that_are_all_equal_in_the_drawn_rows_are_refused():
    columns = tuple(f"a {row}" for row in range(99)), tuple(f"b {row}" for row in range(99)), (1.0,) * 98 + (0.0,)
    with pytest.raises(BadScores, match="Every score in the 5 rows that seed 1 draws from text is the same"):
        corpora.drawn(Corpus("text", SCORED_PAIRS, columns), 5, 1)
