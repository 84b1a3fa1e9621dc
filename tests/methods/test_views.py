"""Test methods that compare two views of a sentence, ConSERT and Mirror-BERT: masks, cuts, losses and layers."""

import collections

import pytest
import torch

from explorer import methods
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.losses import cosines, nt_xent
from explorer.methods import PAPER, knobs_of, released_values, start_values
from explorer.methods.augmented_views import both_directions, permuted, without_features, without_tokens
from explorer.optimizers import UncorrectedAdamW
from tests.methods.rows import FIRST, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny

C, H = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 1.0], [-1.0, 1.0]])


def first_layers(method, change, monkeypatch):
    """Layer 0 and the masks of every pass of a view."""
    seen, forward = [], method.base.forward
    monkeypatch.setattr(method.base, "forward", lambda *given: seen.append(forward(*given)) or seen[-1])
    method.view(FIRST, change)
    return [(states.hidden[0], states.mask) for states in seen]


@pytest.mark.parametrize(("temperature", "golden"), [(0.1, 0.104163), (1.0, 0.219781)])
def test_the_golden_losses(temperature, golden):
    loss = both_directions(C, H, temperature).item()
    assert loss == pytest.approx(golden, abs=2e-6)
    # without its weight, and with the weight of one direction only
    assert loss != pytest.approx(golden / 0.15, abs=1e-3)
    assert loss != pytest.approx(golden / 2, abs=1e-3)


def test_exactly_a_fifth_of_the_features_of_each_sentence_is_zero_at_every_token(base, monkeypatch):
    method = seeded("consert", base)
    assert method.training
    rows = 0
    for embedded, mask in first_layers(method, "feature cutoff", monkeypatch):
        for states, real in zip(embedded, mask, strict=True):
            assert int((states[real] == 0).all(0).sum()) == int(0.2 * WIDTH) == 6
            assert int((states == 0).sum()) == 6 * len(states)
            rows += 1
    assert rows == len(FIRST)
    cut = without_features(torch.ones(5, 2, 768), torch.rand(5, 768), 0.2)
    assert (cut == 0).all(1).sum(1).tolist() == [153] * 5
    assert set(cut.unique().tolist()) == {0.0, 1.0}, "nothing is rescaled"
    assert len({tuple(row) for row in (cut[:, 0] == 0).tolist()}) == 5, "drawn for each sentence"


def test_a_share_of_the_real_tokens_is_zero(base, monkeypatch):
    for embedded, mask in first_layers(seeded("consert", base, tokens_cut=0.15), "token cutoff", monkeypatch):
        for states, real in zip(embedded, mask, strict=True):
            empty = (states == 0).all(1)
            assert int(empty.sum()) == int((empty & real).sum()) == int(0.15 * int(real.sum()))
    mask = torch.arange(20)[None] < torch.tensor([20, 6, 3, 15])[:, None]
    cut = without_tokens(torch.ones(4, 20, 8), mask, torch.rand(4, 20), 0.15)
    assert (cut == 0).all(2).sum(1).tolist() == [3, 0, 0, 2]
    everywhere = torch.zeros(20)
    for _ in range(300):
        everywhere += (without_tokens(torch.ones(1, 20, 1), mask[:1], torch.rand(1, 20), 0.15) == 0)[0, :, 0]
    assert everywhere.min() > 15, "[CLS] and [SEP] too"


@pytest.mark.parametrize("share", [0.1, 0.15, 0.2, 0.29, 0.3, 0.58, 0.7])
def test_a_share_is_rounded_down_exactly(share):
    mask = torch.arange(100)[None] < torch.arange(1, 101)[:, None]
    cut = without_tokens(torch.ones(100, 100, 1), mask, torch.rand(100, 100), share)
    assert (cut == 0).sum((1, 2)).tolist() == [int(share * length) for length in range(1, 101)]


def test_positions_are_permuted_and_padding_keeps_its_own():
    ids, mask = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[True, True, True, False]])
    assert permuted(ids, mask, torch.tensor([[0.5, 0.9, 0.1, 0.0]])).tolist() == [[2, 0, 1, 3]]
    after_pad = torch.tensor([[2, 3, 4, 1, 1]])
    mask = torch.tensor([[True, True, True, False, False]])
    assert permuted(after_pad, mask, torch.tensor([[0.5, 0.9, 0.1, 0.0, 0.7]])).tolist() == [[4, 2, 3, 1, 1]]
    real = torch.arange(9)[None] < torch.tensor([[5], [9], [3]])
    for row, mask in zip(permuted(torch.arange(9).expand(3, 9), real, torch.rand(3, 9)), real, strict=True):
        count = int(mask.sum())
        assert sorted(row[:count].tolist()) == list(range(count))
        assert row[count:].tolist() == list(range(count, 9))


def test_shuffled_positions_are_permuted_tokens_under_the_mean(base, monkeypatch):
    method = seeded("consert", base)
    order, (ids,) = torch.randperm(7), base.encoder.tokens(FIRST[1:2]).ids
    assert len(ids) == 7
    monkeypatch.setattr(torch, "rand", lambda *size: torch.cat([order.argsort() / 10, torch.zeros(size[1] - 7)])[None])
    shuffled = method.view(FIRST[1:2], "shuffle")
    tokens = torch.empty(7, dtype=torch.long)
    tokens[order] = torch.tensor(ids)  # the token that is given position p stands at place p
    states = base(tokens[None], torch.ones(1, 7).bool(), whole=True)
    assert (shuffled - states.hidden[-1].mean(1)).abs().max() < 2e-6
    assert (shuffled - method.view(FIRST[1:2], "none")).abs().max() > 1e-2


def test_two_plain_views_are_equal(base):
    method = seeded("consert", base, first_view="none", second_view="none")
    assert method.training
    one, other = (method.view(FIRST, "none") for _ in range(2))
    assert torch.allclose(cosines(one, other).diagonal(), torch.ones(len(FIRST)), atol=1e-6)
    method(FIRST)
    assert method.similarities[0].item() == pytest.approx(1.0, abs=1e-6)
    with_dropout = seeded("consert", base, first_view="none", second_view="none", dropout=True)
    one, other = (with_dropout.view(FIRST, "none") for _ in range(2))
    assert cosines(one, other).diagonal().max() < 0.999


@pytest.mark.parametrize("view", ["shuffle", "token cutoff", "feature cutoff"])
def test_a_view_is_drawn_anew_for_every_batch(base, view):
    method = seeded("consert", base, first_view=view, second_view="none")
    one, other, plain = (method.view(FIRST, one) for one in (view, view, "none"))
    assert not torch.allclose(one, other, atol=1e-4)
    assert not torch.allclose(one, plain, atol=1e-4)


def test_the_vector_of_the_loss_is_of_the_last_layer_and_the_exported_one_of_the_last_two(base):
    method = seeded("consert", base).eval()
    states = base.states(FIRST)
    last, before = ((layer * states.mask[:, :, None]).sum(1) / states.mask.sum(1, keepdim=True)
                    for layer in (states.hidden[-1], states.hidden[-2]))  # fmt: skip
    assert torch.allclose(method.view(FIRST, "none"), last, atol=1e-5)
    assert torch.allclose(vectors_of(method, FIRST), (last + before) / 2, atol=1e-5)
    assert method.head() == method.base_head() == Head((f"mean of layers {base.layers - 1} + {base.layers}",))
    assert torch.allclose(vectors_of(seeded("consert", base, reads="mean").eval(), FIRST), last, atol=1e-5)


def test_an_encoder_without_position_ids_is_refused_unless_nothing_is_shuffled(tmp_path):
    base = Tunable(encoder_of(save_tiny("t5", tmp_path / "t5")), 64)
    with pytest.raises(UnsupportedModel, match="'tiny' is a t5 that takes no position ids"):
        seeded("consert", base)
    assert torch.isfinite(seeded("consert", base, second_view="token cutoff")(FIRST))


def test_a_large_encoder_has_the_settings_of_its_script_and_no_bias_correction_where_it_is_set(base):
    kind = methods.load("consert")
    large = {name: one.default for name, one in knobs_of(kind, "BERT-large").items()}
    assert (large["dropout"], large["first_view"], large["second_view"], large["epochs"]) == (
        True, "none", "shuffle", 25,
    )  # fmt: skip
    assert released_values(kind)["uncorrected_adam"] is True
    for uncorrected in (True, False):
        method = seeded("consert", base, uncorrected_adam=uncorrected)
        optimizer = method.make_optimizer(method.groups(method.schedule), method.schedule)
        assert isinstance(optimizer, UncorrectedAdamW) == uncorrected
        assert optimizer.defaults["eps"] == 1e-6


LONG = [f"{sentence} and the dog runs after a red ball" for sentence in FIRST]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def test_a_span_of_five_characters_is_replaced_by_its_place_each_as_likely_and_in_the_copy_alone(base, monkeypatch):
    method = seeded("mirror-bert", base)
    assert method.masked(LETTERS, 10.5 / 32) == "abcdefghij [MASK] pqrstuvwxyz0123456789"
    assert method.masked(LETTERS[:29], 10.5 / 32) == LETTERS[:29]
    assert method.masked(LETTERS[:30], 0.0) == f" [MASK] {LETTERS[5:30]}"
    assert method.masked(LETTERS, 1 - 2**-24) == f"{LETTERS[:31]} [MASK] ", "the last characters too"
    # where the same five characters occur first, the released code would cut them at the beginning
    assert method.masked("na " * 12, 9.5 / 32) == "na na na  [MASK]  na na na na na na na "
    assert seeded("mirror-bert", base, span=0).masked(LETTERS, 0.5) == LETTERS
    assert seeded("mirror-bert", base, span=40).masked(LETTERS, 0.5) == LETTERS, "shorter than the span"
    assert seeded("mirror-bert", base, span=36).masked(LETTERS, 0.5) == " [MASK] "
    seen = []
    monkeypatch.setattr(method, "encode", lambda texts: seen.append(texts) or torch.randn(len(texts), 8))
    for _ in range(1000):
        method([LETTERS, "short"])
    assert all(texts[:2] == [LETTERS, "short"] and texts[3] == "short" for texts in seen)
    starts = collections.Counter(texts[2].index(" [MASK] ") for texts in seen)
    assert set(starts) == set(range(32))
    assert max(starts.values()) < 60


def test_the_mask_is_one_token_of_the_encoder(base, tmp_path):
    ids = base.encoder.tokens([seeded("mirror-bert", base).masked(LETTERS, 0.5)]).ids[0]
    assert ids.count(base.encoder.tokenizer().mask_token_id) == 1
    roberta = Tunable(encoder_of(save_tiny("roberta", tmp_path / "roberta")), 64)
    method = seeded("mirror-bert", roberta)
    assert " <mask> " in method.masked(LETTERS, 0.5)
    assert roberta.encoder.tokens([method.masked(LETTERS, 0.5)]).ids[0].count(roberta.encoder.tokenizer().mask_token_id)


def test_an_encoder_that_cannot_read_a_mask_is_refused_unless_nothing_is_masked(tmp_path):
    base = Tunable(encoder_of(save_tiny("gpt2", tmp_path / "gpt2")), 64)
    with pytest.raises(UnsupportedModel, match=r"'tiny' has no mask token, .* Set span to 0"):
        seeded("mirror-bert", base)
    assert torch.isfinite(seeded("mirror-bert", base, span=0)(LONG))
    encoder = encoder_of(save_tiny("bert", tmp_path / "lower"))
    encoder.lower_case = True
    with pytest.raises(UnsupportedModel, match=r"lowercases its text, and with it the mask token \[MASK\]"):
        seeded("mirror-bert", Tunable(encoder, 64))


def test_both_views_are_under_dropout_or_under_dropped_heads(base, monkeypatch):
    short = FIRST[:1]
    dropout = seeded("mirror-bert", base)
    assert dropout.base.model.training
    one, other = dropout.encode(short * 2)
    assert not torch.allclose(one, other, atol=1e-3)
    method = seeded("mirror-bert", base, noise="drop heads", dropped_heads=0.5)
    assert not method.base.model.training
    assert torch.allclose(*method.encode(short * 2), atol=1e-6), "no dropout"
    texts = [*FIRST, *FIRST]
    with method.base.heads_dropped(0.5):
        one, other = method.encode(texts).chunk(2)
    assert not torch.allclose(one, other, atol=1e-3)
    assert len({method(LONG).item() for _ in range(4)}) == 4
    method.eval()
    monkeypatch.setattr(method, "masked", lambda sentence, start: sentence)
    method(FIRST)
    assert method.similarities[0].item() == pytest.approx(1.0, abs=1e-6), "no heads are dropped outside training"


def test_the_loss_is_nt_xent_over_both_views_and_the_mean_leaves_out_padding(base, monkeypatch):
    c, h = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 1.0], [-1.0, 1.0]])
    for temperature, golden in ((0.04, 0.346574), (1.0, 0.732602)):
        method = seeded("mirror-bert", base, temperature=temperature)
        monkeypatch.setattr(method, "encode", lambda texts: torch.cat([c, h]))
        assert method(FIRST[:2]).item() == pytest.approx(golden, abs=2e-6)
    tokens = torch.tensor([[[-1.0, -5.0], [-3.0, -2.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    head = seeded("mirror-bert", base, pooling="mean").head()
    assert head == Head(("mean",))
    assert head([tokens], mask).tolist() == [[-2.0, -3.5]]  # 1.666667, 0.666667 with the padding


def test_the_papers_pooling_of_a_roberta_is_its_first_token(base):
    kind = methods.load("mirror-bert")
    found = {family: knobs_of(kind, family) for family in ("BERT-base", "RoBERTa-base", "RoBERTa-large")}
    assert [knobs["pooling"].paper_value for knobs in found.values()] == ["mean", "cls", "cls"]
    assert {knobs["pooling"].default for knobs in found.values()} == {"model default"}
    assert start_values(kind, "RoBERTa-base") == {"pooling": "model default", "dropped_heads": 0.05}
    assert start_values(kind, "RoBERTa-base", PAPER)["pooling"] == "cls"
    assert start_values(kind, "BERT-base", PAPER)["pooling"] == "mean"
    assert [knobs["dropped_heads"].default for knobs in found.values()] == [0.2, 0.05, 0.2]
    assert seeded("mirror-bert", base, pooling="cls").head() == Head(("cls",))


def test_a_duplicate_is_a_negative(base):
    method = seeded("mirror-bert", base).eval()
    twice = [FIRST[0], FIRST[0], FIRST[1]]
    vectors = method.encode(twice)
    assert method(twice).item() == pytest.approx(nt_xent(vectors, vectors, 0.04).item(), abs=1e-4)
    assert method(twice).item() > 0.5


def test_the_rate_is_constant_nothing_is_clipped_and_every_weight_decays(base):
    method = seeded("mirror-bert", base)
    schedule = method.schedule
    assert {method.rate(step, 50, schedule) for step in range(50)} == {2e-5}
    assert schedule.clip == 0
    (group,) = method.groups(schedule)
    assert {id(one) for one in group["params"]} == {id(one) for one in method.parameters() if one.requires_grad}
    optimizer = method.make_optimizer(method.groups(schedule), schedule)
    before = {name: weight.detach().clone() for name, weight in method.named_parameters()}
    for weight in method.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    for name, weight in method.named_parameters():
        assert torch.allclose(weight, before[name] * (1 - 2e-5 * 0.01), rtol=1e-7, atol=0), name
    assert (method.base.model.encoder.layer[0].attention.output.LayerNorm.weight < 1).all(), "norms too"
