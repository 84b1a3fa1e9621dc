"""Test the contract that every method in the folder keeps, also with adapters; a new file is tested at once."""

import importlib
import inspect
import random
import tomllib
from pathlib import Path

import pytest
import torch

from explorer import methods
from explorer.data.text_sets import KINDS
from explorer.encoding.tune.adapters import TARGETS, Lora
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.methods import ADAPTERS, Fitting, Method, Schedule, changing, knobs_of
from explorer.methods._method import PAPERS
from explorer.progress import finish
from tests.device import DEVICE
from tests.live import ROOT
from tests.methods.rows import FIRST, MANY, SECOND, TUNING, columns_of, descend, take_steps
from tests.waits import FAR, Waits, far_away

pytestmark = pytest.mark.device

MIXED = [2, 0, 3, 1]  # another order of the rows
PAIRWISE = [3, 2, 0, 1]  # another one, in which who stands in for whom is as before


def weights_of(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in module.state_dict().items()}


def test_the_list_has_every_class_that_states_a_name_and_no_other():
    kinds = [
        value
        for path in Path(methods.__file__).parent.glob("[!_]*.py")
        for value in vars(importlib.import_module(f"explorer.methods.{path.stem}")).values()
        if inspect.isclass(value) and "name" in vars(value)
    ]
    assert {methods.load(name) for name in methods.names()} == set(kinds)
    assert [methods.load(name).name for name in methods.names()] == list(methods.names()) == sorted(methods.names())


def test_a_form_starts_with_one_of_them():
    assert [one for one in methods.names() if methods.DEMONSTRATION in methods.load(one).presets] == ["contrast-hard"]


def test_an_unknown_method_is_refused_with_the_nearest_name():
    with pytest.raises(
        BadChoice, match=r"There is no method 'simsce'\. Did you mean 'simcse'\? There are: angle, batch-hard, "
    ):
        methods.load("simsce")
    with pytest.raises(BadChoice, match=r"There is no method 'sg_opt'\. Did you mean 'sg-opt'"):
        methods.load("sg_opt")
    for hidden in ("self-guided", "_additions", "__init__", ""):
        with pytest.raises(BadChoice, match=rf"There is no method '{hidden}'\."):
            methods.load(hidden)


def test_a_method_says_what_it_is(kind):
    first, _, rest = inspect.cleandoc(vars(kind)["__doc__"]).partition("\n")
    assert first.endswith(".")
    assert len(first) <= 100
    assert kind.title() == first
    assert kind.about().split() == rest.split()
    assert kind.about().count("\n\n") == rest.strip().count("\n\n"), "a line for each paragraph"
    assert str(kind.paper.year) in kind.about(), "the rest names the paper"


def test_a_method_states_its_rows_its_schedule_and_its_paper(kind):
    assert kind.rows in KINDS
    assert isinstance(kind.schedule, Schedule)
    assert kind.family
    assert kind.paper.line.startswith(f"{kind.paper.authors} {kind.paper.year}, ")
    assert kind.paper.bibtex.count("{") == kind.paper.bibtex.count("}") > 0
    assert kind.paper.link in kind.paper.bibtex
    assert kind.paper.link.startswith("https://")


def test_every_default_passes_its_check_every_knob_says_what_it_is_good_for_and_none_is_of_every_methods_schedule(kind):
    for one in (*kind.knobs.values(), *Schedule.knobs.values()):
        assert one.checked(one.default) == one.default
        assert one.checked(one.text(one.default)) == one.default, f"{one.name} as it is typed"
        assert one.help.endswith(".")
        assert not one.choices or one.default in one.choices
    for name, value in kind.schedule.by_name().items():
        assert Schedule.knobs[name].checked(value) == value
    assert not set(kind.knobs) & set(Schedule.knobs), "one name, two meanings"
    assert not set(kind.knobs) & {name for name in dir(Method) if name[0] != "_"}, "it would hide a verb"
    assert sum(one.front for one in (*kind.knobs.values(), *Schedule.knobs.values())) <= 6


def test_the_loss_is_one_finite_number_that_can_be_followed_and_a_gpu_waits_for_none_and_for_no_copy(trained):
    columns = columns_of(trained)
    loss = trained(*columns)
    assert loss.shape == ()
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    loss.backward()
    gradients = {name: weight.grad for name, weight in trained.named_parameters() if weight.requires_grad}
    # processes that train together wait for the gradient of every weight
    assert [name for name, gradient in gradients.items() if gradient is None] == []
    assert all(torch.isfinite(gradient).all() for gradient in gradients.values())
    inside = [gradient for name, gradient in gradients.items() if name.startswith("base.")]
    assert not inside or any(gradient.any() for gradient in inside), "an encoder that is trained learns"
    # the first pass may have prepared what later ones reuse
    with Waits() as waits:
        trained.after_update()
    assert waits.found == []
    trained.zero_grad()
    with far_away(trained):
        with Waits(FAR) as waits:
            trained(*columns).backward()
        assert {weight.grad.device.type for weight in trained.parameters() if weight.requires_grad} == {FAR}
    assert waits.found == []


def test_a_method_is_ready_to_train_once_it_is_made(kind, tiny_encoder):
    base = Tunable(tiny_encoder, 64)
    assert not base.model.training, "an encoder rests"
    method = kind(base)
    learns = any(weight.requires_grad for weight in method.base.parameters())
    assert learns == (kind in map(methods.load, TUNING))
    without_dropout = "dropout" in kind.knobs and not kind.knobs["dropout"].default
    assert not learns or method.base.model.training != without_dropout


def test_training_leaves_the_encoder_and_constant_parts_as_they_were_rebuilds_no_other_and_lowers_the_loss(
    trained, tiny_encoder, quiet
):
    of_encoder = weights_of(tiny_encoder.model)
    states = tiny_encoder.states(FIRST).hidden
    of_base = weights_of(trained.base.model)
    fixed = [one for part in trained.constant() for one in (*part.parameters(), *part.buffers())]
    assert not any(one.requires_grad for one in fixed)
    before = [one.detach().clone() for one in fixed]
    start = {name: one.detach().clone() for name, one in trained.state_dict().items()}
    take_steps(trained)
    learned = trained.base.model.state_dict()
    moved = any(not torch.equal(learned[one], weight) for one, weight in of_base.items())
    learns = any(weight.requires_grad for weight in trained.base.model.parameters())
    assert moved == learns, "it did learn, or it rests"
    for one, weight in tiny_encoder.model.state_dict().items():
        assert torch.equal(weight, of_encoder[one]), one
    assert torch.equal(tiny_encoder.states(FIRST).hidden, states)
    assert not any(weight.requires_grad for weight in tiny_encoder.model.parameters())
    assert not tiny_encoder.model.training
    assert all(torch.equal(one, as_before) for one, as_before in zip(fixed, before, strict=True))
    assert any(not torch.equal(one, start[name]) for name, one in trained.state_dict().items())
    everything = {id(one) for one in (*trained.parameters(), *trained.buffers())}
    saved = {id(one) for one in changing(trained).values()}
    known = trained.state_dict(keep_vars=True)  # without buffers that follow from settings alone, such as positions
    unsaved = {id(one) for name, one in trained.named_buffers() if name not in known}
    assert saved == everything - {id(one) for one in fixed} - unsaved
    trained.eval()
    losses = descend(trained, columns_of(trained), 4)
    assert min(losses[1:]) < losses[0]
    assert losses[-1] < losses[0] - min(1e-3, losses[0] / 2), "a loss of less than a thousandth halves"


def test_nothing_is_random_but_what_is_drawn_and_rows_matter_by_what_belongs_together_not_by_their_order(
    trained, quiet
):
    trained.eval()
    columns = columns_of(trained)
    losses = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        random.seed(seed)
        losses.append(trained(*columns).item())
    assert losses[0] == losses[1]
    if not trained.order_matters:  # else the place of a row in its batch says what it is
        mixed = tuple([column[row] for row in PAIRWISE] for column in columns)
        assert trained(*mixed).item() == pytest.approx(losses[0], rel=1e-4)
    if len(columns) == 1:
        other = ([columns[0][0], *SECOND[1:]],)
    else:
        other = (columns[0], [columns[1][row] for row in MIXED], *columns[2:])
    least = 1e-4 if trained.has_positive_pairs else 1e-5  # a decoder that has learned nothing yet hardly reacts
    assert abs(trained(*other).item() - losses[0]) > least


def test_similarities_of_positive_and_of_random_pairs_are_recorded(tuning, quiet):
    assert tuning.similarities is None
    tuning(*columns_of(tuning))
    if not tuning.has_positive_pairs:
        assert tuning.similarities is None
        return
    positive, random_pairs = tuning.similarities
    for cosine in (positive, random_pairs):
        assert cosine.shape == ()
        assert not cosine.requires_grad
        assert -1.0001 <= cosine.item() <= 1.0001
    assert positive != random_pairs


def test_recorded_similarities_are_the_slow_means(method):
    one, other = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    method.record_similarities(one, other)
    alike = [[torch.cosine_similarity(a, b, dim=0).item() for b in other] for a in one]
    positive = sum(alike[i][i] for i in range(4)) / 4
    random_pairs = sum(alike[i][j] for i in range(4) for j in range(4) if i != j) / 12
    assert [cosine.item() for cosine in method.similarities] == pytest.approx([positive, random_pairs], abs=1e-6)


def test_every_entry_of_the_bibliography_is_cited_and_installed():
    assert {methods.load(name).paper for name in methods.names()} == set(methods.papers().values())
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert PAPERS.name in settings["tool"]["setuptools"]["package-data"]["explorer.methods"]


TUNED = [(name, {}) for name in TUNING] + [("tsdae", {"tied": False})]


# which layers have an adapter is up to the encoder, not to the method: one half of the methods each
@pytest.fixture(params=[(*one, TARGETS[number % 2]) for number, one in enumerate(TUNED)], ids=str)
def adapted(request, tiny_encoder):
    name, values, targets = request.param
    torch.manual_seed(0)
    found = methods.load(name)(Tunable(tiny_encoder, 64, Lora(2, 4.0, targets)), values).to(DEVICE)
    if isinstance(found, Fitting):
        finish(found.fit(MANY))
    return found


def test_two_steps_change_adapters_and_own_parts_alone_and_what_changes_is_saved(adapted, tiny_encoder):
    names = set(tiny_encoder.model.state_dict())
    base = weights_of(tiny_encoder.model)
    held = {id(weight) for weight in tiny_encoder.model.parameters()}
    saved = {id(weight) for weight in changing(adapted).values()}
    assert not held & saved, "no weight that adapters leave as it was"
    assert {id(weight) for weight in adapted.parameters() if weight.requires_grad} <= saved
    before = {name: weight.detach().clone() for name, weight in adapted.named_parameters()}
    take_steps(adapted)
    moved = {name: weight for name, weight in adapted.named_parameters() if not torch.equal(weight, before[name])}
    assert {id(weight) for weight in moved.values()} <= saved, "with or without a gradient"
    own = {name for name in moved if name.startswith("base.")}
    assert own, "the encoder learns"
    assert all(".lora_A." in name or ".lora_B." in name for name in own)
    assert all(torch.equal(weight, base[name]) for name, weight in tiny_encoder.model.state_dict().items())
    for part in adapted.modules():
        if isinstance(part, Tunable):  # momentum copies and frozen ones too
            assert {name for name, _ in part.plain().named_parameters()} <= names


def test_the_settings_are_those_of_the_methods_that_train_an_encoder():
    for name in methods.names():
        assert (set(ADAPTERS) <= set(knobs_of(methods.load(name)))) == (name in TUNING)
        assert name in TUNING or not set(ADAPTERS) & set(knobs_of(methods.load(name)))


def test_rank_0_trains_all_weights_and_any_other_one_adapters():
    assert Schedule().lora is None
    assert Schedule(lora_rank=8).lora == Lora(8, 16.0, "attention")
    assert Schedule(lora_rank=4, lora_alpha=2, lora_targets="all linear").lora == Lora(4, 2.0, "all linear")
