"""Test that every method has a finite loss and finite gradients on unusual rows."""

import itertools

import pytest
import torch

from explorer.errors import BadChoice
from explorer.knobs import find
from explorer.methods import Schedule
from tests.methods.rows import COLUMNS, FIRST, vectors_of
from tests.tiny_models import POSITIONS

ODD = {
    "one token each": ["a", "no", "man", "dog"],
    "600 tokens": ["late " * 600, "a man plays " * 200, "dog " * 599 + "train", "no"],
    "nothing to read": [" ", "\t", "", "\u00a0"],
    "nothing to read in one": ["", *FIRST[1:]],
    "all identical": ["a man plays a guitar"] * 4,
    "words it does not know": ["🦦 🦦", "שלום עולם", "<b>x</b>", "ﷺ"],
}


def test_odd_rows_have_a_finite_loss_that_can_be_followed(trained):
    answered = trained.rows.answer is not None
    given = COLUMNS[trained.rows]
    weights = [weight for weight in trained.parameters() if weight.requires_grad]
    for what, rows in ODD.items():
        trained.zero_grad()
        loss = trained(*[rows] * (len(given) - answered), *given[len(given) - answered :])
        assert loss.shape == (), what
        assert torch.isfinite(loss), what
        loss.backward()
        assert all(weight.grad is not None and torch.isfinite(weight.grad).all() for weight in weights), what
        # and an update in that direction leaves an encoder that can still be read
        with torch.no_grad():
            for weight in weights:
                weight.sub_(1e-4 * weight.grad)
        assert torch.isfinite(vectors_of(trained, FIRST)).all(), what


def test_odd_sentences_are_read_and_long_ones_cut_once_a_method_has_learned(method):
    for what, rows in ODD.items():
        found = vectors_of(method, rows)
        assert torch.isfinite(found).all(), what
        if len(set(rows)) == 1:
            assert torch.allclose(found, found[:1].expand_as(found), atol=1e-5), what
    one, other = vectors_of(method, ["late " * count for count in (POSITIONS - 2, 600)])
    assert torch.allclose(one, other, atol=1e-5), "what is longer than the encoder can read is cut and not refused"


def test_a_batch_of_one_is_refused_before_anything_is_trained():
    with pytest.raises(BadChoice, match=r"batch_size cannot be 1\. Choose a whole number from 2"):
        find(Schedule.knobs, "batch_size").checked(1)


def test_lengths_of_all_kinds_meet_in_a_batch(trained):
    """Every order of a long, a short and an empty row: groups of like length are put back where they were."""
    rows = ["late " * 40, "a", "", "a man plays a guitar"]
    trained.eval()
    found = set()
    for order in itertools.islice(itertools.permutations(range(4)), 0, 24, 7):
        mixed = [rows[place] for place in order]
        vectors = vectors_of(trained, mixed)
        found.add(tuple(round(float(vectors[order.index(place)].sum()), 3) for place in range(4)))
    assert len(found) == 1
