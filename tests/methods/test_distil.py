"""Test distillation: the cut encoder, its teacher, the losses of both targets, and what is refused."""

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published
from torch.nn import functional

from explorer import losses
from explorer.data.text_sets import GradedPairs
from explorer.encoding.export.exporting import export
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune import editing
from explorer.encoding.tune.tunable import ALL_LINEAR, Lora, Tunable
from explorer.errors import BadChoice, UnsupportedModel
from explorer.evaluating.tasks.judges import judge_of
from explorer.progress import finish
from explorer.training.loop.judging import base_items
from tests.device import DEVICE
from tests.exports import by_sentence_transformers, by_transformers
from tests.independent import formulas
from tests.methods.rows import FIRST, SECOND, descend, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, SENTENCES, save_tiny

LAYERS = 3
COUNTS = {"distilbert": "n_layers", "t5": "num_layers", "bart": "encoder_layers", "gpt2": "n_layer"}


def saved(folder, kind="bert", layers=LAYERS):
    return encoder_of(save_tiny(kind, folder / kind, **{COUNTS.get(kind, "num_hidden_layers"): layers}))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("distil"))


def made(encoder, adapters=None, **values):
    return seeded("distil", Tunable(encoder, 64, adapters), **values)


def taught(encoder, head, sentences=FIRST):
    """The vectors of the whole encoder, a sentence at a time, without dropout."""
    states = [encoder.states([sentence]) for sentence in sentences]
    return torch.cat([head(each.hidden, each.mask) for each in states])


@pytest.mark.parametrize("kind", FAMILIES)
def test_before_training_the_student_is_the_cut_encoder(tmp_path, kind):
    encoder = saved(tmp_path, kind)
    method = made(encoder, keep_layers=2).eval()
    cut = editing.cut(encoder, 2)
    assert method.base.layers == method.base.model.config.num_hidden_layers == 2
    assert torch.allclose(vectors_of(method, FIRST), taught(cut, Head(("mean",))), atol=1e-5)
    method(FIRST).backward()
    assert all(weight.grad is not None for weight in method.base.parameters())


@pytest.mark.parametrize(("layers", "kept"), [(2, 1), (3, 2), (4, 2), (5, 3)])
def test_half_of_the_layers_remain_rounded_up(tmp_path, layers, kept):
    assert made(saved(tmp_path, layers=layers)).base.layers == kept


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("target", ["vectors", "similarities"])
def test_the_loss_is_that_of_plain_loops_on_vectors_as_they_are_used(whole, monkeypatch, normalize, target):
    default = Head(("cls",), normalize=normalize)
    monkeypatch.setattr(whole, "head", default)
    method = made(whole, target=target).eval()
    student = taught(method.base.encoder, Head(("mean",), normalize=normalize)).double()
    teacher = taught(whole, default).double()
    slow = formulas.vector_regression if target == "vectors" else formulas.similarity_regression
    assert method(FIRST).item() == pytest.approx(slow(list(student), list(teacher)).item(), rel=1e-4)
    assert method.head() == Head(("mean",), normalize=normalize), "the export is comparable with the whole"
    partners, _ = method.similarities
    assert partners.item() == pytest.approx(functional.cosine_similarity(student, teacher).mean().item(), abs=1e-5)


def test_vectors_are_trained_by_the_loss_of_sentence_transformers():
    student, teacher = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(0))
    theirs = published.MSELoss(model=None).compute_loss_from_embeddings([student], [teacher])
    assert losses.vector_regression(student, teacher).item() == pytest.approx(theirs.item(), rel=1e-6)


@pytest.mark.parametrize("adapters", [None, Lora(2, 4.0, ALL_LINEAR)])
def test_training_changes_neither_teacher_nor_base(whole, adapters):
    before = {name: weight.clone() for name, weight in whole.model.state_dict().items()}
    vectors = taught(whole, whole.default_head)
    method = made(whole, adapters).to(DEVICE)
    assert not any(weight.requires_grad for weight in method.teacher.parameters())
    start = vectors_of(method, FIRST)
    optimizer = torch.optim.AdamW([weight for weight in method.parameters() if weight.requires_grad], 1e-2)
    for _ in range(3):
        method(FIRST).backward()
        assert method.base.model.training
        assert not method.teacher.model.training, "dropout would change what it teaches"
        optimizer.step()
    assert not torch.allclose(vectors_of(method, FIRST), start, atol=1e-3)
    assert all(torch.equal(weight, before[name]) for name, weight in whole.model.state_dict().items())
    kept = method.teacher.model.state_dict()
    assert all(torch.equal(kept[name].cpu(), weight) for name, weight in before.items())
    assert torch.equal(taught(whole, whole.default_head), vectors)


def test_dropout_is_a_setting(whole):
    assert made(whole, dropout=True).train().base.model.training
    assert not made(whole, dropout=False).train().base.model.training


@pytest.mark.parametrize(("kind", "pooling"), [("bert", "mean"), ("mpnet", "cls"), ("modernbert", "mean")])
def test_libraries_open_the_export_as_an_encoder_with_fewer_layers(tmp_path, kind, pooling):
    encoder = saved(tmp_path, kind)
    method = made(encoder, keep_layers=1, pooling=pooling)
    descend(method, [FIRST], 2, 1e-2)
    expected = vectors_of(method, SENTENCES)
    export(method.exported, method.head(), tmp_path / "export", "card", encoder.folder)
    assert torch.allclose(by_sentence_transformers(tmp_path / "export", SENTENCES), expected, atol=1e-5)
    assert torch.allclose(by_transformers(tmp_path / "export", pooling, SENTENCES), expected, atol=1e-5)
    again = encoder_of(tmp_path / "export")
    assert again.model.config.num_hidden_layers == 1
    assert again.model.num_parameters() == editing.cut(encoder, 1).model.num_parameters()


@pytest.mark.parametrize("kind", ["bert", "modernbert", "t5"])
def test_the_base_under_the_trained_pooling_is_the_cut_encoder_before_training(tmp_path, kind):
    encoder = saved(tmp_path, kind)
    method = made(encoder, keep_layers=1).eval()
    pairs = GradedPairs("made up", tuple(FIRST), tuple(SECOND), (1.0, 2.0, 3.0, 4.0), ())
    judge = judge_of(pairs, encoder, encoder.role_prompts)
    declared, same_reading = finish(base_items(encoder, method, judge))
    assert same_reading == pytest.approx(judge.items(vectors_of(method, judge.texts)), abs=1e-5)
    assert declared == pytest.approx(judge.items(taught(encoder, encoder.default_head, judge.texts)), abs=1e-5)
    normed = " after the last norm" * (kind != "bert")
    assert method.base_head().describe().replace(",", "") == f"mean of layer 1{normed}"


def test_a_pooling_with_dense_layers_is_kept_as_the_model_default(whole, monkeypatch):
    step = Dense(torch.randn(20, 32, generator=torch.Generator().manual_seed(0)), None, "Tanh")
    monkeypatch.setattr(whole, "head", Head(("mean",), (step,), normalize=True, prompt="no: "))
    method = made(whole, pooling="model default").eval()
    assert method.head().dense[0].weight is step.weight
    assert method.head().normalize
    assert vectors_of(method, FIRST).shape == (len(FIRST), 20)
    assert method.similarities is None
    method(FIRST).backward()
    assert not step.weight.requires_grad
    refused = r"vectors of 'tiny' have 20 dimensions, .* 32\. Set pooling to model default, or target to similarities\."
    with pytest.raises(BadChoice, match=refused):
        made(whole)
    other = made(whole, target="similarities")
    assert torch.isfinite(other(FIRST))
    assert other.similarities is None, "vectors of other widths have no cosine"


def test_a_model_default_of_other_layers_is_refused(whole, monkeypatch):
    monkeypatch.setattr(whole, "head", Head(("mean of layer 1",)))
    with pytest.raises(BadChoice, match=r"pools other layers than the last\. Set pooling to mean or cls"):
        made(whole, pooling="model default")
    assert torch.isfinite(made(whole)(FIRST)), "it can teach"


@pytest.mark.parametrize("layers", [LAYERS, LAYERS + 1, 1000])
def test_as_many_layers_as_there_are_or_more_are_refused(whole, layers):
    with pytest.raises(BadChoice, match=rf"keep_layers cannot be {layers}: 'tiny' has 3 layers, .* Choose 1 to 2, or"):
        made(whole, keep_layers=layers)


def test_an_encoder_of_one_layer_or_that_cannot_be_cut_is_refused(tmp_path, whole, monkeypatch):
    with pytest.raises(BadChoice, match="'tiny' has one layer, and none can be removed"):
        made(saved(tmp_path, layers=1))
    monkeypatch.setitem(editing._ROUNDING, "float32", -1.0)  # no state is as near as that
    with pytest.raises(UnsupportedModel, match="whose layers Strata cannot remove"):
        made(whole)
