"""Test the layer & pooling of every method after training, unusual rows, and that evaluations do not move training."""

import itertools
import random

import pytest
import torch
from torch.nn import functional

from explorer import methods
from explorer.data.text_sets import BACK_TRANSLATIONS, PAIRS, SCORED_PAIRS, SENTENCES, TRIPLETS
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.knobs import find
from explorer.measuring.geometry import vector_geometry
from explorer.methods import Schedule
from explorer.methods.distil import Student
from explorer.methods.multilingual import DistilTranslations
from explorer.methods.self_guided import SelfGuided
from explorer.training.loop import judging
from explorer.training.loop.learner import Learner
from explorer.training.loop.loop import Training
from tests import trainings
from tests.methods.rows import FIRST, SECOND, TRAINED, columns_of, vectors_of
from tests.tiny_models import POSITIONS


def test_a_sentence_reads_the_same_in_any_company_odd_ones_are_read_and_long_ones_cut(method):
    sentences = [*FIRST, *SECOND, FIRST[1]]
    found = vectors_of(method, sentences)
    assert found.shape[0] == len(sentences)
    assert found.dtype == torch.float32
    for place, sentence in enumerate(sentences):
        assert torch.allclose(vectors_of(method, [sentence])[0], found[place], atol=1e-5)
    assert torch.equal(found[1], found[-1])
    distances = [(one - other).abs().max() for one, other in itertools.combinations(found[:-1], 2)]
    assert min(distances) > 1e-3, "sentences are told apart"
    for what, rows in ODD.items():
        found = vectors_of(method, rows)
        assert torch.isfinite(found).all(), what
        if len(set(rows)) == 1:
            assert torch.allclose(found, found[:1].expand_as(found), atol=1e-5), what
    one, other = vectors_of(method, ["late " * count for count in (POSITIONS - 2, 600)])
    assert torch.allclose(one, other, atol=1e-5), "what is longer than the encoder can read is cut and not refused"


def test_reading_leaves_every_part_in_the_mode_it_was_in_without_dropout_or_gradient(method):
    with pytest.raises(ValueError, match="no sentences to read"):
        vectors_of(method, [])
    assert method.training
    for learning in (True, False):
        method.train(learning)
        before = [part.training for part in method.modules()]
        vectors_of(method, FIRST)
        assert [part.training for part in method.modules()] == before
        halfway = method.vectors(FIRST)
        next(halfway)
        assert not method.base.model.training
        assert torch.is_grad_enabled(), "whoever steps through it is not in its mode"
        halfway.close()
        assert [part.training for part in method.modules()] == before
    found = vectors_of(method, FIRST)
    assert torch.equal(vectors_of(method, FIRST), found)
    assert not found.requires_grad
    assert all(weight.grad is None for weight in method.parameters())


def test_vectors_are_the_head_over_the_last_layer_and_those_of_the_base_have_nothing_that_training_adds_or_needs(
    method,
):
    states = method.eval().base.states(FIRST)
    by_hand = [
        method.head()([layer[row : row + 1, : int(states.mask[row].sum())] for layer in states.hidden], None)[0]
        for row in range(len(FIRST))
    ]
    assert torch.allclose(vectors_of(method, FIRST), torch.stack(by_hand), atol=1e-5)
    # the base is read for comparison without what training adds
    start = tuple(name.partition(" of layer ")[0] for name in method.base_head().poolings)  # if cut, the base's
    assert start == method.head().poolings or not method.head().poolings
    assert not any(isinstance(step, Dense) for step in method.base_head().dense)
    before = vectors_of(method, FIRST)
    parts = [method.get_submodule(name) for name in method.training_only]
    shared = set(method.base.parameters())  # a decoder may share them
    with torch.no_grad():
        for weight in set(itertools.chain(*(part.parameters() for part in parts))) - shared:
            weight.fill_(float("nan"))
    assert torch.equal(vectors_of(method, FIRST), before)


@pytest.mark.parametrize("kind", [methods.load(name) for name in TRAINED])
def test_what_is_trained_and_not_for_training_only_is_all_that_reading_needs(kind, base, tiny_encoder):
    pristine = Tunable(tiny_encoder, 64)
    pristine.load_state_dict(base.state_dict())
    method, other = kind(base), kind(pristine)
    outside = tuple(f"{name}." for name in kind.training_only)
    trained = {name: weight for name, weight in method.named_parameters() if weight.requires_grad}
    with torch.no_grad():
        for weight in trained.values():
            weight.add_(0.02 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)))
        assert (vectors_of(other, FIRST) - vectors_of(method, FIRST)).abs().max() > 1e-2
        for name, weight in other.named_parameters():
            if name in trained and not name.startswith(outside):
                weight.copy_(trained[name])
    assert torch.equal(vectors_of(other, FIRST), vectors_of(method, FIRST))


ODD = {
    "one token each": ["a", "no", "man", "dog"],
    "600 tokens": ["late " * 600, "a man plays " * 200, "dog " * 599 + "train", "no"],
    "nothing to read": [" ", "\t", "", "\u00a0"],
    "nothing to read in one": ["", *FIRST[1:]],
    "all identical": ["a man plays a guitar"] * 4,
    "words it does not know": ["🦦 🦦", "שלום עולם", "<b>x</b>", "ﷺ"],
}


def test_odd_rows_have_a_finite_loss_that_can_be_followed_and_lengths_of_all_kinds_meet_in_a_batch(trained):
    answered = trained.rows.answer is not None
    given = columns_of(trained)
    weights = [weight for weight in trained.parameters() if weight.requires_grad]
    for what, rows in ODD.items():
        trained.zero_grad()
        loss = trained(*[rows] * (len(given) - answered), *given[len(given) - answered :])
        assert loss.shape == (), what
        assert torch.isfinite(loss), what
        loss.backward()
        assert all(weight.grad is not None and torch.isfinite(weight.grad).all() for weight in weights), what
        # and an update in that direction leaves an encoder that can still be read
        with torch.no_grad():
            for weight in weights:
                weight.sub_(1e-4 * weight.grad)
    assert torch.isfinite(vectors_of(trained, FIRST)).all()
    """Every order of a long, a short and an empty row: groups of like length are put back where they were."""
    rows = ["late " * 40, "a", "", "a man plays a guitar"]
    trained.eval()
    found = set()
    for order in itertools.islice(itertools.permutations(range(4)), 0, 24, 11):
        vectors = vectors_of(trained, [rows[place] for place in order])
        found.add(tuple(round(float(vectors[order.index(place)].sum()), 3) for place in range(4)))
    assert len(found) == 1


def test_a_batch_of_one_is_refused_before_anything_is_trained():
    with pytest.raises(BadChoice, match=r"batch_size cannot be 1\. Choose a whole number from 2"):
        find(Schedule.knobs, "batch_size").checked(1)


# distil trains another encoder than the one whose pooling it is: see test_distil.py
KINDS = {name: methods.load(name) for name in methods.names()}
# the poolings of students that are cut, or have the width of their teacher, are tested with them
STUDENTS = Student, DistilTranslations
POOLED = [name for name, kind in KINDS.items() if "pooling" in kind.knobs and not issubclass(kind, STUDENTS)]
WIDTH_OUT = 20


def dense(width: int) -> Dense:
    drawn = torch.Generator().manual_seed(2)
    return Dense(torch.randn(WIDTH_OUT, width, generator=drawn) / width**0.5, torch.zeros(WIDTH_OUT), "Tanh")


@pytest.fixture
def declaring(base, monkeypatch):
    """An encoder whose makers declare a head, and what it starts from."""

    def make(head: Head) -> Tunable:
        monkeypatch.setattr(base.encoder, "head", head)
        return base

    return make


def by_hand(base: Tunable, sentence: str, prompt: str, step: Dense) -> torch.Tensor:
    """mean → dense → tanh → length 1, of the prompt and the sentence, with a tokenizer that knows of no prompt."""
    ids = base.encoder.tokenizer()(prompt + sentence, truncation=True, max_length=64, return_tensors="pt")["input_ids"]
    mean = base.model(input_ids=ids).last_hidden_state[0].mean(0)
    return functional.normalize(torch.tanh(step.weight @ mean + step.bias), dim=0)


def test_every_method_that_trains_a_pooling_starts_with_the_model_default():
    assert {"sg", "sg-opt", "bt", "bt-sg-opt", "simcse", "simcse-sup", "simcse-hard", "diffcse"} < set(POOLED)
    assert {"conisi-s", "conisi-o1", "conisi-o2", "contrast", "contrast-hard"} < set(POOLED)
    for name in POOLED:
        knob = methods.load(name).knobs["pooling"]
        assert knob.default == "model default"
        assert knob.choices == ("model default", "cls", "mean", "max")


@pytest.mark.parametrize("name", POOLED)
def test_without_a_declared_head_the_mean_is_the_default_and_a_pooling_that_is_chosen_is_of_the_last_layer_alone(
    base, declaring, name
):
    kind = methods.load(name)
    for pooling, chosen in {"": "mean", "cls": "cls", "mean": "mean", "max": "max"}.items():
        method = kind(base, {"pooling": pooling} if pooling else {})
        assert method.base_head() == Head((chosen,))
        assert method.head().poolings == (chosen,)
        declaring(Head(("mean",), (dense(32),), normalize=True))


@pytest.mark.parametrize("name", POOLED)
def test_the_model_default_is_the_whole_declared_head_with_the_prompt_once(declaring, name):
    step = dense(32)
    base = declaring(Head(("mean",), (step,), normalize=True, prompt="the dog: ", remark="as somebody reads it"))
    method = methods.load(name)(base)
    head = method.base_head()
    assert (head.poolings, head.normalize, head.prompt, head.remark) == (("mean",), True, "", "")
    assert head.dense[0].weight is step.weight
    with torch.no_grad():
        read = method.eval().encode(FIRST, head)
        for row, sentence in enumerate(FIRST):
            assert torch.allclose(read[row], by_hand(base, sentence, "the dog: ", step), atol=1e-5)
    assert head.width(base.width) == WIDTH_OUT
    assert vectors_of(method, FIRST).shape == (len(FIRST), WIDTH_OUT)


@pytest.mark.parametrize("name", POOLED)
def test_the_declared_maps_are_not_trained_and_what_is_below_them_is(declaring, name):
    step = dense(32)
    before = step.weight.clone()
    base = declaring(Head(("mean",), (step,), normalize=True))
    method = methods.load(name)(base)
    trained = [weight for weight in method.parameters() if weight.requires_grad]
    assert not any(weight is step.weight for weight in trained)
    method(*columns_of(method)).backward()
    assert all(weight.grad is not None and torch.isfinite(weight.grad).all() for weight in trained)
    assert any(weight.grad.any() for name, weight in base.model.named_parameters() if weight.requires_grad)
    assert not step.weight.requires_grad
    assert torch.equal(step.weight, before)


@pytest.mark.parametrize("name", POOLED)
def test_several_poolings_side_by_side_are_trained_or_refused_with_a_way_out(declaring, name):
    base = declaring(Head(("cls", "mean")))
    kind = methods.load(name)
    if issubclass(kind, SelfGuided):
        with pytest.raises(BadChoice, match="Set pooling to mean or cls"):
            kind(base)
    else:
        assert vectors_of(kind(base), FIRST).shape == (len(FIRST), 2 * base.width)
    method = kind(base, {"pooling": "mean"} if issubclass(kind, SelfGuided) else {})
    assert torch.isfinite(method(*columns_of(method)))


@pytest.mark.parametrize("name", ["simcse-sup", "simcse-hard"])
@pytest.mark.parametrize("keep_head", [True, False])
def test_the_dense_layer_that_is_trained_stays_or_not(declaring, name, keep_head):
    step = dense(32)
    method = methods.load(name)(declaring(Head(("mean",), (step,), normalize=True)), {"keep_head": keep_head})
    assert len(method.head().dense) == 1 + keep_head
    assert method.head().dense[0].weight is step.weight
    assert method.head().normalize
    assert method.base_head().dense == method.base_head().dense[:1]
    method(*columns_of(method)).backward()
    assert all(weight.grad.any() for weight in (method.dense.weight, method.dense.bias)), "it is trained either way"


STEPS = 4
# of each family that draws numbers, the method that draws the most
ONE_OF_EACH = ("bt-sg-opt", "simcse-hard", "conisi-o1", "layer-attention-diffcse", "flow")
# every source of random numbers that is off by default
DRAWING = {
    "sg": {"guide_dropout": True},
    "sg-opt": {"guide_dropout": True, "objective": "opt1"},
    "bt": {"guide_dropout": True, "guided": True},
    "bt-sg-opt": {"guide_dropout": True},
    "diffcse": {"generator_dropout": True},
    "layer-attention-diffcse": {"generator_dropout": True},
    "flow": {"dropout": True, "levels": 2},
}
ON_TRIPLETS = {"select_by": "both"}  # an evaluation of the held-out triplets too


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def texts(place):
    """A file for each kind of rows."""
    drawn = random.Random(3)
    pairs = zip(trainings._phrases(drawn, 24), trainings._phrases(drawn, 24), strict=True)
    triplets = zip(*(trainings._phrases(drawn, 120) for _ in range(3)), strict=True)
    files = {
        TRIPLETS: ["anchor,positive,negative", *map(",".join, triplets)],
        BACK_TRANSLATIONS: ["sentence,back_translation", *map(",".join, pairs)],
        SCORED_PAIRS: ["score,sentence1,sentence2", *trainings.graded_lines(drawn, 24)],
    }
    for kind, lines in files.items():
        (place.folder / f"{kind}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {kind: place.folder / f"{kind}.csv" for kind in files} | {SENTENCES: place.text, PAIRS: place.triplets}


def trained(place, texts, name, tmp_path, monkeypatch, every):
    """Losses and weights after the last step, the random state, and how many evaluations there were."""
    kind = methods.load(name)
    settings = {"steps": STEPS, **DRAWING.get(name, {}), **(ON_TRIPLETS if kind.rows == TRIPLETS else {})}
    recipe = trainings.recipe(place, name, data=(str(texts[kind.rows]),), settings=settings)
    monkeypatch.setattr(Learner, "evaluate_every", every)
    work, found, looked = Training(recipe, tmp_path), [], 0
    with trainings.in_no_time(), trainings.few_probes():
        for step in work.steps():
            looked += step.checkup is not None
            found += [torch.tensor(update.loss) for update in step.updates]
            if step.updates and step.step == STEPS:
                found += [value.clone() for value in work.learner.method.state_dict().values()]
                found.append(torch.get_rng_state())
    return found, looked


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_run_evaluated_at_every_step_has_the_weights_of_one_that_is_not(place, texts, name, tmp_path, monkeypatch):
    often, looks = trained(place, texts, name, tmp_path, monkeypatch, every=1)
    seldom, few = trained(place, texts, name, tmp_path, monkeypatch, every=STEPS)
    assert (looks, few) == (STEPS + 1, 2), "step 0 and the last step"
    assert same(often, seldom)


def test_an_evaluation_that_drew_a_number_would_be_seen(place, texts, tmp_path, monkeypatch):
    def drawing(*seen):
        torch.rand(1)
        return vector_geometry.checkup(*seen)

    monkeypatch.setattr(judging, "checkup", drawing)
    often, _ = trained(place, texts, "simcse", tmp_path, monkeypatch, every=1)
    seldom, _ = trained(place, texts, "simcse", tmp_path, monkeypatch, every=STEPS)
    assert not same(often, seldom)
