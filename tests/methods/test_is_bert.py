"""Test methods that learn from tokens: IS-BERT's convolutions and estimate, TSDAE's deleted words and its decoder."""

import math
from types import SimpleNamespace

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from explorer import methods
from explorer.encoding.export import source_code
from explorer.encoding.export.exporting import export
from explorer.encoding.load import declared
from explorer.encoding.locate import model_names
from explorer.encoding.locate.families import FAMILIES
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.token_convolution import TokenConvolution
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import NotWeights, UnsupportedModel
from explorer.methods import tsdae
from explorer.methods.is_bert import mutual_information, sums
from tests.exports import TEXTS, as_trained, assert_close, by_strata, typed
from tests.methods.rows import FIRST, MANY, descend, seeded, vectors_of
from tests.spoiling import configure, encoder_of
from tests.tiny_models import WIDTH, save_tiny

# the local vectors of two sentences, of two and of three tokens; the last place of the first is padding
LOCAL = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]], [[-1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]])
REAL = torch.tensor([[True, True, False], [True, True, True]])
GLOBAL = torch.tensor([[0.5, 0.5], [0.0, 1.0]])


def estimate(local, real, vectors):
    return mutual_information(sums(local, real, vectors, torch.arange(len(vectors))), len(vectors)).item()


def test_the_loss_is_the_estimate_worked_out_by_hand_in_which_long_sentences_count_more():
    same, others, tokens = sums(LOCAL, REAL, GLOBAL, torch.arange(2)).tolist()
    assert tokens == 5
    assert same / tokens == pytest.approx(0.377588, abs=1e-6)
    assert others / tokens == pytest.approx(0.997379, abs=1e-6)
    assert estimate(LOCAL, REAL, GLOBAL) == pytest.approx(-0.011328, abs=1e-6)
    # the mean of each sentence's mean would be another number
    terms = [sums(LOCAL[[at]], REAL[[at]], GLOBAL, torch.tensor([at])) for at in range(2)]
    by_sentence = sum(mutual_information(one, 2).item() for one in terms) / 2
    assert by_sentence == pytest.approx(0.005725, abs=1e-6)
    assert estimate(LOCAL, REAL, GLOBAL) != pytest.approx(by_sentence, abs=1e-3)


def test_zero_vectors_give_0_and_nothing_is_below_the_floor():
    assert estimate(LOCAL * 0, REAL, GLOBAL * 0) == pytest.approx(0, abs=1e-6)
    apart = torch.tensor([[[100.0, -100.0]], [[-100.0, 100.0]]])
    found = estimate(apart, torch.ones(2, 1, dtype=torch.bool), apart[:, 0])
    assert found == pytest.approx(-2 * math.log(2), abs=1e-6) == pytest.approx(-1.386294, abs=1e-6)


def test_the_order_of_sentences_and_further_padding_leave_the_loss_as_it_is():
    other = [1, 0]
    assert estimate(LOCAL[other], REAL[other], GLOBAL[other]) == pytest.approx(-0.011328, abs=1e-6)
    longer = torch.cat([LOCAL, torch.full((2, 4, 2), 7.0)], dim=1), torch.nn.functional.pad(REAL, (0, 4))
    assert estimate(*longer, GLOBAL) == pytest.approx(-0.011328, abs=1e-6)


def ones(**settings) -> TokenConvolution:
    """One filter for each kernel, with weights of 1."""
    return TokenConvolution(tuple(torch.ones(1, 1, kernel) for kernel in (1, 3, 5)), (torch.zeros(1),) * 3, **settings)


TOKENS = torch.tensor([[[1.0], [2.0], [3.0]]])


def test_the_convolutions_are_those_worked_out_by_hand():
    assert ones().of_tokens(TOKENS, None).tolist() == [[[1, 3, 6], [2, 6, 6], [3, 5, 6]]]
    assert ones()([TOKENS * 5, TOKENS], None)[0].tolist() == pytest.approx([2, 4.666667, 6], abs=1e-6)
    assert ones().width(1) == 3
    assert Head((), layers=ones()).describe() == "mean of a convolution over tokens (kernels 1, 3, 5)"


@pytest.mark.parametrize("padding", [1, 2, 5])
def test_padding_is_not_read_unless_it_is_set(padding):
    padded = torch.cat([TOKENS, torch.zeros(1, padding, 1)], dim=1)
    padded[:, 3] = 10.0
    mask = torch.arange(3 + padding)[None] < 3
    assert ones()([padded], mask)[0].tolist() == pytest.approx([2, 4.666667, 6], abs=1e-6)
    assert ones(reads_padding=True)([padded], mask)[0].tolist() == pytest.approx([2, 8, 12.666667], abs=1e-6)


def test_relu_comes_before_the_mean():
    states = torch.tensor([[[-1.0], [2.0]]])
    assert ones(relu=True)([states], None)[0].tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert ones()([states], None)[0].tolist() == pytest.approx([0.5, 1.0, 1.0])


def made(base, **values):
    return seeded("is-bert", base, filters=8, **values)


def test_the_convolutions_of_bert_base_have_1770240_weights(base, monkeypatch):
    monkeypatch.setattr(base, "width", 768)
    assert sum(weight.numel() for weight in methods.load("is-bert")(base).convolutions.parameters()) == 1_770_240


def test_the_model_is_compared_with_the_mean_of_the_base(base):
    method = made(base)
    assert method.base_head() == Head(("mean",))
    assert method.head().describe() == "mean of a convolution over tokens (kernels 1, 3, 5)"
    assert method.head().width(WIDTH) == 24 == vectors_of(method, FIRST).shape[1]


def tokens_of(method, sentence):
    """The local vectors of a sentence alone."""
    local, real = method._local([sentence])
    return local[real]


def test_in_training_padding_is_read_if_it_is_set(base):
    for value in (False, True):
        method = made(base, reads_padding=value).eval()
        local, real = method._local(FIRST)
        short = min(range(len(FIRST)), key=lambda at: real[at].sum())
        assert ((local[short][real[short]] - tokens_of(method, FIRST[short])).abs().max() > 1e-3) == value
        assert not method.head().layers.reads_padding, "an exported model never reads it"


def test_dropout_is_on_and_the_watched_similarities_are_means_over_tokens(base):
    assert not torch.equal(made(base)(FIRST), made(base)(FIRST[::-1]))
    method = made(base).eval()
    method(FIRST)
    vectors = vectors_of(method, FIRST)
    same, others = [], []
    for place, sentence in enumerate(FIRST):
        for token in tokens_of(method, sentence):
            for at, vector in enumerate(vectors):
                (same if at == place else others).append(torch.cosine_similarity(token, vector, dim=0).item())
    expected = sum(same) / len(same), sum(others) / len(others)
    assert [one.item() for one in method.similarities] == pytest.approx(expected, abs=1e-5)


@pytest.fixture
def run(tiny_encoder, tmp_path):
    """A trained method and its export."""
    method = made(Tunable(tiny_encoder, 64), relu=True)
    with torch.no_grad():
        for weight in method.parameters():
            weight += 0.05 * torch.randn_like(weight)
    export(method.base, method.head(), tmp_path / "run", "# card", None)
    return method, tmp_path / "run"


def test_every_library_gives_the_vectors_of_training(run):
    method, folder = run
    expected = as_trained(method.base, method.head())
    assert expected.shape == (len(TEXTS), 24)
    opened = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    found = opened.encode(list(TEXTS), convert_to_tensor=True, batch_size=len(TEXTS))  # with padding
    assert_close(found, expected)
    assert_close(by_strata(folder), expected)
    assert declared.head(folder).describe() == method.head().describe()
    assert declared.declared(folder) == "convolution over tokens"
    known = typed(source_code.transformers(method.head(), "AutoModel"), folder)
    assert_close(known["vectors"], as_trained(method.base, method.head(), tuple(known["sentences"])))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"kernels": [1, 3], "relu": True}, NotWeights),
        ({"kernels": [1, 3, 7], "relu": True}, NotWeights),
        ({"kernels": [1, 3, 5, 7], "relu": True}, NotWeights),
        ({"kernels": [1, 3, 10**9 + 1], "relu": True}, NotWeights),
        ({"kernels": [1, 2, 5], "relu": True}, UnsupportedModel),
        ({"kernels": [1, 3, True], "relu": True}, UnsupportedModel),
        ({"kernels": [], "relu": True}, UnsupportedModel),
        ({"kernels": 3, "relu": True}, UnsupportedModel),
        ({"kernels": [1, 3, 5], "relu": 1}, UnsupportedModel),
        ({"kernels": [1, 3, 5]}, UnsupportedModel),
        ([1, 3, 5], UnsupportedModel),
    ],
)
def test_a_convolution_with_wrong_settings_is_refused(run, change, error):
    _, folder = run
    configure(folder / "1_LayerReading" / "config.json", convolution=change)
    with pytest.raises(error, match=r"Export the model again|holds no weights"):
        declared.head(folder)


def test_it_learns_to_tell_sentences_by_their_tokens(base):
    method = made(base).eval()
    losses = descend(method, [MANY[:8]], 8)
    assert losses[-1] < losses[0] - 0.1
    same, others = method.similarities
    assert same > others


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
