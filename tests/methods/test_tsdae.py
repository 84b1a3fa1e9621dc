"""Test TSDAE: what is deleted, what the decoder sees, and which weights it shares with the encoder."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from explorer import methods
from explorer.encoding.locate import model_names
from explorer.encoding.locate.families import FAMILIES
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.methods import tsdae
from tests.methods.rows import FIRST, MANY, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

OWN = ("crossattention", "cls.predictions.transform", "cls.predictions.bias")  # of a BERT's decoder
SIZES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 128,
    "max_position_embeddings": 66, "pad_token_id": 1,
}  # fmt: skip


@pytest.fixture
def quiet_method(base):
    return seeded("tsdae", base).eval()


def test_the_loss_is_the_one_worked_out():
    scores = torch.tensor([[[2.0, 0, 0], [0, 1, 0], [0, 0, 3], [9, 9, 0]]])
    targets = torch.tensor([[0, 1, 2, tsdae.NO_TARGET]])
    assert tsdae.reconstruction(scores, targets).item() / 3 == pytest.approx(0.295304, abs=1e-6)
    assert tsdae.reconstruction(torch.zeros_like(scores), targets).item() / 3 == pytest.approx(math.log(3))


def test_words_are_deleted_up_to_the_share_and_one_is_always_left():
    words = list("abcde")
    assert tsdae.after_deletion(words, torch.tensor([0.7, 0.1, 0.61, 0.6, 0.9]), 0.6) == ["a", "c", "e"]
    assert tsdae.after_deletion(words, torch.tensor([0.3, 0.1, 0.5, 0.6, 0.2]), 0.6) == ["d"]
    assert tsdae.after_deletion([], torch.tensor([]), 0.6) == []


def test_the_decoder_reads_all_but_the_last_token_and_predicts_all_but_the_first():
    ids = torch.tensor([[101, 7, 8, 9, 102, 0], [101, 7, 8, 9, 9, 102]])
    inputs, targets = tsdae.shifted(ids, ids != 0)
    assert inputs.tolist() == [[101, 7, 8, 9, 102], [101, 7, 8, 9, 9]]
    assert targets.tolist() == [[7, 8, 9, 102, tsdae.NO_TARGET], [7, 8, 9, 9, 102]]


def test_noise_is_drawn_anew_by_torchs_seed_and_leaves_words_in_order(base):
    method = seeded("tsdae", base)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(method.corrupted(MANY))
    assert found[0] == found[1] != found[2]
    assert method.corrupted(MANY) != found[2]
    for before, after in zip(MANY, found[0], strict=True):
        rest = iter(before.split())
        assert after
        assert all(word in rest for word in after.split()), "a word that is left is after the one before it"
    words = sum(len(sentence.split()) for sentence in MANY)
    assert sum(len(sentence.split()) for sentence in found[0]) / words == pytest.approx(0.4, abs=0.04)
    assert seeded("tsdae", base, deletion=0.0).corrupted(["a  late\ttrain"]) == ["a late train"]


def test_the_decoder_has_the_tensors_of_the_encoder_and_few_of_its_own(base):
    method = seeded("tsdae", base)
    encoder = dict(base.model.named_parameters())
    for name, weight in method.decoder.base_model.named_parameters():
        assert ("crossattention" in name) == (name not in encoder)
        assert name not in encoder or weight is encoder[name]
    assert method.decoder.get_output_embeddings().weight is base.model.get_input_embeddings().weight
    own = {name for name, _ in method.named_parameters() if not name.startswith("base.")}
    assert own
    assert all(any(part in name for part in OWN) for name in own)
    apart = seeded("tsdae", base, tied=False)
    for name, weight in apart.decoder.base_model.named_parameters():
        assert name not in encoder or (weight is not encoder[name] and torch.equal(weight, encoder[name]))
    assert apart.decoder.get_output_embeddings().weight is apart.decoder.get_input_embeddings().weight


def test_the_decoder_of_bert_base_has_as_many_weights_of_its_own_as_it_should():
    with torch.device("meta"):
        model = BertModel(BertConfig(), add_pooling_layer=False)
        decoder = tsdae.decoder_of(SimpleNamespace(model=model, adapters=None), tied=True)
    shared = set(model.parameters())
    assert sum(weight.numel() for weight in decoder.parameters() if weight not in shared) == 28_989_498
    cross = (weight.numel() for name, weight in decoder.named_parameters() if "crossattention" in name)
    assert sum(cross) == 28_366_848


def test_no_token_is_predicted_from_later_ones(quiet_method):
    ids, _ = quiet_method.base.encoder.padded(quiet_method.base.encoder.tokens(FIRST).ids)
    memories = torch.randn(len(FIRST), quiet_method.width)
    before = quiet_method.scores(ids, memories)
    for place in range(1, ids.shape[1]):
        other = ids.clone()
        other[:, place] = (other[:, place] + 7) % quiet_method.base.model.config.vocab_size
        after = quiet_method.scores(other, memories)
        assert torch.allclose(after[:, :place], before[:, :place], atol=1e-6)
        assert not torch.allclose(after[:, place], before[:, place], atol=1e-4)


def test_padding_changes_no_prediction(quiet_method):
    (ids,) = quiet_method.base.encoder.tokens(FIRST[1:2]).ids
    memory = torch.randn(1, quiet_method.width)
    padded = torch.tensor([ids + [0] * 5])
    assert torch.allclose(
        quiet_method.scores(padded, memory)[:, : len(ids)], quiet_method.scores(torch.tensor([ids]), memory), atol=1e-6
    )


def test_the_sentence_vector_is_all_that_the_decoder_has_of_the_encoder(quiet_method):
    ids, mask = quiet_method.base.encoder.padded(quiet_method.base.encoder.tokens(FIRST).ids)
    inputs, targets = tsdae.shifted(ids, mask)
    memories = quiet_method.encode(FIRST).detach().requires_grad_(True)

    def loss(of):
        return tsdae.reconstruction(quiet_method.scores(inputs, of), targets)

    assert abs(loss(memories[[1, 0, 2, 3]]) - loss(memories)) > 1e-4
    loss(memories).backward()
    assert memories.grad.abs().max() > 1e-4
    for name, weight in quiet_method.decoder.named_parameters():
        if "crossattention.self.query" in name or "crossattention.self.key" in name:
            assert weight.grad.abs().max() < 1e-9, "one vector has all the attention, whatever query and key are"
        elif "crossattention" in name:
            assert weight.grad.abs().max() > 1e-6


def test_a_vector_that_is_not_as_wide_as_the_encoder_is_mapped(base, monkeypatch):
    assert isinstance(seeded("tsdae", base, pooling="mean").bridge, nn.Identity)
    monkeypatch.setattr(base.encoder, "head", Head(("cls", "mean")))
    method = seeded("tsdae", base)
    assert method.bridge.weight.shape == (32, 64)
    assert torch.isfinite(method(FIRST))
    assert vectors_of(method, FIRST).shape == (len(FIRST), 64), "the exported vector is as it was"


@pytest.mark.parametrize("kind", [kind for row in FAMILIES if row.cross_attention for kind in row.types])
def test_each_type_of_encoder_has_a_decoder_that_shares_all_its_weights(kind):
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(kind, **SIZES))
    decoder = tsdae.decoder_of(SimpleNamespace(model=model, adapters=None), tied=True).eval()
    shared = set(model.parameters())
    assert decoder.get_input_embeddings().weight in shared
    assert decoder.get_output_embeddings().weight in shared
    assert {weight for name, weight in decoder.base_model.named_parameters() if "crossattention" not in name} <= shared
    ids, memory = torch.randint(5, 100, (2, 7)), torch.randn(2, 1, 32)
    other = ids.clone()
    other[:, 4] = 3
    before, after = (
        decoder(input_ids=one, encoder_hidden_states=memory, use_cache=False).logits for one in (ids, other)
    )
    assert torch.allclose(after[:, :4], before[:, :4], atol=1e-6)
    assert not torch.allclose(after[:, 4], before[:, 4], atol=1e-4)


@pytest.mark.parametrize("kind", ["distilbert", "mpnet", "albert", "modernbert", "gpt2", "t5"])
def test_an_encoder_without_such_a_decoder_is_refused(kind, tmp_path):
    base = Tunable(encoder_of(save_tiny(kind, tmp_path / kind)), 16)
    with pytest.raises(UnsupportedModel, match=r"TSDAE trains these types of encoders: BERT, .*XLM-RoBERTa\. Choose"):
        methods.load("tsdae")(base)


def test_the_included_encoder_is_trained():
    method = seeded("tsdae", Tunable(encoder_of(model_names.find("all-MiniLM-L6-v2").folder), 75))
    loss = method(FIRST)
    loss.backward()
    assert 0 < loss.item() < 2 * math.log(30522)
    assert method.head().poolings == ("mean",)
    assert all(weight.grad is not None for weight in method.parameters())
