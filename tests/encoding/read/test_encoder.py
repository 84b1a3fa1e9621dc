import itertools
import random
import threading
from dataclasses import replace

import pytest
import torch

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.batching import COLUMNS, LIMITS, ROWS, batches, limits_of, passes
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import DECODER_POOLINGS, GRID_POOLINGS, POOLINGS, Reading, Row
from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import BadChoice
from tests.device import DEVICE
from tests.tiny_models import FAMILIES, SENTENCES, WIDTH, save_tiny

pytestmark = pytest.mark.device

BUSY = LIMITS["cpu"].busy
ROUNDING = 1e-6 if DEVICE == "cpu" else 1e-5
KINDS = [kind for kind in FAMILIES if kind != "bart"]


@pytest.fixture(scope="module", params=KINDS)
def encoder(request, tmp_path_factory) -> Encoder:
    folder = save_tiny(request.param, tmp_path_factory.mktemp("models") / request.param)
    return load(of_folder(request.param, folder), precision="float32", device=DEVICE)


def grid_of(encoder: Encoder, sentences: list[str]) -> torch.Tensor:
    """Every view (row, pooling, sentence, width), in the caller's order."""
    grid = torch.empty(len(encoder.rows), len(encoder.poolings), len(sentences), encoder.width)
    for views in encoder.views(sentences):
        grid[:, :, views.positions] = views.grid.cpu()
    return grid


def test_a_sentence_reads_the_same_alone_and_in_any_company_beside_any_padding(encoder):
    together = grid_of(encoder, list(SENTENCES))
    backwards = grid_of(encoder, list(reversed(SENTENCES)))
    for place, sentence in enumerate(SENTENCES):
        alone = grid_of(encoder, [sentence])[:, :, 0]
        assert torch.allclose(together[:, :, place], alone, atol=1e-5)
        assert torch.allclose(backwards[:, :, len(SENTENCES) - 1 - place], alone, atol=1e-5)
    short = grid_of(encoder, ["no"])[:, :, 0]
    for words in (2, 5, 12):
        assert torch.allclose(grid_of(encoder, ["no", " ".join(["guitar"] * words)])[:, :, 0], short, atol=1e-5)
    assert torch.isfinite(grid_of(encoder, ["", "a man"])).all()


def test_the_last_row_of_single_layers_is_the_models_last_state(encoder):
    states = encoder.states(list(SENTENCES))
    layers = sum(len(row.layers) == 1 for row in encoder.rows)
    assert states.hidden.shape[0] == layers == encoder.rows[layers - 1].layers[0] + 1
    with torch.inference_mode():
        ids, mask = encoder.padded(encoder.tokens(list(SENTENCES)).ids)
        last = encoder.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    real = states.mask
    assert torch.allclose(states.hidden[-1][real], last[real], atol=1e-5)


def test_pairs_of_layers_are_averaged_before_they_are_pooled(encoder):
    sentence = SENTENCES[1]
    hidden = encoder.states([sentence]).hidden[:, 0]
    grid = grid_of(encoder, [sentence])[:, :, 0]
    for place, row in enumerate(encoder.rows):
        states = torch.stack([hidden[layer] for layer in row.layers]).mean(0)
        first = {GRID_POOLINGS: states[0], DECODER_POOLINGS: states[-1]}[encoder.poolings]
        assert torch.allclose(grid[place], torch.stack([first, states.mean(0), states.max(0).values]).cpu(), atol=1e-5)


@pytest.mark.parametrize("pooled", [0, 3 * 4 * WIDTH * 100, 10**9])  # bytes: of one row, of some, of all
def test_rows_of_the_grid_that_are_pooled_together_are_those_that_are_pooled_alone(encoder, pooled):
    sentences, head = [*SENTENCES, "", "a man"], encoder.head or Head(("mean",))
    unlike = replace(head, prompt="the dog ", roles=RolePrompts(pooled=False))
    for one in (encoder, encoder.with_changed(head=unlike)):
        alone, together = one.with_changed(), one.with_changed()
        alone._limits, together._limits = replace(LIMITS["cpu"], pooled=0), replace(LIMITS["cpu"], pooled=pooled)
        assert torch.allclose(grid_of(alone, sentences), grid_of(together, sentences), atol=ROUNDING, equal_nan=True)


@pytest.mark.parametrize("device", LIMITS)
def test_the_batches_of_every_device_give_the_same_vectors(encoder, device, monkeypatch):
    sentences = [*SENTENCES * 5, *(" ".join(SENTENCES[4].split()[:words]) for words in range(14))]
    monkeypatch.setitem(LIMITS, DEVICE, LIMITS[device])
    other = encoder.with_model(encoder.model, "", encoder.head)
    assert torch.allclose(grid_of(other, sentences), grid_of(encoder, sentences), atol=ROUNDING)


def test_padding_fills_what_a_sentence_lacks(encoder):
    ids = encoder.tokens(["a man", *SENTENCES]).ids
    blank = encoder.tokenizer().pad_token_id
    for width in (0, 30, 10**6):
        padded, mask = encoder.padded(ids, width=width)
        longest = max(*map(len, ids), min(width, encoder.max_length))
        assert padded.tolist() == [one + [blank] * (longest - len(one)) for one in ids]
        assert mask.tolist() == [[True] * len(one) + [False] * (longest - len(one)) for one in ids]


def test_layers_and_poolings_outside_of_the_grid_are_those_of_the_averaged_states(encoder):
    asked = [Reading(Row(layers), pooling) for layers in ((1,), (0, 1), (0, 1, 2)) for pooling in POOLINGS]
    outside = encoder.outside(asked)
    assert {reading.pooling for reading in outside} == set(POOLINGS)
    for views in encoder.views(SENTENCES, also=asked):
        assert set(views.also) == set(outside)
        for at, place in enumerate(views.positions):
            hidden = encoder.states([SENTENCES[place]]).hidden[:, 0]
            for reading, vectors in views.also.items():
                tokens = hidden[list(reading.row.layers)].mean(0)
                weights = torch.arange(1.0, len(tokens) + 1, device=tokens.device)
                by_hand = {
                    "cls": tokens[0],
                    "mean": tokens.mean(0),
                    "max": tokens.max(0).values,
                    "last": tokens[-1],
                    "weighted mean": (weights @ tokens) / weights.sum(),
                    "sqrt mean": tokens.sum(0) / len(tokens) ** 0.5,
                }[reading.pooling]
                assert torch.allclose(vectors[at], by_hand, atol=1e-5), reading.title


def test_sentences_are_cut_at_the_limit_and_counted(tiny_encoder):
    tokens = tiny_encoder.tokens(["guitar " * 20, "no"], max_length=10)
    assert [len(numbers) for numbers in tokens.ids] == [10, 3]
    assert tokens.truncated == 1
    assert tokens.ids[0][-1] == tokens.ids[1][-1], "a cut sentence still ends with [SEP]"


@pytest.mark.parametrize("length", [0, 2, -1, 65, 10**6])
def test_an_impossible_length_is_refused_with_what_is_possible(tiny_encoder, length):
    with pytest.raises(BadChoice, match=rf"maximum length of {length} tokens is not possible: tiny allows 3 to 64"):
        tiny_encoder.tokens(["a"], max_length=length)


def test_threads_that_share_an_encoder_get_their_own_tokens(bundled_encoder):
    sentences = [f"{word} is what they talked about all evening" * 3 for word in SENTENCES] * 10
    wanted = {length: bundled_encoder.tokens(sentences, length).ids for length in (5, 9, 17, 33)}
    wrong = []

    def read(length: int) -> None:
        wrong.extend(length for _ in range(4) if bundled_encoder.tokens(sentences, length).ids != wanted[length])

    threads = [threading.Thread(target=read, args=(length,)) for length in wanted for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_reading_leaves_no_gradient_and_no_mode_behind(tiny_encoder):
    next(tiny_encoder.views(["a man", "a dog"]))
    assert not torch.is_inference_mode_enabled(), "the caller's thread must not inherit the mode of a paused generator"
    assert not tiny_encoder.model.training


def test_bfloat16_reads_almost_what_float32_reads(tmp_path):
    found = of_folder("tiny", save_tiny("bert", tmp_path / "tiny"))
    exact, quick = (load(found, precision=precision, device=DEVICE) for precision in ("float32", "bfloat16"))
    assert quick.precision == "bfloat16"
    one, two = grid_of(exact, list(SENTENCES)), grid_of(quick, list(SENTENCES))
    assert two.dtype == torch.float32, "vectors are float32 whatever the model computes in"
    assert torch.nn.functional.cosine_similarity(one, two, dim=-1).min() > 0.999


def test_batches_of_a_gpu_are_fewer_and_no_larger_than_its_memory_allows():
    sizes = [random.Random(place).randint(5, 40) for place in range(5000)]
    made = {}
    for device, limits in LIMITS.items():
        made[device] = list(batches(sizes, limits.tokens, 10**6, limits.busy))
        assert all(len(batch) * max(sizes[place] for place in batch) <= limits.tokens for batch in made[device])
    assert len(made["cuda"]) * 5 < len(made["mps"]) < len(made["cpu"])
    assert limits_of("cuda:1") is limits_of(torch.device("cuda")) is limits_of("meta") is LIMITS["cuda"]


def lengths(count: int, seed: int = 0) -> list[int]:
    return [random.Random(seed + place).randint(3, 60) for place in range(count)]


@pytest.mark.parametrize(("budget", "most"), [(10**6, 7), (1000, 10**6)])
def test_every_sentence_is_in_one_batch_longest_first_and_no_batch_is_too_large(budget, most):
    sizes = lengths(500)
    made = list(batches(sizes, budget, most, BUSY))
    assert sorted(place for batch in made for place in batch) == list(range(500))
    assert all(len(batch) * max(sizes[place] for place in batch) <= budget for batch in made)
    assert max(map(len, made)) == most or most > 500
    heads = [sizes[batch[0]] for batch in made]
    assert heads == sorted(heads, reverse=True)


def test_a_full_batch_has_no_padding_and_few_sentences_of_many_lengths_share_one():
    sizes = [20] * 200 + [10] * 200
    for batch in batches(sizes, 2000, 10**6, BUSY):
        if len(batch) * sizes[batch[0]] >= BUSY:
            assert len({sizes[place] for place in batch}) == 1
    assert list(batches([10, 5000, 10], 100, 10**6, BUSY)) == [[1], [0, 2]]
    assert len(list(batches([10, 9, 8, 7], 1000, 10**6, BUSY))) == 1
    assert list(batches([], 100, 10**6, BUSY)) == []
    assert passes([], 256) == []


def test_passes_hold_every_sentence_once_longest_first():
    sizes = lengths(50)
    made = passes(sizes, price=100)
    assert sorted(place for places, _ in made for place in places) == list(range(50))
    assert [width for _, width in made] == sorted((width for _, width in made), reverse=True)
    for places, width in made:
        longest = max(sizes[place] for place in places)
        assert longest <= width < longest + COLUMNS


@pytest.mark.parametrize("price", [1, 40, 256, 10**6])
def test_passes_cost_least_of_all_cuts_that_are_allowed(price):
    sizes = lengths(5 * ROWS + 3)
    order = sorted(sizes, reverse=True)
    parts = [order[at : at + ROWS] for at in range(0, len(order), ROWS)]
    every = []
    for cut in itertools.product([False, True], repeat=len(parts) - 1):
        joined = [list(parts[0])]
        for apart, part in zip(cut, parts[1:], strict=True):
            joined.append(list(part)) if apart else joined[-1].extend(part)
        every.append(sum(len(one) * (-(-one[0] // COLUMNS) * COLUMNS) + price for one in joined))
    assert sum(len(places) * width + price for places, width in passes(sizes, price)) == min(every)


def test_passes_of_many_batches_come_in_few_shapes():
    made = [one for seed in range(200) for one in passes(lengths(64, seed * 64), price=256)]
    shapes = {(len(places), width) for places, width in made}
    assert len(made) > 400
    assert len(shapes) <= (64 // ROWS) * (60 // COLUMNS)
    assert all(len(places) % ROWS == 0 and width % COLUMNS == 0 for places, width in made)
