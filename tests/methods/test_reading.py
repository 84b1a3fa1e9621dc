"""Test the layer & pooling of every method after training, and every method on unusual rows."""

import itertools

import pytest
import torch

from explorer import methods
from explorer.encoding.read.head import Dense
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.knobs import find
from explorer.methods import Schedule
from tests.methods.rows import COLUMNS, FIRST, SECOND, TRAINED, vectors_of
from tests.tiny_models import POSITIONS


def test_a_sentence_reads_the_same_in_any_company(method):
    sentences = [*FIRST, *SECOND, FIRST[1]]
    found = vectors_of(method, sentences)
    assert found.shape[0] == len(sentences)
    assert found.dtype == torch.float32
    for place, sentence in enumerate(sentences):
        assert torch.allclose(vectors_of(method, [sentence])[0], found[place], atol=1e-5)
    assert torch.equal(found[1], found[-1])
    distances = [(one - other).abs().max() for one, other in itertools.combinations(found[:-1], 2)]
    assert min(distances) > 1e-3, "sentences are told apart"


def test_reading_knows_no_dropout_and_leaves_no_gradient(method):
    found = vectors_of(method, FIRST)
    assert torch.equal(vectors_of(method, FIRST), found)
    assert not found.requires_grad
    assert all(weight.grad is None for weight in method.parameters())


def test_reading_leaves_every_part_in_the_mode_it_was_in(method):
    with pytest.raises(ValueError, match="no sentences to read"):
        vectors_of(method, [])
    assert method.training
    for learning in (True, False):
        method.train(learning)
        before = [part.training for part in method.modules()]
        vectors_of(method, FIRST)
        assert [part.training for part in method.modules()] == before
        halfway = method.vectors(FIRST)
        next(halfway)
        assert not method.base.model.training
        assert torch.is_grad_enabled(), "whoever steps through it is not in its mode"
        halfway.close()
        assert [part.training for part in method.modules()] == before


def test_vectors_are_the_head_over_the_last_layer_and_those_of_the_base_have_nothing_that_training_adds(method):
    states = method.eval().base.states(FIRST)
    by_hand = [
        method.head()([layer[row : row + 1, : int(states.mask[row].sum())] for layer in states.hidden], None)[0]
        for row in range(len(FIRST))
    ]
    assert torch.allclose(vectors_of(method, FIRST), torch.stack(by_hand), atol=1e-5)
    # the base is read for comparison without what training adds
    start = tuple(
        name.partition(" of layer ")[0] for name in method.base_head().poolings
    )  # of a cut encoder, the base's
    assert start == method.head().poolings or not method.head().poolings
    assert not any(isinstance(step, Dense) for step in method.base_head().dense)


def test_what_is_for_training_only_is_no_part_of_reading(method):
    before = vectors_of(method, FIRST)
    parts = [method.get_submodule(name) for name in method.training_only]
    shared = set(method.base.parameters())  # a decoder may share them
    with torch.no_grad():
        for weight in set(itertools.chain(*(part.parameters() for part in parts))) - shared:
            weight.fill_(float("nan"))
    assert torch.equal(vectors_of(method, FIRST), before)


@pytest.mark.parametrize("kind", [methods.load(name) for name in TRAINED])
def test_what_is_trained_and_not_for_training_only_is_all_that_reading_needs(kind, base, tiny_encoder):
    pristine = Tunable(tiny_encoder, 64)
    pristine.load_state_dict(base.state_dict())
    method, other = kind(base), kind(pristine)
    outside = tuple(f"{name}." for name in kind.training_only)
    trained = {name: weight for name, weight in method.named_parameters() if weight.requires_grad}
    with torch.no_grad():
        for weight in trained.values():
            weight.add_(0.02 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)))
        assert (vectors_of(other, FIRST) - vectors_of(method, FIRST)).abs().max() > 1e-2
        for name, weight in other.named_parameters():
            if name in trained and not name.startswith(outside):
                weight.copy_(trained[name])
    assert torch.equal(vectors_of(other, FIRST), vectors_of(method, FIRST))


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
        vectors = vectors_of(trained, [rows[place] for place in order])
        found.add(tuple(round(float(vectors[order.index(place)].sum()), 3) for place in range(4)))
    assert len(found) == 1
