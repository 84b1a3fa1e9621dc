"""Test mined hard negatives against slow loops and sentence-transformers, and that a run without some repeats."""

import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import hard_negatives

from explorer.data.text_sets import PAIRS, Corpus
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import BadChoice, CannotResume, TooFewRows
from explorer.methods import MinedNegatives, Mining, load, negative_id, written_id
from explorer.progress import finish
from explorer.run_folder import LOG
from explorer.studies import mined_rows
from explorer.training import recipe_file
from explorer.training.loop import judging, mining, preparing
from explorer.training.recipe import Stage
from explorer.training.record import runs
from tests.tiny_models import save_tiny
from tests.trainings import losses, new, recipe, train

QUESTIONS = (
    ("How do I reset my password?", "Choose Forgotten password on the sign-in page."),
    ("I cannot sign in any more", "Choose Forgotten password on the sign-in page."),
    ("How do I reset my password?", "A link to set a new password is sent by mail."),
    ("Where is my parcel?", "The number in your mail shows where a parcel is."),
    ("When does the shop open?", "The shop opens at nine."),
    ("When does the shop close?", "The shop closes at six."),
    ("Can I send shoes back?", "Shoes can be sent back within a month."),
    ("Who pays for the way back?", "We pay for the parcel back."),
)


def corpus_of(rows) -> Corpus:
    return Corpus("rows", PAIRS, tuple(zip(*rows, strict=True)))


@pytest.fixture(scope="module")
def encoder():
    return loading.load(model_names.find("all-MiniLM-L6-v2"), precision="float32", device="cpu")


@pytest.fixture(scope="module")
def model(encoder):
    """The same encoder in sentence-transformers."""
    return SentenceTransformer(str(model_names.find("all-MiniLM-L6-v2").folder), device="cpu")


@pytest.fixture(scope="module")
def cosine(model):
    """The cosine of two texts, with sentence-transformers."""
    texts = sorted({text for row in QUESTIONS for text in row})
    vectors = dict(zip(texts, model.encode(texts), strict=True))
    return lambda one, other: model.similarity(vectors[one], vectors[other]).item()


def by_loops(rows, wanted: Mining, cosine):
    """What may be mined for each row, nearest first, by a loop over every text."""
    passages = list(dict.fromkeys(passage for _, passage in rows))
    for anchor, positive in rows:
        ranked = sorted(passages, key=lambda text, anchor=anchor: -cosine(anchor, text))
        right = cosine(anchor, positive)
        together = {text for row in rows if {anchor, positive} & set(row) for text in row}
        yield [
            text
            for text in ranked[wanted.first - 1 : wanted.last]
            if text not in together and cosine(anchor, text) <= right - wanted.margin * abs(right)
        ]


def counts(summary):
    """How many negatives were mined, and how many drawn at random."""
    drawn = re.search(r", (\d+) drawn at random", summary)
    return int(re.match(r"hard negatives: (\d+) mined", summary)[1]), int(drawn[1]) if drawn else 0


@pytest.mark.parametrize("wanted", [Mining(1, 1, 50, 0.05), Mining(2, 2, 4, 0.05), Mining(1, 1, 3, 0.9)])
def test_negatives_are_the_nearest_texts_that_window_and_margin_allow(encoder, cosine, wanted):
    found = finish(mining.mined(corpus_of(QUESTIONS), encoder, wanted))
    columns, summary = found.columns, found.summary
    expected = list(by_loops(QUESTIONS, wanted, cosine))
    assert len(columns) == wanted.negatives
    taken = 0
    for row, (texts, allowed) in enumerate(zip(zip(*columns, strict=True), expected, strict=True)):
        mined = allowed[: wanted.negatives]
        taken += len(mined)
        assert list(texts[: len(mined)]) == mined, QUESTIONS[row]
        assert len(set(texts)) == wanted.negatives, "each once"
        together = {text for other in QUESTIONS if set(QUESTIONS[row]) & set(other) for text in other}
        assert together.isdisjoint(texts), "also of those drawn at random"
    assert counts(summary) == (taken, len(QUESTIONS) * wanted.negatives - taken)
    assert taken, "otherwise this tests nothing"


def test_candidates_are_searched_with_the_prompts_of_the_model(encoder, monkeypatch):
    prompted = tuple((f"the ferry {one}", f"a shop {other}") for one, other in QUESTIONS)
    expected = finish(mining.mined(corpus_of(prompted), encoder, Mining(1, 1, 50, 0.05))).columns
    monkeypatch.setattr(encoder, "head", replace(encoder.head, roles=RolePrompts("the ferry ", "a shop ")))
    found = finish(mining.mined(corpus_of(QUESTIONS), encoder, Mining(1, 1, 50, 0.05))).columns
    assert [f"a shop {text}" for text in found[0]] == list(expected[0])


def test_the_counts_and_the_mean_cosines_are_told(encoder):
    summary = finish(mining.mined(corpus_of(QUESTIONS), encoder, Mining(1, 1, 3, 0.9))).summary
    assert counts(summary)[1], "some are drawn at random"
    nearer, positive = map(float, re.search(r"mean cosine to the anchor (\S+), of positives (\S+)$", summary).groups())
    assert nearer < 0.1 * positive


def test_rows_without_enough_other_texts_are_refused(encoder):
    with pytest.raises(TooFewRows, match="has 2 different second texts, too few for 2 hard negatives"):
        finish(mining.mined(corpus_of(QUESTIONS[:3]), encoder, Mining(2, 1, 50, 0.05)))
    linked = [("one question", f"answer {number}") for number in range(4)]
    with pytest.raises(TooFewRows, match="'one question' shares texts with so many rows"):
        finish(mining.mined(corpus_of(linked), encoder, Mining(1, 1, 50, 0.05)))


def test_a_window_without_a_rank_is_refused():
    with pytest.raises(BadChoice, match="first_rank cannot be 9 with last_rank 4"):
        load("contrast").mining({"hard_negatives": 1, "first_rank": 9, "last_rank": 4})
    one_rank = load("contrast").mining({"hard_negatives": 1, "first_rank": 4, "last_rank": 4})
    assert (one_rank.first, one_rank.last) == (4, 4)
    assert load("contrast").mining({}) is None
    assert not issubclass(load("contrast-hard"), MinedNegatives)


PLAIN = Mining(1, 1, 50, 0.05)


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    """A folder with another encoder, of random weights."""
    return str(save_tiny("bert", tmp_path_factory.mktemp("guide") / "model", seed=9))


def in_float64(model, rows):
    """The cosine of every anchor (row) to every second text (column), by sentence-transformers and a loop."""
    passages = list(dict.fromkeys(passage for _, passage in rows))
    sides = [model.encode(texts).astype(np.float64) for texts in ([anchor for anchor, _ in rows], passages)]
    one, other = ([vector / np.sqrt((vector**2).sum()) for vector in side] for side in sides)
    return passages, np.array([[a @ b for b in other] for a in one])


def test_ranks_and_cosines_of_both_encoders_are_those_of_a_loop_in_float64(encoder, model, guide):
    found = finish(mining.mined(corpus_of(QUESTIONS), encoder, replace(PLAIN, negatives=2, guide=guide), guided=True))
    passages, exact = in_float64(model, QUESTIONS)
    _, by_guide = in_float64(SentenceTransformer(guide, device="cpu"), QUESTIONS)
    assert found.is_mined.any()
    for row, (_, positive) in enumerate(QUESTIONS):
        own = passages.index(positive)
        assert found.of_positives[row] == pytest.approx(exact[row, own], abs=1e-6)
        assert found.by_guide[1][row] == pytest.approx(by_guide[row, own], abs=1e-6)
        for place, column in enumerate(found.columns):
            at = passages.index(column[row])
            nearer = sum(cosine > exact[row, at] for cosine in exact[row])
            assert found.ranks[row, place] in (nearer + 1, 0)
            assert found.cosines[row, place] == pytest.approx(exact[row, at], abs=1e-6)
            assert found.by_guide[0][row, place] == pytest.approx(by_guide[row, at], abs=1e-6)
            assert found.closer[row, place] == (by_guide[row, at] > by_guide[row, own])
    assert 0 < found.closer.sum() < found.closer.size, "the guide finds some of them closer"


class Table(pd.DataFrame):
    """Columns of texts, in place of a data set of the package datasets, which is not installed."""

    column_names = property(lambda self: list(self.columns))

    def to_pandas(self):
        return self


@pytest.mark.parametrize(("count", "last", "margin"), [(1, 20, 0.05), (2, 4, 0.0), (1, 20, 0.6)])
def test_negatives_are_those_of_sentence_transformers(encoder, model, monkeypatch, count, last, margin):
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(Dataset=Table))
    monkeypatch.setattr(hard_negatives, "is_datasets_available", lambda: True)
    rows = [*QUESTIONS[2:], ("Where do I park?", "There is a car park next to the shop.")]  # no text is in two of them
    anchors, positives = zip(*rows, strict=True)
    expected = hard_negatives.mine_hard_negatives(
        Table({"anchor": anchors, "positive": positives}),
        model,
        range_max=last - 1,  # it counts without the positive
        relative_margin=margin,
        num_negatives=count,
        sampling_strategy="top",
        verbose=False,
    )
    found = finish(mining.mined(corpus_of(rows), encoder, Mining(count, 1, last, margin)))
    ours = [(anchors[row], found.columns[place][row]) for row, place in zip(*np.nonzero(found.is_mined), strict=True)]
    assert sorted(ours) == sorted(zip(expected["anchor"], expected["negative"], strict=True))
    assert ours


def test_what_the_guide_finds_closer_is_dropped_and_the_next_nearest_takes_its_place(encoder, guide):
    wanted = replace(PLAIN, guide=guide, guide_margin=0.001)
    whole = finish(mining.mined(corpus_of(QUESTIONS), encoder, replace(wanted, negatives=3, margin=0), guided=True))
    every = finish(mining.mined(corpus_of(QUESTIONS), encoder, wanted, guided=True))
    left = finish(mining.mined(corpus_of(QUESTIONS), encoder, replace(wanted, drop_closer=True)))
    assert (every.closer & every.is_mined).any()
    assert not (left.closer & left.is_mined).any()
    for row in range(len(QUESTIONS)):
        farther = [
            rank for rank, closer in zip(whole.ranks[row], whole.closer[row], strict=True) if rank and not closer
        ]
        if farther and left.ranks[row, 0]:
            assert left.ranks[row, 0] == farther[0]
    assert "without what the guide" in left.summary


def test_one_that_is_dropped_is_a_negative_of_its_anchor_no_more_and_others_stay(encoder):
    before = finish(mining.mined(corpus_of(QUESTIONS), encoder, replace(PLAIN, negatives=2)))
    anchor, first, second = QUESTIONS[4][0], before.columns[0][4], before.columns[1][4]
    without = replace(PLAIN, dropped=frozenset({negative_id(anchor, first)}))
    after = finish(mining.mined(corpus_of(QUESTIONS), encoder, without, guided=True))
    assert after.columns[0][4] == second
    assert [text for row, text in enumerate(after.columns[0]) if row != 4] == [
        text for row, text in enumerate(before.columns[0]) if row != 4
    ]
    assert mined_rows.dropped_texts(after) == [(anchor, first)]
    assert "without the 1 dropped" in after.summary
    every = frozenset(negative_id(anchor, text) for _, text in QUESTIONS)
    with pytest.raises(TooFewRows, match="shares texts with so many rows, besides those that are dropped, that 1 hard"):
        finish(mining.mined(corpus_of(QUESTIONS), encoder, replace(PLAIN, dropped=every)))


def test_an_id_that_is_none_or_of_no_text_is_refused():
    values = {"hard_negatives": 1, "dropped": "0123456789:abcdefabcd, 0123456789:0000000000 "}
    assert len(load("contrast").mining(values).dropped) == 2
    with pytest.raises(BadChoice, match="dropped cannot be '0123456789': a hard negative is named by two times 10"):
        load("contrast").mining({**values, "dropped": "0123456789"})
    mining.check_dropped(frozenset({negative_id("a", "b")}), "rows", ("b", "a"))
    with pytest.raises(
        BadChoice, match=f"cannot name '{written_id(negative_id('a', 'b'))}': no texts of rows have this id"
    ):
        mining.check_dropped(frozenset({negative_id("a", "b")}), "rows", ("a", "c"))


def mining_recipe(place, **settings):
    return recipe(place, "contrast", settings={"steps": 2, "hard_negatives": 1, "last_rank": 10, **settings})


def test_a_training_uses_what_was_shown_without_encoding_it_again(place, guide, monkeypatch):
    given = mining_recipe(place, guide=guide, drop_closer=True)
    shown = finish(mined_rows.before_training(given))
    under_heads = judging.under_heads

    def not_mining(encoder, texts, heads, stage):
        assert stage != mining.Phase.MINING, "encoded a second time"
        return under_heads(encoder, texts, heads, stage)

    monkeypatch.setattr(judging, "under_heads", not_mining)
    prepared = finish(preparing.prepare(given, "cpu"))
    assert prepared.rows[1].texts[2:] == shown.columns


def test_a_run_with_dropped_negatives_repeats_from_its_recipe_alone_with_the_same_bytes(place, guide, monkeypatch):
    shown = finish(mined_rows.before_training(mining_recipe(place, guide=guide)))
    lines = mined_rows.as_rows(shown)
    dropped = " ".join(str(lines[row]["id"]) for row in (0, 5))
    run = train(new(place, "contrast", settings=mining_recipe(place, guide=guide, dropped=dropped).settings))
    assert run.recipe().made_with["guide_digest"] == model_names.find(guide).digest
    monkeypatch.setenv("STRATA_CACHE", str(place.folder / "empty cache"))
    again = train(runs.new(recipe_file.read(run.folder / "recipe.yaml"), "again", place.runs))
    assert (again.model / "model.safetensors").read_bytes() == (run.model / "model.safetensors").read_bytes()
    assert "without the 2 dropped" in (again.folder / LOG).read_text()
    changed = place.folder / "changed.csv"
    changed.write_text(place.triplets.read_text().replace(str(lines[0]["anchor"]), "another anchor"))
    other = replace(run.recipe(), data=(str(changed),))
    with pytest.raises(CannotResume, match="made with another version of the training text"):
        finish(preparing.prepare(other, "cpu"))
    with pytest.raises(BadChoice, match=r"have this id\. The file has changed"):
        finish(preparing.prepare(replace(other, made_with={}), "cpu"))


def test_what_cannot_be_shown_before_training_says_why(place):
    with pytest.raises(BadChoice, match=r"No hard negatives are mined\. Set hard_negatives to 1 or more"):
        finish(mined_rows.before_training(mining_recipe(place, hard_negatives=0)))
    before = Stage("tsdae", (str(place.text),), settings={"steps": 2, "batch_size": 4})
    staged = replace(mining_recipe(place), stages=(before,))
    with pytest.raises(BadChoice, match="mined with the model of the stage before, which is not trained yet"):
        finish(mined_rows.before_training(staged))


def test_a_run_trains_on_mined_negatives_and_keeps_the_digest_of_its_text(place):
    def trained(name, **settings):
        settings = {"steps": 2, "temperature": 0.5, "dropout": False, **settings}
        return train(new(place, "contrast", name=name, settings=settings))

    plain, hard = trained("without"), trained("with", hard_negatives=2, last_rank=10, chunk=4)
    assert plain.recipe().made_with["data_digest"] == hard.recipe().made_with["data_digest"]
    assert "hard negatives: " in (hard.folder / LOG).read_text()
    assert "hard negatives: " not in (plain.folder / LOG).read_text()
    assert losses(hard)[1] > losses(plain)[1], "more negatives, more loss"
