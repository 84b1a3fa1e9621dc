"""Test distillation into a cut encoder, and what is fitted to a trained one: whitening, flow and WK."""

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published
from torch.nn import functional

from explorer import losses, methods
from explorer.data.text_sets import GradedPairs
from explorer.encoding.export.exporting import export
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST
from explorer.encoding.tune import editing
from explorer.encoding.tune.adapters import ALL_LINEAR, Lora
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, UnsupportedModel
from explorer.evaluating.kinds import judge_of
from explorer.methods import Fitting, post_processing
from explorer.progress import finish
from explorer.training.loop.judging import base_items
from tests.device import DEVICE
from tests.exports import by_sentence_transformers, by_transformers, undone
from tests.independent import formulas
from tests.methods.rows import FIRST, MANY, SECOND, descend, seeded, vectors_of
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
    monkeypatch.setitem(editing.ROUNDING, "float32", -1.0)  # no state is as near as that
    with pytest.raises(UnsupportedModel, match="whose layers Strata cannot remove"):
        made(whole)


def fitted(name, base, fitted_on=MANY, **values):
    method = seeded(name, base, **values)
    if isinstance(method, Fitting):
        finish(method.fit(fitted_on))
    return method


def covariance(vectors):
    return np.cov(vectors.double().numpy().T)


def test_directions_and_variances_are_those_worked_out_for_them():
    rows = torch.tensor([[1.0, 2], [3, 5], [5, 0], [7, 6]], dtype=torch.float64)
    assert rows.mean(0).tolist() == [4, 3.25]
    directions, variances = post_processing.principal(rows - rows.mean(0))
    assert variances.tolist() == pytest.approx([9.502922, 4.747078], abs=1e-6)
    white = (rows - rows.mean(0)) @ directions / variances.sqrt()
    assert np.allclose(covariance(white), np.eye(2), atol=1e-12)
    cosines = {
        (i, j): torch.cosine_similarity(white[i - 1], white[j - 1], dim=0).item() for i, j in ((1, 2), (1, 4), (2, 3))
    }
    assert cosines == pytest.approx({(1, 2): 0.372071, (1, 4): -0.902056, (2, 3): -0.984823}, abs=1e-6)


READ = [FIRST_LAST, "mean", "max of layer 1", "mean of layers 0 + 2", "cls", "last of layers 0-2", "weighted mean"]


@pytest.mark.parametrize("reads", READ)
def test_whitened_vectors_have_the_identity_as_their_covariance(base, reads):
    method = fitted("whitening", base, reads=reads)
    head = method.head()
    white = finish(method.vectors(MANY, Head(head.poolings, head.dense)))
    assert white.shape[1] >= method.width - 2, "the norm of a layer leaves a plane"
    assert np.allclose(covariance(white), np.eye(white.shape[1]), atol=2e-3)
    assert white.mean(0).abs().max() < 1e-3
    assert torch.allclose(vectors_of(method, FIRST).norm(dim=1), torch.ones(len(FIRST)), atol=1e-5)


def test_fewer_dimensions_are_the_first_of_all_of_them(base):
    whole, few = (fitted("whitening", base, dimensions=count) for count in (0, 5))
    turned, moved = few.head().dense[-1].weight, few.head().dense[-1].bias
    assert turned.shape == (5, few.unmapped_width())
    assert torch.allclose(turned, whole.head().dense[-1].weight[:5])
    assert torch.allclose(moved, whole.head().dense[-1].bias[:5])
    assert vectors_of(few, FIRST).shape == (len(FIRST), 5)


def test_the_released_optimiser_of_the_flow_sums_the_means_of_both_sides(base):
    plain, released = (fitted("flow", base, optimizer=one, levels=2) for one in ("AdamW", "as released"))
    sides = [released.map.flow.surprise(released.map(finish(released.unmapped(one)))) for one in (FIRST[:2], FIRST[2:])]
    assert released(FIRST).item() == pytest.approx(sum(sides).item(), rel=1e-5)
    assert released(FIRST).item() == pytest.approx(2 * plain(FIRST).item(), rel=1e-6)


def test_neither_a_shift_nor_a_scale_nor_a_turn_of_all_vectors_changes_a_whitened_cosine():
    torch.manual_seed(0)
    rows = torch.randn(100, 6, dtype=torch.float64) * torch.arange(1, 7)

    def cosines(vectors):
        centred = vectors - vectors.mean(0)
        directions, variances = post_processing.principal(centred)
        white = torch.nn.functional.normalize(centred @ directions / variances.sqrt())
        return white @ white.T

    turn = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64)).Q
    assert torch.allclose(cosines(rows * 3 + 5), cosines(rows), atol=1e-10)
    assert torch.allclose(cosines(rows @ turn), cosines(rows), atol=1e-10)


def test_too_little_text_for_as_many_dimensions_says_how_many_there_are(base):
    with pytest.raises(
        BadChoice, match=r"The 4 sentences vary in 3 directions only, but 5 are to be kept. Set dimensions to 3"
    ):
        fitted("whitening", base, FIRST, dimensions=5)
    assert len(fitted("whitening", base, FIRST).head().dense[-1].weight) == 3
    with pytest.raises(BadChoice, match="The 1 sentences vary in 0 directions"):
        fitted("whitening", base, FIRST[:1])


@pytest.mark.parametrize("name", ["whitening", "flow"])
@pytest.mark.parametrize(
    ("reads", "message"),
    [
        ("mean of layer 9", "There is no layer & pooling 'mean of layer 9' here.*from 0 to 2"),
        ("nonsense", "There is no layer & pooling 'nonsense' here"),
    ],
)
def test_a_reading_the_encoder_does_not_have_is_refused(base, name, reads, message):
    with pytest.raises(BadChoice, match=message):
        methods.load(name)(base, {"reads": reads})


@pytest.mark.parametrize("name", ["whitening", "flow"])
def test_the_model_default_is_mapped_before_it_is_brought_to_length_one(base, name):
    own = Head(("mean",), (Dense(torch.randn(40, 32), None, "Tanh"),), normalize=True, prompt="query: ")
    encoder = base.encoder
    before = encoder.head
    try:
        encoder.head = own
        method = fitted(name, Tunable(encoder, 64), reads="model default")
        assert method.base_head() == Head(("mean",), own.dense)
        assert method.head().dense[0] is own.dense[0]
        assert method.unmapped_width() == 40
        assert torch.isfinite(vectors_of(method, FIRST)).all()
    finally:
        encoder.head = before


def test_a_flow_learns_and_the_encoder_does_not(base):
    method = fitted("flow", base)
    before = {name: weight.clone() for name, weight in base.named_parameters()}
    trained = [weight for weight in method.parameters() if weight.requires_grad]
    assert sum(weight.numel() for weight in trained) == sum(weight.numel() for weight in method.map.parameters())
    losses = descend(method, [MANY[::3]], 15)
    assert losses[-1] < losses[0] - 0.05
    for name, weight in base.named_parameters():
        assert torch.equal(weight, before[name])
        assert weight.grad is None
    vectors = finish(method.unmapped(FIRST))
    with torch.no_grad():
        assert torch.allclose(undone(method.map.flow, method.map(vectors)), vectors, atol=1e-4)


def test_a_flow_begins_with_sentences_from_all_over_the_text(base):
    method = fitted("flow", base)
    step = len(MANY) // 64
    first = finish(method.unmapped(MANY[::step][:64]))
    with torch.no_grad():
        mapped = method.map(first)
    assert mapped.mean(0).abs().max() < 1e-3
    assert mapped.std(0, correction=0).median().item() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("dropout", [False, True])
def test_dropout_is_in_a_flow_only_where_it_is_asked_for(base, dropout):
    method = fitted("flow", base, dropout=dropout)
    assert method.base.model.training == dropout
    assert (method(FIRST).item() != method(FIRST).item()) == dropout


def test_a_flow_that_cannot_be_halved_so_often_is_refused(base):
    with pytest.raises(BadChoice, match="levels cannot be 8: a width of 32 cannot be halved that often"):
        fitted("flow", base, levels=8)


def test_wk_takes_layers_that_are_there_and_is_compared_with_the_mean(base):
    method = fitted("wk", base)
    assert method.head() == Head((), layers=WordWeights(0, 2, False))
    assert method.base_head() == Head(("mean",))
    assert fitted("wk", base, window=1, whole_window=True).head().layers == WordWeights(0, 1, True)
    assert not any(weight.requires_grad for weight in method.parameters())
    assert not methods.load("wk").learns()
    assert methods.load("whitening").learns()
    assert not methods.load("whitening").trains()
