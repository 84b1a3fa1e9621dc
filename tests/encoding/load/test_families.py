from pathlib import Path

import pytest
import torch

from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, LAYERS, POSITIONS, SENTENCES, WIDTH, save_tiny, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory) -> tuple[str, Path]:
    return request.param, save_tiny(request.param, tmp_path_factory.mktemp("loading") / request.param)


def test_every_family_shows_the_state_after_each_of_its_layers(family):
    kind, folder = family
    states = encoder_of(folder).states(list(SENTENCES))
    assert states.hidden.shape[0] == LAYERS + 1
    assert states.hidden.shape[-1] == WIDTH
    assert torch.isfinite(states.hidden[:, states.mask]).all(), kind


def test_every_family_reads_a_sentence_of_its_greatest_length_and_cuts_a_longer_one(family):
    kind, folder = family
    encoder = encoder_of(folder)
    assert encoder.max_length == POSITIONS, kind
    for words in (POSITIONS - 2, 3 * POSITIONS):
        states = encoder.states([" ".join(["a"] * words)])
        assert torch.isfinite(states.hidden).all()
    assert states.hidden.shape[2] == POSITIONS


def test_every_family_reads_the_weights_that_were_saved(family):
    kind, folder = family
    model = encoder_of(folder).model
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())
    original = tiny_model(kind, len(tiny_tokenizer(kind)))
    original = original.get_encoder() if kind == "bart" else original
    expected = original.state_dict()
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, expected[name]), f"{kind}: {name}"


def test_every_family_reads_in_bfloat16_with_exact_positions(family):
    kind, folder = family
    exact, rounded = (encoder_of(folder, precision=name).model for name in ("float32", "bfloat16"))
    assert {weight.dtype for weight in rounded.parameters()} == {torch.bfloat16}
    for (name, table), (_, other) in zip(exact.named_buffers(), rounded.named_buffers(), strict=True):
        assert torch.equal(table, other), f"{kind}: {name}"
    assert torch.isfinite(encoder_of(folder, precision="bfloat16").states(list(SENTENCES)).hidden).all()


def test_every_family_can_compute_attention_to_be_looked_at(family):
    _, folder = family
    exact, shown = (encoder_of(folder, attention=name) for name in ("sdpa", "eager"))
    ids = torch.tensor(exact.tokens([SENTENCES[0]]).ids)
    with torch.inference_mode():
        attentions = shown.model(input_ids=ids, output_attentions=True).attentions
    assert len(attentions) == LAYERS
    assert attentions[0].shape[-2:] == (ids.shape[1], ids.shape[1])
    expected, states = (encoder.states([SENTENCES[0]]).hidden for encoder in (exact, shown))
    assert torch.allclose(states, expected, atol=1e-5)


def test_no_family_has_a_pooler_to_be_made_up(family):
    kind, folder = family
    assert not [name for name, _ in encoder_of(folder).model.named_parameters() if "pooler" in name], kind
