"""Test the methods that the documentation adds: their files are taken from the page, trained, and keep the contract."""

import re
import sys

import pytest
import torch

from explorer import methods
from explorer.data.row_kinds import PAIRS, SENTENCES
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Method
from explorer.progress import finish
from explorer.training.loop.preparing import prepare
from tests.live import ROOT
from tests.methods.conftest import made
from tests.methods.test_contract import (  # noqa: F401 (they run here on the methods of the page)
    test_a_few_steps_lower_the_loss_of_the_batch,
    test_a_file_holds_one_method_and_says_what_it_is,
    test_a_form_shows_six_settings_at_most_before_it_is_unfolded,
    test_a_method_says_what_it_eats_how_long_it_takes_and_whose_it_is,
    test_a_setting_of_a_method_is_none_of_every_methods_schedule,
    test_a_step_makes_no_gpu_wait,
    test_a_step_on_another_device_mixes_none_and_waits_for_no_copy,
    test_constant_parts_do_not_change_and_no_other_part_is_rebuilt_from_the_base,
    test_every_default_passes_its_own_check_and_every_knob_says_what_it_is_good_for,
    test_nothing_is_random_but_dropout_and_what_is_drawn,
    test_partners_and_strangers_are_watched,
    test_the_loss_is_one_finite_number_that_can_be_followed,
    test_the_order_of_the_rows_does_not_matter,
    test_what_belongs_together_matters,
)
from tests.methods.test_reading import (  # noqa: F401 (as above)
    test_a_sentence_reads_the_same_in_any_company,
    test_reading_knows_no_dropout_and_leaves_no_gradient,
)
from tests.training.loop.test_every_method_resumes import goes_on_to_the_bit
from tests.trainings import furnish, recipe

PAGE = ROOT / "docs" / "adding_a_method.md"
FILES = dict(re.findall(r"`explorer/methods/(\w+)\.py`.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
NAMES = [file.replace("_", "-") for file in FILES]


@pytest.fixture(scope="module", autouse=True)
def added(tmp_path_factory):
    """A second folder of methods with the files of the page."""
    folder = tmp_path_factory.mktemp("methods")
    for name, code in FILES.items():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "__path__", [*methods.__path__, str(folder)])
        methods.names.cache_clear()
        yield
    methods.names.cache_clear()
    for name in FILES:
        sys.modules.pop(f"explorer.methods.{name}", None)
        vars(methods).pop(name, None)


@pytest.fixture(params=NAMES)
def kind(request) -> type[Method]:
    return methods.load(request.param)


@pytest.fixture
def method(kind, base) -> Method:
    return made(kind, base)


@pytest.fixture
def trained(method) -> Method:
    return method


@pytest.fixture
def tuning(method) -> Method:
    return method


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("place"))


def test_the_page_shows_a_loss_a_momentum_copy_and_a_decoder():
    assert NAMES == ["nearest-pair", "momentum-views", "autoencoder"]
    assert [methods.load(name).eats for name in NAMES] == [PAIRS, SENTENCES, SENTENCES]
    assert set(NAMES) < set(methods.names())


def test_a_run_of_it_that_is_stopped_goes_on_to_the_bit(kind, place, tmp_path):
    name = kind.__module__.rpartition(".")[2].replace("_", "-")
    goes_on_to_the_bit(finish(prepare(recipe(place, name))), tmp_path / "state")


def test_the_momentum_copy_follows_only_after_updates(tiny_encoder):
    method = methods.load("momentum-views")(Tunable(tiny_encoder, 32), {"momentum": 0.75})
    own, copy = (dict(one.model.named_parameters()) for one in (method.base, method.target))
    before = {name: weight.detach().clone() for name, weight in copy.items()}
    with torch.no_grad():
        for weight in own.values():
            weight += 1.0
    assert all(torch.equal(weight, before[name]) for name, weight in copy.items())
    method.after_update()
    for name, weight in copy.items():
        torch.testing.assert_close(weight, 0.75 * before[name] + 0.25 * own[name])


def test_the_decoder_sees_no_word_before_it_has_predicted_it(tiny_encoder):
    """With the same vectors, the scores up to a word do not depend on that word."""
    torch.manual_seed(1)
    method = methods.load("autoencoder")(Tunable(tiny_encoder, 32), {"inner": 8}).eval()
    starts = torch.randn(1, 1, 8)
    one, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 5, 4]])
    scores = [method.decoder(method.words(ids), starts)[0] for ids in (one, other)]
    assert torch.equal(scores[0][:, :2], scores[1][:, :2])
    assert not torch.equal(scores[0][:, 2], scores[1][:, 2])
