"""Test Mirror-BERT: the masked span, DropHead, the pooling, and the decay of every weight."""

import collections

import pytest
import torch

from explorer import methods
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.losses import nt_xent
from explorer.training.recipe import PAPER, knobs_of, start_values
from tests.methods.rows import FIRST
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

LONG = [f"{sentence} and the dog runs after a red ball" for sentence in FIRST]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def made(base, **values):
    torch.manual_seed(0)
    return methods.load("mirror-bert")(base, values)


def test_a_span_of_five_characters_is_replaced_by_its_place(base):
    method = made(base)
    assert method.masked(LETTERS, 10.5 / 32) == "abcdefghij [MASK] pqrstuvwxyz0123456789"
    assert method.masked(LETTERS[:29], 10.5 / 32) == LETTERS[:29]
    assert method.masked(LETTERS[:30], 0.0) == f" [MASK] {LETTERS[5:30]}"
    assert method.masked(LETTERS, 1 - 2**-24) == f"{LETTERS[:31]} [MASK] ", "the last characters too"
    # where the same five characters occur first, the released code would cut them at the beginning
    assert method.masked("na " * 12, 9.5 / 32) == "na na na  [MASK]  na na na na na na na "
    assert made(base, span=0).masked(LETTERS, 0.5) == LETTERS
    assert made(base, span=40).masked(LETTERS, 0.5) == LETTERS, "shorter than the span"
    assert made(base, span=36).masked(LETTERS, 0.5) == " [MASK] "


def test_every_place_is_as_likely_as_any_other_and_the_copy_alone_is_masked(base, monkeypatch):
    method = made(base)
    seen = []
    monkeypatch.setattr(method, "encode", lambda texts: seen.append(texts) or torch.randn(len(texts), 8))
    for _ in range(1000):
        method([LETTERS, "short"])
    assert all(texts[:2] == [LETTERS, "short"] and texts[3] == "short" for texts in seen)
    starts = collections.Counter(texts[2].index(" [MASK] ") for texts in seen)
    assert set(starts) == set(range(32))
    assert max(starts.values()) < 60


def test_the_mask_is_one_token_of_the_encoder(base, tmp_path):
    texts = [made(base).masked(LETTERS, 0.5)]
    ids = base.encoder.tokens(texts).ids[0]
    assert ids.count(base.encoder.tokenizer().mask_token_id) == 1
    roberta = Tunable(encoder_of(save_tiny("roberta", tmp_path / "roberta")), 64)
    method = made(roberta)
    assert " <mask> " in method.masked(LETTERS, 0.5)
    assert roberta.encoder.tokens([method.masked(LETTERS, 0.5)]).ids[0].count(roberta.encoder.tokenizer().mask_token_id)


def test_an_encoder_without_a_mask_token_is_refused_unless_nothing_is_masked(tmp_path):
    base = Tunable(encoder_of(save_tiny("gpt2", tmp_path / "gpt2")), 64)
    with pytest.raises(UnsupportedModel, match=r"'tiny' has no mask token, .* Set span to 0"):
        made(base)
    assert torch.isfinite(made(base, span=0)(LONG))


def test_an_encoder_that_lowercases_the_mask_token_is_refused(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "lower"))
    encoder.lower_case = True
    with pytest.raises(UnsupportedModel, match=r"lowercases its text, and with it the mask token \[MASK\]"):
        made(Tunable(encoder, 64))


def test_both_views_are_under_dropout_or_under_dropped_heads(base, monkeypatch):
    short = FIRST[:1]
    dropout = made(base)
    assert dropout.base.model.training
    one, other = dropout.encode(short * 2)
    assert not torch.allclose(one, other, atol=1e-3)
    method = made(base, noise="drop heads", dropped_heads=0.5)
    assert not method.base.model.training
    assert torch.allclose(*method.encode(short * 2), atol=1e-6), "no dropout"
    texts = [*FIRST, *FIRST]
    with method.base.heads_dropped(0.5):
        one, other = method.encode(texts).chunk(2)
    assert not torch.allclose(one, other, atol=1e-3)
    losses = {method(LONG).item() for _ in range(4)}
    assert len(losses) == 4
    method.eval()
    monkeypatch.setattr(method, "masked", lambda sentence, start: sentence)
    method(FIRST)
    assert method.similarities[0].item() == pytest.approx(1.0, abs=1e-6), "no heads are dropped outside training"


def test_the_loss_is_nt_xent_over_both_views(base, monkeypatch):
    c, h = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 1.0], [-1.0, 1.0]])
    for temperature, golden in ((0.04, 0.346574), (1.0, 0.732602)):
        method = made(base, temperature=temperature)
        monkeypatch.setattr(method, "encode", lambda texts: torch.cat([c, h]))
        assert method(FIRST[:2]).item() == pytest.approx(golden, abs=2e-6)


def test_the_mean_leaves_out_padding(base):
    tokens = torch.tensor([[[-1.0, -5.0], [-3.0, -2.0], [9.0, 9.0]]])
    mask = torch.tensor([[True, True, False]])
    head = made(base, pooling="mean").head()
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
    assert made(base, pooling="cls").head() == Head(("cls",))


def test_a_duplicate_is_a_negative(base):
    method = made(base).eval()
    twice = [FIRST[0], FIRST[0], FIRST[1]]
    vectors = method.encode(twice)
    assert method(twice).item() == pytest.approx(nt_xent(vectors, vectors, 0.04).item(), abs=1e-4)
    assert method(twice).item() > 0.5


def test_the_rate_is_constant_nothing_is_clipped_and_every_weight_decays(base):
    method = made(base)
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
    norm = method.base.model.encoder.layer[0].attention.output.LayerNorm.weight
    assert (norm < 1).all(), "norms too"
