"""Test SimCSE, its dense layer and passes, and what is built on it: DiffCSE and layer attention."""

import math
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
from torch import nn

from explorer import losses, methods
from explorer.encoding.load import language_models
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import States
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, HubUnreachable, UnsupportedModel
from explorer.losses import info_nce
from explorer.methods import layer_attention
from tests.methods.rows import COLUMNS, FIRST, SECOND, THIRD, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny

NAMES = ("simcse", "simcse-sup", "simcse-hard")
KEPT = {"simcse": False, "simcse-sup": True, "simcse-hard": True}


def made(name, base, **values):
    """A method whose dense layer matters: weights of 0.02 leave tanh a straight line."""
    method = seeded(name, base, **values)
    with torch.no_grad():
        method.dense.weight.mul_(20)
        method.dense.bias.uniform_(-0.5, 0.5)
    return method


def slow_cls(method, sentence):
    return method.base.states([sentence]).hidden[-1][0, 0].tolist()


def slow_projected(method, sentences):
    """tanh(W h + b) of each sentence's [CLS], one number at a time."""
    weight, bias = method.dense.weight.tolist(), method.dense.bias.tolist()
    found = []
    for sentence in sentences:
        cls = slow_cls(method, sentence)
        products = [sum(w * h for w, h in zip(row, cls, strict=True)) for row in weight]
        found.append([math.tanh(product + b) for product, b in zip(products, bias, strict=True)])
    return torch.tensor(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_dense_layer_is_kept_where_the_paper_keeps_it(base, name):
    method = made(name, base, pooling="cls").eval()
    if KEPT[name]:
        (dense,) = method.head().dense
        assert dense.weight is method.dense.weight
        assert dense.bias is method.dense.bias
        assert method.head().describe() == f"cls of the last layer → Dense {WIDTH} (tanh)"
        expected = slow_projected(method, FIRST)
    else:
        assert method.head().dense == ()
        expected = torch.tensor([slow_cls(method, sentence) for sentence in FIRST])
    assert torch.allclose(vectors_of(method, FIRST), expected, atol=1e-5)
    other = made(name, base, pooling="cls").eval()
    with torch.no_grad():
        other.dense.bias.add_(1)
    assert torch.allclose(vectors_of(other, FIRST), vectors_of(method, FIRST)) != KEPT[name]


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
@pytest.mark.parametrize("name", NAMES)
def test_the_pooling_that_is_chosen_is_trained_and_read(base, name, pooling):
    method = made(name, base, pooling=pooling).eval()
    assert method.head().poolings == (pooling,)
    for place, sentence in enumerate(FIRST):
        tokens = method.base.states([sentence]).hidden[-1][0]
        pooled = {"cls": tokens[0], "mean": tokens.mean(0), "max": tokens.max(0).values}[pooling]
        projected = torch.tanh(method.dense.weight @ pooled + method.dense.bias)
        assert torch.allclose(method.projected(FIRST)[place], projected, atol=1e-5)
        assert torch.allclose(vectors_of(method, FIRST)[place], projected if KEPT[name] else pooled, atol=1e-5)


def test_the_weight_of_the_hard_negative_matters_and_is_0_in_the_paper(base):
    found = [made("simcse-hard", base, weight=weight).eval()(FIRST, SECOND, THIRD).item() for weight in (-50, 0, 1)]
    assert found[0] < found[1] - 1e-3 < found[2] - 2e-3
    assert made("simcse-hard", base).eval()(FIRST, SECOND, THIRD).item() == pytest.approx(found[1])
    on_pairs = made("simcse-sup", base).eval()(FIRST, SECOND).item()
    assert found[0] > on_pairs, "the hard negatives of the others are still there"


def both_passes(method, sentences):
    """What the dense layer says of each sentence the first time and the second time."""
    seen, projected = [], method.projected
    method.projected = lambda twice: seen.append(projected(twice)) or seen[-1]
    loss = method(sentences)
    (together,) = seen
    assert len(together) == 2 * len(sentences)
    return loss, together[: len(sentences)], together[len(sentences) :]


def test_without_labels_the_two_passes_differ_by_dropout_alone(base):
    method = made("simcse", base)
    loss, one, other = both_passes(method, FIRST)
    assert method.base.model.config.hidden_dropout_prob == 0.1
    assert not any(torch.allclose(a, b, atol=1e-3) for a, b in zip(one, other, strict=True))
    assert loss.item() == pytest.approx(losses.info_nce(one, other, 0.05).item(), rel=1e-5)
    quiet = made("simcse", base)
    for part in quiet.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    assert quiet.base.model.training
    loss, one, other = both_passes(quiet, FIRST)
    assert torch.allclose(one, other, atol=1e-6)
    assert torch.allclose(torch.cosine_similarity(one, other), torch.ones(len(FIRST)), atol=1e-6)
    alike = [[torch.cosine_similarity(a, b, dim=0).item() for b in one] for a in one]
    terms = [math.log(sum(math.exp((cosine - 1) / 0.05) for cosine in row)) for row in alike]
    assert loss.item() == pytest.approx(sum(terms) / len(terms), rel=1e-3)
    assert quiet.similarities[0].item() == pytest.approx(1.0, abs=1e-6)


def test_dropout_is_drawn_anew_for_every_batch_and_told_by_the_seed(base):
    method = made("simcse", base)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(method(FIRST).item())
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert method(FIRST).item() != found[2]


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_learns_the_dense_layer_too(base, name):
    method = made(name, base)
    method(*COLUMNS[method.rows]).backward()
    assert all(weight.requires_grad for weight in method.parameters())
    assert method.dense.weight.grad.abs().max() > 1e-4
    embedded = method.base.model.embeddings.word_embeddings.weight.grad
    read = {number for column in COLUMNS[method.rows] for row in base.encoder.tokens(column).ids for number in row}
    moved = {number for number, gradient in enumerate(embedded) if gradient.any()}
    assert moved == read, "the embeddings of the words in the batch learn, and no others"


@pytest.mark.parametrize("name", NAMES)
def test_the_dense_layer_is_made_up_and_not_the_pretrained_pooler(base, name):
    drawn = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        method = methods.load(name)(base)
        assert method.dense.weight.shape == (WIDTH, WIDTH)
        assert method.dense.weight.std().item() == pytest.approx(0.02, rel=0.1)
        assert not method.dense.bias.any()
        drawn.append(method.dense.weight.detach())
    assert not torch.equal(*drawn)


def test_a_head_is_the_dense_layer_as_it_is_now(base):
    method = made("simcse-sup", base).eval()
    before = vectors_of(method, FIRST)
    assert isinstance(method.head().dense[0], Dense)
    with torch.no_grad():
        method.dense.weight.mul_(-1)
        method.dense.bias.mul_(-1)
    assert torch.allclose(vectors_of(method, FIRST), -before, atol=1e-6)


BOTH = ["diffcse", "layer-attention-diffcse"]


@pytest.fixture(params=BOTH)
def name(request):
    return request.param


class Fixed(torch.nn.Module):
    """A generator that writes the same whatever it is shown."""

    def __init__(self, written):
        super().__init__()
        self.written = written

    def guesses(self, ids, mask, real=None):
        return self.written.clone()


def test_what_the_generator_writes_is_taken_but_for_the_first_place_and_padding(base):
    method = seeded("diffcse", base)
    method.generator_model = Fixed(torch.tensor([[55, 7, 5, 9, 102, 3]]))
    ids, mask = torch.tensor([[101, 7, 8, 9, 102, 0]]), torch.tensor([[True] * 5 + [False]])
    method.masker = lambda ids, mask: (ids, mask)
    written = method.filled_in(ids, mask, int(mask.sum()))
    assert written.tolist() == [[101, 7, 5, 9, 102, 0]]
    assert ((written != ids) & mask).int().tolist() == [[0, 0, 1, 0, 0, 0]]


@pytest.mark.parametrize(("count_padding", "expected"), [(False, 0.526928), (True, 0.460261)])
def test_the_detection_loss_gives_the_values_worked_out_for_it(base, count_padding, expected):
    method = seeded("diffcse", base, count_padding=count_padding)
    ids, mask = torch.tensor([[101, 7, 8, 9, 102, 0]]), torch.tensor([[True] * 5 + [False]])
    logits = torch.tensor([[[2.0, 0.0]] * 6])
    with (
        mock.patch.object(base, "padded_groups", return_value=[([0], ids, mask, int(mask.sum()))]),
        mock.patch.object(method, "filled_in", return_value=torch.tensor([[101, 7, 5, 9, 102, 0]])),
        mock.patch.object(method.discriminator, "forward", return_value=States((logits,), mask)),
        mock.patch.object(method, "classify_tokens", torch.nn.Identity()),
    ):
        assert method.detected(["one"], torch.zeros(1, 2)).item() == pytest.approx(expected, abs=1e-6)
        logits.zero_()
        assert method.detected(["one"], torch.zeros(1, 2)).item() == pytest.approx(math.log(2), abs=1e-6)


def test_masks_fall_as_often_as_the_knob_says_and_never_on_special_tokens(base):
    method = seeded("diffcse", base, mask_share=0.3)
    tokenizer = base.encoder.tokenizer()
    word = tokenizer.convert_tokens_to_ids("guitar")
    ids = torch.full((200, 100), word)
    ids[:, 0], ids[:, -1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[:, 90:] = False
    torch.manual_seed(1)
    made_of, chosen = method.masker(ids, mask)
    inside = made_of[:, 1:90]
    count = inside.numel()
    masks, drawn = (inside == tokenizer.mask_token_id), (inside != word) & (inside != tokenizer.mask_token_id)
    assert abs(masks.float().mean() - 0.24) < 4 * (0.24 * 0.76 / count) ** 0.5 + 0.3 * 0.1 / len(tokenizer)
    assert abs(drawn.float().mean() - 0.03) < 4 * (0.03 * 0.97 / count) ** 0.5 + 2 * 0.03 / len(tokenizer)
    assert abs(chosen[:, 1:90].float().mean() - 0.3) < 4 * (0.3 * 0.7 / count) ** 0.5
    assert not ((made_of != ids) & ~chosen).any()
    assert torch.equal(made_of[:, 0], ids[:, 0])
    assert torch.equal(made_of[:, 90:], ids[:, 90:])


def test_the_generator_never_learns_and_the_discriminator_does_and_the_encoder_learns_from_detection_alone(base, name):
    method = seeded(name, base)
    method(FIRST).backward()
    assert all(weight.grad is None for weight in method.generator_model.parameters())
    assert all(one.grad is not None and torch.isfinite(one.grad).all() for one in method.discriminator.parameters())
    assert method.classify_tokens.weight.grad.any()
    method = seeded(name, base)
    method.detected(FIRST, method.projected(FIRST)).backward()
    learned = [weight.grad for weight in base.model.encoder.parameters() if weight.grad is not None]
    assert any(gradient.abs().max() > 1e-8 for gradient in learned)


def test_without_detection_it_is_the_contrast_alone(base, name):
    method = seeded(name, base, detection=0.0).eval()
    loss = method(FIRST)
    one = method.projected(FIRST)
    assert loss.item() == pytest.approx(info_nce(one, one, 0.05).item(), abs=1e-5)
    loss.backward()
    assert not any(weight.grad.any() for weight in method.discriminator.parameters() if weight.grad is not None)


def test_the_generator_rests_unless_its_dropout_is_asked_for_and_the_norms_are_as_large_as_the_papers(base):
    assert not seeded("diffcse", base).generator_model.training
    assert seeded("diffcse", base, generator_dropout=True).generator_model.training
    assert not seeded("diffcse", base, generator_dropout=True).eval().generator_model.training
    method = seeded("diffcse", base)
    width = method.width
    assert sum(weight.numel() for weight in method.project.parameters()) == 4 * width * width + 4 * width
    assert 4 * 768 * 768 + 4 * 768 == 2_362_368


@pytest.mark.parametrize("projector", ["batch norm", "tanh"])
def test_the_projector_starts_as_the_release_does(base, projector):
    project = seeded("diffcse", base, projector=projector).project
    for layer in (one for one in project if isinstance(one, torch.nn.Linear)):
        spread = layer.weight.std().item()
        assert spread == pytest.approx(0.02, rel=0.2)
        assert layer.weight.abs().max().item() > 2.5 * spread, "normal, where torch's own start is uniform"
        assert layer.bias is None or not layer.bias.any()


def test_a_sentence_is_read_without_the_projector_or_through_the_pooler(base):
    assert seeded("diffcse", base).head() == Head(("mean",))
    head = seeded("layer-attention-diffcse", base).head()
    assert head.layers
    assert len(head.dense) == 1


def test_a_generator_that_is_not_here_or_does_not_fit_is_refused_with_what_to_do(base, tmp_path):
    with pytest.raises(HubUnreachable, match="'distilroberta-base' is neither a folder here nor in the local cache"):
        seeded("diffcse", base, generator="distilroberta-base")
    encoder = encoder_of(save_tiny("roberta", tmp_path / "roberta"))
    with pytest.raises(BadChoice, match=r"has another vocabulary than .* python -m explorer generator --model"):
        seeded("diffcse", Tunable(encoder, 64))
    with pytest.raises(UnsupportedModel, match="which does not predict masked words"):
        language_models.load_masked(of_folder("t5", save_tiny("t5", tmp_path / "t5")), base.encoder)
    decoder = encoder_of(save_tiny("gpt2", tmp_path / "gpt2"))
    with pytest.raises(BadChoice, match="has no mask token"):
        language_models.Masker(decoder, 0.3)


ATTENDING = ["layer-attention", "layer-attention-sup", "layer-attention-hard"]


def test_there_is_a_pooler_for_each_row_of_table_2_and_two_for_those_with_first_last():
    from_0 = [name for name in layer_attention.POOLERS if "from layer 0" in name]
    assert from_0 == ["first-last mean, from layer 0", "mean, first-last mean, from layer 0"]
    assert len(layer_attention.POOLERS) == 9 + len(from_0)


@pytest.mark.parametrize(
    ("pooler", "layers"), [("first-last mean", (1, -1)), ("first-last mean, from layer 0", (0, -1))]
)
def test_first_last_is_the_mean_of_the_layers_in_its_name(base, pooler, layers):
    method = seeded("layer-attention", base, pooler=pooler).eval()
    hidden, mask = base.states(FIRST).hidden, base.states(FIRST).mask.float()
    first, last = ((hidden[layer] * mask[..., None]).sum(1) / mask.sum(1, keepdim=True) for layer in layers)
    expected = torch.tanh(torch.nn.functional.linear((first + last) / 2, method.dense.weight, method.dense.bias))
    assert torch.allclose(vectors_of(method, FIRST), expected, atol=1e-5)
    told = "layers 1 and last" if layers[0] else f"layers 0 + {base.layers}"
    assert method.head().describe() == f"mean of {told} → Dense {method.width} (tanh)"


def test_the_pooler_and_its_dense_layer_are_as_large_as_the_papers():
    method = methods.load("layer-attention")(SimpleNamespace(width=768), {})
    added = [weight for name, weight in method.named_parameters() if not name.startswith("base.")]
    assert sum(weight.numel() for weight in added) == 2_949_888


@pytest.mark.product(1)
@pytest.mark.parametrize("pooler", layer_attention.POOLERS)
@pytest.mark.parametrize("name", ATTENDING)
def test_every_pooler_trains_every_part_it_has(base, name, pooler):
    method = seeded(name, base, pooler=pooler)
    loss = method(*COLUMNS[method.rows])
    loss.backward()
    assert torch.isfinite(loss)
    assert [weight for weight, value in method.named_parameters() if value.grad is None] == []
    assert len(method.maps) == (3 if "attention" in pooler else 0)


@pytest.mark.parametrize("pooler", layer_attention.POOLERS)
def test_a_sentence_is_read_by_what_was_trained(base, pooler):
    method = seeded("layer-attention", base, pooler=pooler).eval()
    states = base.states(FIRST)
    assert torch.allclose(vectors_of(method, FIRST), method.head()(states.hidden, states.mask), atol=1e-5)
    assert torch.allclose(vectors_of(method, FIRST), method.projected(FIRST), atol=1e-5)


def test_the_pooler_draws_in_training_alone_may_serve_it_alone_and_leave_out_the_embeddings(base):
    method = seeded("layer-attention", base)
    base.eval()  # no dropout: what differs is the pooler's
    assert not torch.equal(method.projected(FIRST), method.projected(FIRST))
    method.eval()
    assert torch.equal(method.projected(FIRST), method.projected(FIRST))
    assert method.head().layers.noisy is False
    method = seeded("layer-attention", base, afterwards="cls")
    assert method.head() == Head(("cls",))
    assert method.training_only == ()
    assert method(FIRST).requires_grad
    assert seeded("layer-attention", base).head().layers.first_layer == 0
    assert seeded("layer-attention", base, with_embeddings=False).head().layers.first_layer == 1


def test_the_base_is_read_for_comparison_by_the_layers_the_pooler_takes(base):
    assert seeded("layer-attention", base).base_head() == Head(("cls",))
    assert seeded("layer-attention", base, pooler="attention of mean").base_head() == Head(("cls",))
    assert seeded("layer-attention", base, pooler="mean").base_head() == Head(("mean",))
