"""Test ConIsI on values computed from its formulas, and its inputs."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.losses import info_nce
from explorer.methods import conisi
from tests.methods.rows import FIRST, seeded

X = torch.tensor([[1.0, 2.0], [3.0, 6.0], [2.0, 0.0]])
Y = torch.tensor([[2.0, 1.0], [2.0, 5.0], [4.0, 1.0]])
Z = torch.tensor([[0.0, 4.0], [4.0, 0.0], [1.0, 1.0]])
ALL = torch.ones(3, dtype=torch.bool)
# with W1 = I, b1 = 0, a norm that changes nothing of its own, and eps 1e-5
JOINT = {
    "x": [[-0.578471, -0.100575], [0.691093, 1.801994], [-0.082760, -0.653543]],
    "Y": [[-0.082760, -0.441778], [-0.082760, 1.324996], [1.468572, -0.441778]],
    "Z": [[-0.806281, 0.847997], [1.468572, -0.653543], [-0.578471, -0.441778]],
}


class Toy(conisi.ConIsI):
    """The head alone, on vectors of width two."""

    def build(self):
        self.make_head()
        with torch.no_grad():
            self.hidden[0].weight.copy_(torch.eye(2))
            if self.scoring == "scalar":
                self.score.weight.copy_(torch.tensor([[0.5, -1.0]]))


def toy(**values) -> Toy:
    return Toy(SimpleNamespace(width=2), values)


@pytest.fixture(params=["conisi-s", "conisi-o1", "conisi-o2"])
def name(request):
    return request.param


def test_the_shared_head_the_interaction_and_both_together_give_the_values_worked_out_for_them():
    for side, expected in zip(toy().hidden(torch.cat([X, Y, Z])).chunk(3), JOINT.values(), strict=True):
        assert torch.allclose(side, torch.tensor(expected), atol=1e-5)
    assert toy(share=1.0).both_losses(X, Y, Z, ALL).item() == pytest.approx(1.099446, abs=1e-5)
    assert toy(share=0.8).both_losses(X, Y, Z, ALL).item() == pytest.approx(1.989916, abs=1e-5)


@pytest.mark.parametrize(
    ("joint", "temperature", "contrast"),
    [(True, 0.05, 5.551796), (True, 1.0, 0.799345), (False, 0.05, 2.527464), (False, 1.0, 0.747926)],
)
def test_the_contrast_gives_the_values_worked_out_for_both_scopes_of_the_norm(joint, temperature, contrast):
    loss = toy(joint_norm=joint, temperature=temperature, share=0.0).both_losses(X, Y, Z, ALL)
    assert loss.item() == pytest.approx(contrast, abs=2e-5)


def test_both_together_are_the_slow_sums_of_the_paper():
    """Equations 5 to 9, term by term, from the head's own numbers."""
    g = JOINT
    cos = [[math.fsum(a * b for a, b in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y) for y in g["Y"]]
           for x in g["x"]]  # fmt: skip
    contrast = [-math.log(math.exp(cos[i][i] / 0.05) / sum(math.exp(c / 0.05) for c in cos[i])) for i in range(3)]
    scores = [[0.5 * a - b for a, b in g[side]] for side in ("Y", "Z")]
    apart = [-math.log(math.exp(y) / (math.exp(y) + math.exp(z))) for y, z in zip(*scores, strict=True)]
    expected = 0.2 * sum(contrast) / 3 + 0.8 * sum(apart) / 3
    assert toy().both_losses(X, Y, Z, ALL).item() == pytest.approx(expected, abs=1e-4)


def test_the_bias_of_the_score_cancels():
    method = toy()
    method.both_losses(X, Y, Z, ALL).backward()
    assert method.score.bias.grad.abs().max() < 1e-7
    assert method.score.weight.grad.abs().max() > 1e-3


@pytest.mark.parametrize("scoring", conisi.SCORINGS)
def test_every_reading_of_equation_8_trains_the_head(scoring):
    method = toy(scoring=scoring)
    method.both_losses(X, Y, Z, ALL).backward()
    assert all(torch.isfinite(weight.grad).all() for weight in method.parameters())
    assert method.score.weight.grad.any()


def test_rows_without_another_sentence_are_in_the_contrast_alone():
    valid = torch.tensor([True, False, True])
    kept = toy(share=1.0)
    before = kept.both_losses(X, Y, Z[valid], valid)
    one, two, three = kept.hidden(torch.cat([X, Y, Z[valid]])).split([3, 3, 2])
    apart = [
        math.log1p(math.exp((kept.score(z) - kept.score(y)).item())) for y, z in zip(two[valid], three, strict=True)
    ]
    assert before.item() == pytest.approx(sum(apart) / 2, abs=1e-6)
    assert toy(share=0.0).both_losses(X, Y, Z[valid], valid).item() == pytest.approx(info_nce(one, two, 0.05).item())


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("left", [0, 1])
def test_a_batch_with_next_to_no_other_sentences_still_has_a_loss_to_follow(joint, left):
    valid = torch.arange(3) < left
    method = toy(joint_norm=joint)
    loss = method.both_losses(X, Y, Z[valid], valid)
    loss.backward()
    assert torch.isfinite(loss)
    assert [name for name, weight in method.named_parameters() if weight.grad is None] == []


def test_one_head_serves_both_losses(base, name):
    method = seeded(name, base)
    assert sum(isinstance(part, nn.BatchNorm1d) for part in method.modules()) == 1
    assert {key for key in method.state_dict() if key.startswith("hidden.")} == {
        "hidden.0.weight", "hidden.0.bias", "hidden.1.weight", "hidden.1.bias",
        "hidden.1.running_mean", "hidden.1.running_var", "hidden.1.num_batches_tracked",
    }  # fmt: skip
    assert method.head() == Head(("mean",))


def test_the_head_of_bert_base_is_as_large_as_the_papers():
    method = toy()
    method.width = 768
    method.make_head()
    assert sum(weight.numel() for part in (method.hidden, method.score) for weight in part.parameters()) == 592_897


def test_a_sentence_is_read_beside_itself_and_beside_the_other(base, name, monkeypatch):
    read = []
    monkeypatch.setattr(
        base, "grouped_tokens", lambda ids, *more, **how: read.append(ids) or grouped(ids, *more, **how)
    )
    grouped = Tunable.grouped_tokens.__get__(base)
    method = seeded(name, base)
    method(FIRST)
    pieces = method.composer.pieces(FIRST, base.max_length)
    with_itself, _ = method.composer.pairs(pieces, pieces)
    alone, both = read
    assert len(alone) == len(FIRST)
    assert both[: len(FIRST)] == with_itself
    for own, one, first in zip(pieces, both[len(FIRST) :], with_itself, strict=True):
        assert one[: len(own)] == first[: len(own)], "it comes first"
    assert both[: len(FIRST)] != both[len(FIRST) :]


def test_what_stands_second_changes_the_interaction_but_not_the_contrast_of_separate_norms(base, monkeypatch):
    base.eval()
    method = seeded("conisi-s", base, joint_norm=False, share=0.0)
    method.base.eval()
    losses = {}
    for share in (0.0, 1.0):
        for step in (1, 2):
            monkeypatch.setattr(conisi, "neighbours", lambda n, step=step: [(i + step) % n for i in range(n)])
            method.share = share
            losses[share, step] = method(FIRST).item()
    assert losses[0.0, 1] == pytest.approx(losses[0.0, 2], abs=1e-6)
    assert abs(losses[1.0, 1] - losses[1.0, 2]) > 1e-5


def test_two_sentences_that_are_too_long_together_are_cut_alike(base, name):
    assert base.max_length == base.encoder.max_length
    loss = seeded(name, base)(["late " * 600, "a man plays " * 300, *FIRST])
    loss.backward()
    assert torch.isfinite(loss)


def test_the_row_beside_is_never_the_row_itself_and_each_other_as_often():
    torch.manual_seed(0)
    drawn = torch.tensor([conisi.neighbours(4) for _ in range(3000)])
    for row in range(4):
        counts = torch.bincount(drawn[:, row], minlength=4)
        assert counts[row] == 0
        others = counts[[other for other in range(4) if other != row]]
        assert (others - 1000).abs().max() < 4 * (3000 * 1 / 3 * 2 / 3) ** 0.5
    assert conisi.neighbours(2) == [1, 0]


def test_replacing_changes_a_token_at_least_as_many_as_were_chosen_and_never_for_a_special_one(base):
    method = seeded("conisi-o1", base, chosen=0.01)
    own = method.composer.pieces(["a red ball"], 64)[0]
    for _ in range(200):
        other = method.changed(own)
        assert len(other) == len(own)
        assert sum(one != two for one, two in zip(own, other, strict=True)) >= 1
    assert method.changed([]) is None
    method = seeded("conisi-o1", base, chosen=0.15, replaced=0.8)
    own = [method.composer.words[0]] * 20_000
    share = sum(one != two for one, two in zip(own, method.changed(own), strict=True)) / len(own)
    expected = 0.15 * 0.8 * (1 - 1 / len(method.composer.words))
    assert abs(share - expected) < 4 * (expected / len(own)) ** 0.5
    method = seeded("conisi-o1", base, chosen=1.0, replaced=1.0)
    special = set(base.encoder.tokenizer().all_special_ids)
    assert special
    assert not special & set(method.changed([method.composer.words[0]] * 5000))


def test_at_least_one_word_with_an_opposite_is_turned_and_only_one_that_is_read():
    torch.manual_seed(0)
    assert conisi.opposite("Late trains and a guitar", 100, 1.0) == "Early trains and a guitar"
    assert conisi.opposite("the man runs late", 100, 1.0) == "the woman walk early"
    assert conisi.opposite("a guitar", 100, 1.0) is None
    torch.manual_seed(0)
    assert {conisi.opposite("late man", 100, 0.01) for _ in range(50)} == {"early man", "late woman"}
    assert conisi.opposite("a guitar for a man", len("a guitar for a ma"), 1.0) is None


def test_sentences_without_an_opposite_are_counted_and_told(base):
    method = seeded("conisi-o2", base)
    without = [other is None for other in method.others(FIRST, method.composer.pieces(FIRST, base.max_length))]
    assert 0 < sum(without) < len(FIRST)
    assert method.remark() == ""
    method(FIRST)
    method(FIRST)
    method.eval()
    method(FIRST)
    assert method.remark() == f"{2 * sum(without)} of 8 sentences ({100 * sum(without) / 4:.1f} %) had no antonym"


def test_a_batch_in_which_no_word_has_an_opposite_is_learned_from_all_the_same(base):
    method = seeded("conisi-o2", base)
    loss = method(["a guitar", "no", "a ball on a stage"])
    loss.backward()
    assert torch.isfinite(loss)
    assert method.remark().startswith("3 of 3 sentences (100.0 %)")
