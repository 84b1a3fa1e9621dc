"""Test that vectors that are not finite are refused, with the part of the model that made them."""

import numpy as np
import pytest
import torch

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.readings import OWN, parse
from explorer.errors import NotWeights, UnsupportedModel
from explorer.measuring.sentences.sentence_vectors import check_finite, of_reading
from explorer.progress import finish
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny

TEXTS = ("no", "the dog runs", "a man plays a guitar", "a guitar")
NAN = float("nan")


@pytest.fixture
def encoder(tmp_path):
    return encoder_of(save_tiny("bert", tmp_path / "tiny"))


def spoil_a_token(encoder, value=NAN):
    (number,) = encoder._tokenizer.convert_tokens_to_ids(["guitar"])
    encoder.model.embeddings.word_embeddings.weight[number] = value


def check(encoder, reading):
    check_finite(encoder, TEXTS, reading, finish(of_reading(encoder, TEXTS, reading)))


@pytest.mark.parametrize("title", ["mean of layer 0", "cls of layers 0 + 2", "last of layer 1"])
def test_a_token_with_nan_names_the_embedding_layer_the_sentence_and_a_true_step(encoder, title):
    spoil_a_token(encoder)
    words = rf"gives 2 of 4 sentences vectors with NaN or infinite numbers under {title.replace('+', '.')}, such as "
    words += r"'a man plays a guitar'\. They come from its embedding layer, whose weights are damaged: copy or download"
    with pytest.raises(NotWeights, match=words):
        check(encoder, parse(title, 2))


def test_a_layer_with_nan_is_named_and_those_below_are_not_refused(encoder):
    encoder.model.encoder.layer[1].output.dense.weight[3] = NAN
    check(encoder, parse("mean of layer 1", 2))
    with pytest.raises(NotWeights, match=r"4 of 4 sentences .* They come from its layer 2, whose weights are damaged"):
        check(encoder, parse("mean of layer 2", 2))


def test_a_module_of_the_model_default_that_overflows_is_named_and_the_layers_are_not_refused(encoder):
    large = torch.full((WIDTH, WIDTH), 3e38)
    encoder.head = Head(("mean",), (Dense(torch.eye(WIDTH), None, "Tanh"), Dense(large.triu(), None, "Identity")))
    check(encoder, parse("mean of layer 2", 2))
    words = r"come from its Dense 32, after mean of the last layer → Dense 32 \(tanh\)\. Choose another layer & pooling"
    with pytest.raises(UnsupportedModel, match=words):
        check(encoder, OWN)


def test_in_bfloat16_without_nan_in_the_weights_the_next_step_is_float32(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"), precision="bfloat16")
    encoder.head = Head(("mean",), (Dense(torch.full((WIDTH, WIDTH), 3e38).triu(), None, "Identity"),))
    with pytest.raises(UnsupportedModel, match=r"Switch precision to float32"):
        check(encoder, OWN)


def test_finite_vectors_pass_and_what_does_not_happen_again_is_said(encoder):
    check(encoder, parse("mean of layer 2", 2))
    once = np.where(np.arange(4)[:, None] == 1, np.inf, np.ones((4, WIDTH)))
    with pytest.raises(UnsupportedModel, match=r"'the dog runs'\. Encoded alone, it is finite: start again"):
        check_finite(encoder, TEXTS, parse("mean of layer 2", 2), once)
