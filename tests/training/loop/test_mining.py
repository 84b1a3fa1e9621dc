"""Test hard negatives: against a loop over every text, and in a run."""

import re
from dataclasses import replace

import pytest
from sentence_transformers import SentenceTransformer

from explorer.data.text_sets import PAIRS, Corpus
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.head_facts import RolePrompts
from explorer.errors import BadChoice, TooFewRows
from explorer.methods import MinedNegatives, Mining, load
from explorer.progress import finish
from explorer.run_folder import LOG
from explorer.training.loop import preparing
from tests.trainings import losses, new, train

ROWS = (
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
def cosine():
    """The cosine of two texts, with sentence-transformers."""
    texts = sorted({text for row in ROWS for text in row})
    model = SentenceTransformer(str(model_names.find("all-MiniLM-L6-v2").folder), device="cpu")
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
    columns, summary = finish(preparing.mined(corpus_of(ROWS), encoder, wanted))
    expected = list(by_loops(ROWS, wanted, cosine))
    assert len(columns) == wanted.negatives
    taken = 0
    for row, (texts, allowed) in enumerate(zip(zip(*columns, strict=True), expected, strict=True)):
        mined = allowed[: wanted.negatives]
        taken += len(mined)
        assert list(texts[: len(mined)]) == mined, ROWS[row]
        assert len(set(texts)) == wanted.negatives, "each once"
        together = {text for other in ROWS if set(ROWS[row]) & set(other) for text in other}
        assert together.isdisjoint(texts), "also of those drawn at random"
    assert counts(summary) == (taken, len(ROWS) * wanted.negatives - taken)
    assert taken, "otherwise this tests nothing"


def test_candidates_are_searched_with_the_prompts_of_the_model(encoder, monkeypatch):
    prompted = tuple((f"the ferry {one}", f"a shop {other}") for one, other in ROWS)
    expected, _ = finish(preparing.mined(corpus_of(prompted), encoder, Mining(1, 1, 50, 0.05)))
    roles = RolePrompts("the ferry ", "a shop ")
    monkeypatch.setattr(encoder, "head", replace(encoder.head, roles=roles))
    found, _ = finish(preparing.mined(corpus_of(ROWS), encoder, Mining(1, 1, 50, 0.05)))
    assert [f"a shop {text}" for text in found[0]] == list(expected[0])


def test_the_counts_and_the_mean_cosines_are_told(encoder):
    _, summary = finish(preparing.mined(corpus_of(ROWS), encoder, Mining(1, 1, 3, 0.9)))
    assert counts(summary)[1], "some are drawn at random"
    nearer, positive = map(float, re.search(r"mean cosine to the anchor (\S+), of positives (\S+)$", summary).groups())
    assert nearer < 0.1 * positive


def test_rows_without_enough_other_texts_are_refused(encoder):
    with pytest.raises(TooFewRows, match="has 2 different second texts, too few for 2 hard negatives"):
        finish(preparing.mined(corpus_of(ROWS[:3]), encoder, Mining(2, 1, 50, 0.05)))
    linked = [("one question", f"answer {number}") for number in range(4)]
    with pytest.raises(TooFewRows, match="'one question' shares texts with so many rows"):
        finish(preparing.mined(corpus_of(linked), encoder, Mining(1, 1, 50, 0.05)))


def test_a_window_without_a_rank_is_refused():
    with pytest.raises(BadChoice, match="first_rank cannot be 9 with last_rank 4"):
        load("contrast").mining({"hard_negatives": 1, "first_rank": 9, "last_rank": 4})
    assert load("contrast").mining({}) is None
    assert not issubclass(load("contrast-hard"), MinedNegatives)


def test_a_run_trains_on_mined_negatives_and_keeps_the_digest_of_its_text(place):
    def trained(name, **settings):
        settings = {"steps": 2, "temperature": 0.5, "dropout": False, **settings}
        return train(new(place, "contrast", name=name, settings=settings))

    plain, hard = trained("without"), trained("with", hard_negatives=2, last_rank=10, chunk=4)
    assert plain.recipe().made_with["data_digest"] == hard.recipe().made_with["data_digest"]
    assert "hard negatives: " in (hard.folder / LOG).read_text()
    assert "hard negatives: " not in (plain.folder / LOG).read_text()
    assert losses(hard)[1] > losses(plain)[1], "more negatives, more loss"
