"""Test IS-BERT: values worked out by hand, its convolutions, padding, and the exported model in each library."""

import math

import pytest
import torch
from sentence_transformers import SentenceTransformer

from explorer import methods
from explorer.encoding.export import source_code
from explorer.encoding.export.exporting import export
from explorer.encoding.load import declared
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.token_convolution import TokenConvolution
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import NotWeights, UnsupportedModel
from explorer.methods.is_bert import mutual_information, sums
from tests.exports import TEXTS, as_trained, assert_close, by_strata
from tests.methods.rows import FIRST, MANY, descend, seeded, vectors_of
from tests.spoiling import configure
from tests.tiny_models import WIDTH

# the local vectors of two sentences, of two and of three tokens; the last place of the first is padding
LOCAL = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]], [[-1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]])
REAL = torch.tensor([[True, True, False], [True, True, True]])
GLOBAL = torch.tensor([[0.5, 0.5], [0.0, 1.0]])


def estimate(local, real, vectors):
    return mutual_information(sums(local, real, vectors, torch.arange(len(vectors))), len(vectors)).item()


def test_the_loss_is_the_estimate_worked_out_by_hand():
    same, others, tokens = sums(LOCAL, REAL, GLOBAL, torch.arange(2)).tolist()
    assert tokens == 5
    assert same / tokens == pytest.approx(0.377588, abs=1e-6)
    assert others / tokens == pytest.approx(0.997379, abs=1e-6)
    assert estimate(LOCAL, REAL, GLOBAL) == pytest.approx(-0.011328, abs=1e-6)


def test_long_sentences_count_more():
    """The mean of each sentence's mean would be another number."""
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
    assert declared.declared(folder).words == "convolution over tokens"
    code = source_code.transformers(method.head(), "AutoModel").replace(source_code.FOLDER, str(folder))
    known = {}
    exec(code, known)
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
