"""Test adaptive layers against sentence-transformers' loss on a whole model, and the cut encoders that they train."""

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses as published
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from explorer import methods
from explorer.encoding.read.head import Head
from explorer.encoding.tune import editing
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from tests.methods.rows import FIRST, SECOND, THIRD
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

ROWS = (FIRST, SECOND, THIRD)
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny("bert", tmp_path_factory.mktemp("layers") / "bert", num_hidden_layers=3, **NO_DROPOUT)


def made(encoder, name="contrast-hard", **values):
    settings = {"pooling": "mean", "temperature": 0.3, "adaptive_layers": True, **values}
    return methods.load(name)(Tunable(encoder, 64), settings)


@pytest.mark.parametrize("chunk", [0, 5])
def test_loss_and_gradient_are_those_of_sentence_transformers(folder, chunk):
    method = made(encoder_of(folder), chunk=chunk)
    encoder = Transformer(str(folder), max_seq_length=64)
    model = SentenceTransformer(modules=[encoder, Pooling(encoder.get_embedding_dimension())], device="cpu")
    ranking = published.MultipleNegativesRankingLoss(model, scale=1 / 0.3)
    theirs = published.AdaptiveLayerLoss(model, ranking, n_layers_per_step=-1)
    expected = theirs([model.preprocess(column) for column in ROWS], None)
    loss = method(*ROWS)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    expected.backward()
    loss.backward()
    wanted = {name.removeprefix("0.model."): weight.grad for name, weight in model.named_parameters()}
    size = max(slope.abs().max().item() for slope in wanted.values() if slope is not None)
    assert size > 1e-2
    for name, weight in method.named_parameters():
        assert torch.allclose(weight.grad, wanted[name.removeprefix("base.model.")], rtol=0, atol=1e-5 * size), name


@pytest.mark.parametrize("kind", ["bert", "modernbert", "t5"])
def test_the_vectors_of_each_layer_are_those_of_an_encoder_that_is_cut_there(tmp_path, kind):
    encoder = encoder_of(save_tiny(kind, tmp_path / kind))
    method = made(encoder, "contrast", adaptive_layers=True).eval()
    last, *below = method.encode_layers(FIRST).chunk(method.trained_layers, dim=1)
    assert torch.allclose(last, method.encode(FIRST), atol=1e-5)
    where = editing.stack(encoder)
    assert len(below) == encoder.model.config.num_hidden_layers
    for layer, vectors in list(enumerate(below))[where.lowest :]:
        states = [editing.cut(encoder, layer, where).states([sentence]) for sentence in FIRST]
        assert torch.allclose(vectors, torch.cat([Head(("mean",))(one.hidden, one.mask) for one in states]), atol=1e-4)


def test_with_matryoshka_every_layer_is_trained_at_every_number_of_dimensions(folder):
    encoder = encoder_of(folder)
    half = encoder.width // 2
    both = made(encoder, matryoshka=half).eval()
    every = both.encode_layers([text for column in ROWS for text in column]).chunk(both.trained_layers, dim=1)
    plain = made(encoder, adaptive_layers=False).eval()
    own, *below = [
        sum(
            plain.ranked([side[:, :width] for side in layer.chunk(3)], plain.no_negatives(ROWS, keys()))
            for width in both.widths
        )
        for layer in every
    ]
    divergences = [
        torch.nn.functional.kl_div((layer / 0.3).log_softmax(1), (every[0] / 0.3).softmax(1), reduction="batchmean")
        * 0.3
        for layer in every[1:]
    ]
    assert both.widths == (encoder.width, half)
    assert both(*ROWS).item() == pytest.approx((own + sum(below) / 3 + sum(divergences)).item(), rel=1e-5)


def keys():
    return torch.arange(12).view(3, 4)


def test_a_pooling_of_other_layers_is_refused(folder, monkeypatch):
    encoder = encoder_of(folder)
    monkeypatch.setattr(encoder, "head", Head(("mean of layer 1",)))
    with pytest.raises(BadChoice, match=r"adaptive_layers cannot be on here: .* Set pooling to mean or cls"):
        made(encoder, pooling="model default")
