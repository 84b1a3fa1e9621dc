"""Test whitening, flow and WK: fitting, mapping, and refused input."""

import numpy as np
import pytest
import torch

from explorer import methods
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.methods import Fitting, post_processing
from explorer.progress import finish
from tests.exports import undone
from tests.methods.rows import FIRST, MANY, descend, seeded, vectors_of


def made(name, base, fitted_on=MANY, **values):
    method = seeded(name, base, **values)
    if isinstance(method, Fitting):
        finish(method.fit(fitted_on))
    return method


def covariance(vectors):
    return np.cov(vectors.double().numpy().T)


def test_directions_and_variances_are_those_worked_out_for_them():
    rows = torch.tensor([[1.0, 2], [3, 5], [5, 0], [7, 6]], dtype=torch.float64)
    assert rows.mean(0).tolist() == [4, 3.25]
    directions, variances = post_processing.principal(rows - rows.mean(0))
    assert variances.tolist() == pytest.approx([9.502922, 4.747078], abs=1e-6)
    white = (rows - rows.mean(0)) @ directions / variances.sqrt()
    assert np.allclose(covariance(white), np.eye(2), atol=1e-12)
    cosines = {
        (i, j): torch.cosine_similarity(white[i - 1], white[j - 1], dim=0).item() for i, j in ((1, 2), (1, 4), (2, 3))
    }
    assert cosines == pytest.approx({(1, 2): 0.372071, (1, 4): -0.902056, (2, 3): -0.984823}, abs=1e-6)


READ = [FIRST_LAST, "mean", "max of layer 1", "mean of layers 0 + 2", "cls", "last of layers 0-2", "weighted mean"]


@pytest.mark.parametrize("reads", READ)
def test_whitened_vectors_have_the_identity_as_their_covariance(base, reads):
    method = made("whitening", base, reads=reads)
    head = method.head()
    white = finish(method.vectors(MANY, Head(head.poolings, head.dense)))
    assert white.shape[1] >= method.width - 2, "the norm of a layer leaves a plane"
    assert np.allclose(covariance(white), np.eye(white.shape[1]), atol=2e-3)
    assert white.mean(0).abs().max() < 1e-3
    assert torch.allclose(vectors_of(method, FIRST).norm(dim=1), torch.ones(len(FIRST)), atol=1e-5)


def test_fewer_dimensions_are_the_first_of_all_of_them(base):
    whole, few = (made("whitening", base, dimensions=count) for count in (0, 5))
    turned, moved = few.head().dense[-1].weight, few.head().dense[-1].bias
    assert turned.shape == (5, few.unmapped_width())
    assert torch.allclose(turned, whole.head().dense[-1].weight[:5])
    assert torch.allclose(moved, whole.head().dense[-1].bias[:5])
    assert vectors_of(few, FIRST).shape == (len(FIRST), 5)


def test_the_released_optimiser_of_the_flow_sums_the_means_of_both_sides(base):
    plain, released = (made("flow", base, optimizer=one, levels=2) for one in ("AdamW", "as released"))
    sides = [released.map.flow.surprise(released.map(finish(released.unmapped(one)))) for one in (FIRST[:2], FIRST[2:])]
    assert released(FIRST).item() == pytest.approx(sum(sides).item(), rel=1e-5)
    assert released(FIRST).item() == pytest.approx(2 * plain(FIRST).item(), rel=1e-6)


def test_neither_a_shift_nor_a_scale_nor_a_turn_of_all_vectors_changes_a_whitened_cosine():
    torch.manual_seed(0)
    rows = torch.randn(100, 6, dtype=torch.float64) * torch.arange(1, 7)

    def cosines(vectors):
        centred = vectors - vectors.mean(0)
        directions, variances = post_processing.principal(centred)
        white = torch.nn.functional.normalize(centred @ directions / variances.sqrt())
        return white @ white.T

    turn = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64)).Q
    assert torch.allclose(cosines(rows * 3 + 5), cosines(rows), atol=1e-10)
    assert torch.allclose(cosines(rows @ turn), cosines(rows), atol=1e-10)


def test_too_little_text_for_as_many_dimensions_says_how_many_there_are(base):
    with pytest.raises(
        BadChoice, match=r"The 4 sentences vary in 3 directions only, but 5 are to be kept. Set dimensions to 3"
    ):
        made("whitening", base, FIRST, dimensions=5)
    assert len(made("whitening", base, FIRST).head().dense[-1].weight) == 3
    with pytest.raises(BadChoice, match="The 1 sentences vary in 0 directions"):
        made("whitening", base, FIRST[:1])


@pytest.mark.parametrize("name", ["whitening", "flow"])
@pytest.mark.parametrize(
    ("reads", "message"),
    [
        ("mean of layer 9", "There is no layer & pooling 'mean of layer 9' here.*from 0 to 2"),
        ("nonsense", "There is no layer & pooling 'nonsense' here"),
        ("model default", "declares no pooling, so there is no model default. Set reads to mean"),
    ],
)
def test_a_reading_the_encoder_does_not_have_is_refused(base, name, reads, message):
    with pytest.raises(BadChoice, match=message):
        methods.load(name)(base, {"reads": reads})


@pytest.mark.parametrize("name", ["whitening", "flow"])
def test_the_model_default_is_mapped_before_it_is_brought_to_length_one(base, name):
    own = Head(("mean",), (Dense(torch.randn(40, 32), None, "Tanh"),), normalize=True, prompt="query: ")
    encoder = base.encoder
    before = encoder.head
    try:
        encoder.head = own
        method = made(name, Tunable(encoder, 64), reads="model default")
        assert method.base_head() == Head(("mean",), own.dense)
        assert method.head().dense[0] is own.dense[0]
        assert method.unmapped_width() == 40
        assert torch.isfinite(vectors_of(method, FIRST)).all()
    finally:
        encoder.head = before


def test_a_flow_learns_and_the_encoder_does_not(base):
    method = made("flow", base)
    before = {name: weight.clone() for name, weight in base.named_parameters()}
    trained = [weight for weight in method.parameters() if weight.requires_grad]
    assert sum(weight.numel() for weight in trained) == sum(weight.numel() for weight in method.map.parameters())
    losses = descend(method, [MANY], 30)
    assert losses[-1] < losses[0] - 0.05
    for name, weight in base.named_parameters():
        assert torch.equal(weight, before[name])
        assert weight.grad is None
    vectors = finish(method.unmapped(FIRST))
    with torch.no_grad():
        assert torch.allclose(undone(method.map.flow, method.map(vectors)), vectors, atol=1e-4)


def test_a_flow_begins_with_sentences_from_all_over_the_text(base):
    method = made("flow", base)
    step = len(MANY) // 64
    first = finish(method.unmapped(MANY[::step][:64]))
    with torch.no_grad():
        mapped = method.map(first)
    assert mapped.mean(0).abs().max() < 1e-3
    assert mapped.std(0, correction=0).median().item() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("dropout", [False, True])
def test_dropout_is_in_a_flow_only_where_it_is_asked_for(base, dropout):
    method = made("flow", base, dropout=dropout)
    assert method.base.model.training == dropout
    assert (method(FIRST).item() != method(FIRST).item()) == dropout


def test_a_flow_that_cannot_be_halved_so_often_is_refused(base):
    with pytest.raises(BadChoice, match="levels cannot be 8: a width of 32 cannot be halved that often"):
        made("flow", base, levels=8)


def test_wk_takes_layers_that_are_there_and_is_compared_with_the_mean(base):
    method = made("wk", base)
    assert method.head() == Head((), layers=WordWeights(0, 2, False))
    assert method.base_head() == Head(("mean",))
    assert made("wk", base, window=1, whole_window=True).head().layers == WordWeights(0, 1, True)
    assert not any(weight.requires_grad for weight in method.parameters())
    assert not methods.load("wk").learns()
    assert methods.load("whitening").learns()
    assert not methods.load("whitening").trains()
