"""Test SBERT-WK's weights of layers and words: computed values, a slow QR, and degenerate input."""

import pytest
import torch

from explorer.encoding.read.parts.word_weights import WordWeights

# two words (word, layer, width) worked out by hand
WORDS = torch.tensor(
    [
        [[3, 1, 0, 0], [2, 2, 1, 0], [1, 2, 2, 0], [1, 1, 2, 1]],
        [[1, 0, 0, 2], [1, 1, 0, 2], [0, 1, 1, 2], [2, 0, 1, 1]],
    ],
    dtype=torch.float64,
)


def hidden_of(words, last=5.0):
    """Words (word, layer, width) as layers of one sentence, with something for [SEP]."""
    layers = words.transpose(0, 1)[:, None].float()  # (layer, sentence, token, width)
    return torch.cat([layers, torch.full_like(layers[:, :, :1], last)], dim=2)


def slow(vectors, window, whole=False):
    """Of one word (layer, width): the weights of its layers, by a QR for each of them."""
    fits, adds = [], []
    for layer in range(len(vectors)):
        below = list(range(max(0, layer - window), layer)) if whole or layer >= window else []
        around = [*below, *range(layer + 1, min(len(vectors), layer + window + 1)), layer]
        r = torch.linalg.qr(vectors[around].T).R
        own, others = r[:, -1], r[:-1, :-1]
        others = others / others.norm(dim=0)
        aligned = (others.mean(1) @ own[:-1]) / own[:-1].norm()
        fits.append(1 / (2 * len(around) * aligned))
        adds.append(own[-1].abs() / own.norm())
    fits, adds = torch.stack(fits), torch.stack(adds)
    return (fits / fits.sum() + adds / adds.sum()) / 2


def test_the_weights_of_layers_and_words_are_those_worked_out_for_them():
    shares, changes = WordWeights().weights(WORDS)
    assert shares[0].tolist() == pytest.approx([0.245899, 0.296539, 0.156285, 0.301277], abs=1e-6)
    assert shares[1].tolist() == pytest.approx([0.221333, 0.244015, 0.231107, 0.303545], abs=1e-6)
    assert changes.tolist() == pytest.approx([4.025118e-04, 3.198886e-02], rel=1e-5)
    assert (changes / changes.sum()).tolist() == pytest.approx([0.012427, 0.987573], abs=1e-6)


def test_a_sentence_is_its_words_without_the_last_token():
    expected = [1.081334, 0.487271, 0.543065, 1.679117]
    for last in (5.0, -70.0):
        found = WordWeights(first_layer=0)(hidden_of(WORDS, last), None)
        assert found[0].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_angles_from_products_are_those_of_a_qr(window, whole):
    torch.manual_seed(0)
    words = torch.randn(20, 7, 32, dtype=torch.float64) + torch.randn(20, 1, 32, dtype=torch.float64) * 3
    shares, changes = WordWeights(window=window, whole_window=whole).weights(words)
    for word, share, change in zip(words, shares, changes, strict=True):
        assert share.tolist() == pytest.approx(slow(word, window, whole).tolist(), abs=1e-8)
        steps = torch.cosine_similarity(word[1:], word[:-1], dim=1)
        assert change.item() == pytest.approx(((steps - steps.mean()) ** 2).mean().item(), abs=1e-10)


def test_a_rotation_turns_the_vector_and_padding_does_not_move_it():
    torch.manual_seed(0)
    hidden = torch.randn(7, 3, 6, 16)
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 2 + [0] * 4])
    found = WordWeights()(hidden, mask)
    turn = torch.linalg.qr(torch.randn(16, 16)).Q
    assert torch.allclose(WordWeights()(hidden @ turn, mask), found @ turn, atol=1e-5)
    assert torch.allclose(WordWeights()(hidden * 4, mask), found * 4, atol=1e-4)
    for place, length in enumerate((6, 4, 2)):
        alone = WordWeights()(hidden[:, place : place + 1, :length], None)
        assert torch.allclose(alone[0], found[place], atol=1e-5)


def test_many_words_are_weighted_as_few_are(monkeypatch):
    torch.manual_seed(0)
    hidden = torch.randn(7, 3, 6, 16)
    found = WordWeights()(hidden, None)
    monkeypatch.setattr("explorer.encoding.read.parts.word_weights.WORDS_AT_ONCE", 2)
    assert torch.allclose(WordWeights()(hidden, None), found, atol=1e-5)


def test_fewer_layers_than_are_asked_for_are_the_last_three():
    torch.manual_seed(0)
    hidden = torch.randn(5, 3, 6, 16)
    assert torch.equal(WordWeights(first_layer=40)(hidden, None), WordWeights(first_layer=2)(hidden, None))
    assert not torch.equal(WordWeights(first_layer=1)(hidden, None), WordWeights(first_layer=2)(hidden, None))


def test_what_never_changes_or_is_a_single_token_is_read_all_the_same():
    torch.manual_seed(0)
    still = torch.randn(1, 2, 4, 16).expand(6, 2, 4, 16)
    assert torch.allclose(WordWeights()(still, None), still[0, :, :3].mean(1), atol=1e-4)
    single = torch.randn(6, 1, 1, 16)
    found = WordWeights()(single, None)
    assert torch.isfinite(found).all()
    assert found.any()
    nothing = torch.zeros(6, 1, 3, 16)
    assert torch.equal(WordWeights()(nothing, None), torch.zeros(1, 16))
