"""Test the methods that the documentation adds: their files are taken from the page, trained, and keep the contract."""

import re
import sys

import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer import methods
from explorer.__main__ import main
from explorer.data.text_sets import PAIRS, SENTENCES
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Method
from explorer.progress import finish
from explorer.training.loop.preparing import prepare
from explorer.training.record import runs
from explorer.ui.runs import training_form
from tests import train_visits
from tests.live import ROOT
from tests.methods.conftest import made
from tests.methods.test_contract import (  # noqa: F401 (they run here on the methods of the page)
    test_a_method_says_what_it_is,
    test_a_method_states_its_rows_its_schedule_and_its_paper,
    test_every_default_passes_its_check_every_knob_says_what_it_is_good_for_and_none_is_of_every_methods_schedule,
    test_nothing_is_random_but_what_is_drawn_and_rows_matter_by_what_belongs_together_not_by_their_order,
    test_similarities_of_positive_and_of_random_pairs_are_recorded,
    test_the_loss_is_one_finite_number_that_can_be_followed_and_a_gpu_waits_for_none_and_for_no_copy,
    test_training_leaves_the_encoder_and_constant_parts_as_they_were_rebuilds_no_other_and_lowers_the_loss,
)
from tests.methods.test_reading import (  # noqa: F401 (as above)
    test_a_sentence_reads_the_same_in_any_company_odd_ones_are_read_and_long_ones_cut,
    test_reading_leaves_every_part_in_the_mode_it_was_in_without_dropout_or_gradient,
)
from tests.training.loop.test_resume_state import goes_on_to_the_bit
from tests.trainings import few_probes, furnish, recipe, words_of

PAGE = ROOT / "docs" / "adding_a_method.md"
FILES = dict(re.findall(r"`explorer/methods/(\w+)\.py`.*?```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
NAMES = [name for code in FILES.values() for name in re.findall(r'^    name = "(.+)"$', code, re.MULTILINE)]


@pytest.fixture(scope="module", autouse=True)
def added(tmp_path_factory):
    """A second folder of methods with the files of the page."""
    folder = tmp_path_factory.mktemp("methods")
    for name, code in FILES.items():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        training_form.methods.clear()
        patch.setattr(methods, "__path__", [*methods.__path__, str(folder)])
        methods.files.cache_clear()
        yield
    methods.files.cache_clear()
    training_form.methods.clear()
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
    assert [methods.load(name).rows for name in NAMES] == [PAIRS, SENTENCES, SENTENCES]
    assert set(NAMES) < set(methods.names())


def test_a_run_of_it_that_is_stopped_goes_on_to_the_bit(kind, place, tmp_path):
    goes_on_to_the_bit(finish(prepare(recipe(place, kind.name))), tmp_path / "state")


def test_one_file_is_all_that_commands_pages_and_a_run_need(place, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path))
    name, kind = "nearest-pair", methods.load("nearest-pair")

    def printed(*words):
        assert main(["methods", *words]) == 0
        return capsys.readouterr().out

    assert dict(line.split(maxsplit=1) for line in printed().splitlines())[name] == kind.title()
    assert printed(name).startswith(f"{kind.title()}\n\n")
    section = printed("--markdown").partition(f"### `{name}`\n\n{kind.title()}\n")[2].partition("\n### ")[0]
    assert re.findall(r"^- `(\w+)` = ", section, re.MULTILINE) == list(kind.knobs)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page(train_visits.PAGE)
    app.query_params.update(method=name, model=str(place.model), data=str(place.triplets), tab="Command")
    assert not app.run().exception
    assert app.selectbox(key="method").value == name
    fields = {one.key for fields in (app.number_input, app.selectbox, app.text_input) for one in fields}
    assert {f"knob {name} {knob}" for knob in kind.knobs} <= fields
    assert app.code[0].value.startswith(f"python -m explorer train {name} ")
    assert not app.button(key=train_visits.START).disabled
    with few_probes():
        assert main(words_of(recipe(place, name))) == 0
    (run,) = runs.every()
    assert run.recipe().method == name
    assert run.has_model


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
