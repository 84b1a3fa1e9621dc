"""Test that a run of every method goes on to the bit, and that the estimate before it leaves no trace."""

import random
from pathlib import Path

import pytest
import torch

from explorer import methods
from explorer.methods.simcse import SimCSE
from explorer.progress import finish
from explorer.training.loop import resume_state
from explorer.training.loop.estimate import estimate
from explorer.training.loop.learner import changing
from explorer.training.loop.preparing import Prepared, prepare
from tests.device import DEVICE
from tests.methods.hub import save_generator
from tests.methods.rows import TRAINED
from tests.training.loop.test_resume_state import made, updated
from tests.trainings import recipe

pytestmark = pytest.mark.device

SMALL = {"predictors": 1, "predictor_width": 1, "queue_size": 8, "levels": 2, "projection": False, "negatives": 1}


@pytest.fixture(scope="module")
def rows_of(place, tmp_path_factory):
    """A file of each kind of rows, by name, and a generator."""
    folder = tmp_path_factory.mktemp("rows")
    _, *lines = place.triplets.read_text(encoding="utf-8").splitlines()
    columns = [line.split(",") for line in lines]
    written = {
        "sentences": "\n".join(["sentence", *(row[0] for row in columns)]),
        "pairs": "\n".join(["first,second", *(",".join(row[:2]) for row in columns)]),
        "triplets": place.triplets.read_text(encoding="utf-8"),
        "back-translations": "\n".join(["sentence,translated", *(",".join(row[:2]) for row in columns)]),
        "graded pairs": "\n".join(
            ["sentence1,sentence2,score", *(f"{row[0]},{row[1]},{at % 5}" for at, row in enumerate(columns))]
        ),
        "labelled texts": "\n".join(
            ["sentence1,sentence2,label", *(f"{row[0]} {at},{row[1]},{at % 2}" for at, row in enumerate(columns * 5))]
        ),
    }
    words = " ".join(row[0] for row in columns).split()
    texts = (" ".join(random.Random(seed).choices(words, k=2100)) for seed in range(16))
    written["documents"] = "\n".join(["document", *texts])
    for kind, text in written.items():
        (folder / f"{kind}.csv").write_text(text + "\n", encoding="utf-8")
    save_generator(folder / "generator")
    return folder


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.usefixtures("small_projection", "words_with_opposites")
def test_every_method_goes_on_to_the_bit(name, place, rows_of, tmp_path):
    goes_on_to_the_bit(prepared_for(name, place, rows_of), tmp_path / "state")


# nothing but the encoder, a frozen copy, a momentum copy, two trained copies, a shared and an own decoder
@pytest.mark.parametrize(
    ("name", "settings"),
    [("simcse", {}), ("sg", {}), ("bsl", {}), ("ct", {}), ("diffcse", {}), ("tsdae", {}), ("tsdae", {"tied": False})],
    ids=str,
)
@pytest.mark.usefixtures("small_projection")
def test_adapters_go_on_to_the_bit_without_the_weights_beside_them(name, settings, place, rows_of, tmp_path):
    prepared = prepared_for(name, place, rows_of, lora_rank=2, lora_targets="all linear", **settings)
    goes_on_to_the_bit(prepared, tmp_path / "state")
    saved = resume_state.load(tmp_path / "state").tensors
    assert not [entry for entry in saved if "word_embeddings" in entry]
    assert [entry for entry in saved if "lora_B" in entry]


def prepared_for(name: str, place, rows_of: Path, **changes) -> Prepared:
    kind = methods.load(name)
    settings = {knob: value for knob, value in SMALL.items() if knob in kind.knobs} | changes
    if "generator" in kind.knobs:
        settings["generator"] = str(rows_of / "generator")
    return finish(prepare(recipe(place, name, data=(str(rows_of / f"{kind.rows}.csv"),), settings=settings)))


def goes_on_to_the_bit(prepared: Prepared, folder: Path) -> None:
    """A run that is stopped after three updates and resumed equals one that is not, as does one that is estimated."""
    learned = made(prepared)
    finish(learned.fit())
    before = updated(learned, 3)
    assert len(before) == 3, "the premise: every loss is finite"
    resume_state.save(folder, resume_state.state_of(learned))
    expected, weights = updated(learned, 3), changing(learned.method)
    other = made(prepared)
    resume_state.restore(other, resume_state.load(folder))
    assert str(updated(other, 3)) == str(expected)  # of a NaN, only the text is equal
    for place_of, value in changing(other.method).items():
        assert torch.equal(value, weights[place_of]), place_of
    tried = made(prepared)
    finish(tried.fit())
    estimate(tried, folder.parent)
    assert str(updated(tried, 3)) == str(before), "the steps of the estimate leave no trace"


def test_what_a_loss_leaves_for_the_update_is_of_that_update_alone(place, tmp_path):
    """A list that the loss fills and a buffer that grows: neither has anything of the estimate."""

    class Remembering(SimCSE):
        def build(self):
            super().build()
            self.latest: list[torch.Tensor] = []
            self.register_buffer("bank", torch.zeros(0, self.width))

        def loss(self, *columns):
            if self.training:
                self.latest.append(self.encode(columns[0]).detach())
                self.bank = torch.cat([self.bank, self.latest[-1]])
            return super().loss(*columns)

        def after_update(self):
            self.counts = [len(part) for part in self.latest]
            self.latest.clear()

    learned = made(finish(prepare(recipe(place, "simcse"))))
    learned.method = Remembering(learned.method.base).to(DEVICE)
    learned.method.latest.append(torch.ones(1, 1))
    estimate(learned, tmp_path)
    assert [part.tolist() for part in learned.method.latest] == [[[1.0]]]
    assert not hasattr(learned.method, "counts")
    assert learned.method.bank.shape == (0, learned.method.width)
