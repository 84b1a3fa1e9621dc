import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.ahead import fetched, made_ahead
from explorer.encoding.read.batching import LIMITS
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import OWN, parse
from explorer.encoding.read.prompts import PromptedIds
from explorer.evaluating.encoded import encoded
from explorer.measuring.sentences.sentence_vectors import gathered
from explorer.progress import finish
from tests.device import DEVICE
from tests.tiny_models import SENTENCES, save_tiny
from tests.waits import FAR, Waits, far_away

pytestmark = pytest.mark.device

TEXTS = [f"{text} {number}" for number in range(4) for text in SENTENCES] + ["", "guitar " * 80]
ROUNDING = 1e-6 if DEVICE == "cpu" else 1e-5
READINGS = [OWN, parse("mean of layer 1", 2), parse("last of layers 0-2", 2)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Encoder, Encoder]:
    """An encoder that tokenises first, and the same that tokenises three texts at a time ahead of the device."""
    first = load(of_folder("tiny", save_tiny("bert", tmp_path_factory.mktemp("ahead") / "tiny")), "float32", DEVICE)
    first = first.with_model(first.model, "", Head(("mean",)))
    ahead = first.with_model(first.model, "", Head(("mean",)))
    first._limits = replace(LIMITS[DEVICE], ahead=0, behind=0)
    ahead._limits = replace(LIMITS["cuda"], ahead=3)
    return first, ahead


def threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith("ahead")]


def together(encoder: Encoder, heads: list[Head]) -> torch.Tensor:
    found = torch.full((len(heads), len(TEXTS), encoder.width), torch.nan)
    for places, vectors in encoder.under_heads(TEXTS, heads):
        found[:, places] = torch.stack(vectors)
    return found


@pytest.mark.parametrize("by", [0, 1, 2, 50])
def test_things_are_made_in_order_and_so_many_ahead(by):
    begun = []
    made = made_ahead(lambda number: begun.append(number) or number**2, range(20), by)
    assert next(made) == 0
    while len(begun) < min(20, by + 1):
        time.sleep(0.001)
    assert begun == list(range(min(20, by + 1)))
    assert list(made) == [number**2 for number in range(1, 20)]
    assert begun == list(range(20))
    assert threads() == []
    assert list(made_ahead(str, [], by)) == []


def test_who_stops_leaves_no_thread_and_no_work(pair):
    begun = []
    made = made_ahead(begun.append, range(100))
    next(made)
    made.close()
    assert threads() == []
    assert len(begun) <= 3
    taken = pair[1].under_heads(TEXTS, [Head(("mean",))])
    next(taken)
    assert threads()
    del taken
    assert threads() == []


def test_an_error_comes_where_its_part_would_and_ends_the_thread():
    made = made_ahead(lambda number: 1 / (3 - number), range(9))
    assert [next(made) for _ in range(3)] == [1 / 3, 1 / 2, 1]
    with pytest.raises(ZeroDivisionError):
        next(made)
    assert threads() == []


@pytest.mark.parametrize("way", ["heads", "views", "encoded", "gathered"])
def test_work_that_fails_leaves_no_thread_while_its_error_is_kept(pair, way, monkeypatch):
    ahead, calls = pair[1], []

    def fails(*_):
        calls.append(1)
        if len(calls) == 3:
            raise MemoryError("no room")
        return real(*_)

    real = ahead._hidden
    monkeypatch.setattr(ahead, "_hidden", fails)
    work = {
        "heads": lambda: together(ahead, [Head(("mean",))]),
        "views": lambda: list(ahead.views(TEXTS)),
        "encoded": lambda: finish(encoded(ahead, TEXTS)),
        "gathered": lambda: finish(gathered(ahead, TEXTS, READINGS)),
    }[way]
    with pytest.raises(MemoryError) as error:
        work()
    assert threads() == [], error


@pytest.mark.parametrize("behind", [0, 1, 3, 99])
def test_tensors_are_fetched_in_order_after_later_ones_are_computed(behind):
    computed = []

    def batches():
        for number in range(5):
            computed.append(number)
            yield number, (torch.full((2,), number, device=DEVICE), torch.tensor([-number], device=DEVICE))

    for number, (one, other) in fetched(batches(), behind):
        assert len(computed) == min(5, number + 1 + behind)
        assert (one.tolist(), other.tolist(), one.device.type) == ([number] * 2, [-number], "cpu")


def test_vectors_are_those_of_texts_that_are_tokenised_first(pair):
    first, ahead = pair
    heads = [Head(("mean",)), Head(("max of layer 1",), normalize=True)]
    assert torch.allclose(together(ahead, heads), together(first, heads), atol=ROUNDING)
    for one, other in zip(*(finish(gathered(each, TEXTS, READINGS, 20)) for each in pair), strict=True):
        assert torch.allclose(torch.tensor(one), torch.tensor(other), atol=ROUNDING)
    one, other = (finish(encoded(each, [*TEXTS, *TEXTS[:3]], 20, prompt="the ")) for each in pair)
    assert (one.titles, one.truncated) == (other.titles, other.truncated)
    for title in one.titles:
        assert torch.allclose(torch.tensor(one.of(title)), torch.tensor(other.of(title)), atol=ROUNDING)


@pytest.mark.parametrize("titles", [[], ["max of layer 1", "mean of layers 0 + 2"]])
def test_few_layers_and_poolings_are_equal_to_the_bit_with_those_of_the_whole_grid(pair, titles):
    for encoder in pair:
        few, every = finish(encoded(encoder, TEXTS, titles=titles)), finish(encoded(encoder, TEXTS))
        for title in few.titles:
            assert np.array_equal(few.of(title), every.of(title))


def test_progress_of_texts_that_are_tokenised_ahead_counts_to_all_of_them(pair):
    distinct = len(set(TEXTS))
    for encoder in pair:
        told = []
        finish(encoded(encoder, TEXTS, titles=[]), told.append)
        done = [progress.done for progress in told if progress.total == distinct]
        assert done == sorted(done)
        assert done[-1] == distinct


@pytest.mark.parametrize("kind", ["bert", "modernbert"])  # with a window or without
def test_no_pass_makes_a_gpu_wait(tmp_path, kind):
    near = load(of_folder(kind, save_tiny(kind, tmp_path / kind)), "float32", "cpu")
    near.device, ids = FAR, [*near.tokens(TEXTS).ids, *near.tokens(SENTENCES[:1] * 5).ids]
    with far_away(near.model):
        far = near.with_model(near.model, "", Head(("mean", "cls")))
        parts = [ids, ids[-5:], [PromptedIds(one, 2) for one in ids]]
        with torch.inference_mode(), Waits(FAR) as waits:
            for some in parts:
                vectors = far.default_head(*far._computed(some))
                views = far._view(some, [], tuple(READINGS[1:]))
    assert vectors.shape == (len(ids), 2 * far.width)
    assert views.grid.device.type == FAR
    assert waits.found == []
