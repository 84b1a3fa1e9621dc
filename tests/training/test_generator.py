"""Test that a copy of an encoder learns to predict masked words, measured on held-out sentences."""

import pytest
import torch
from safetensors.torch import load_file

from explorer.encoding.load import language_models
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import NotWritable, TooFewRows, UnsupportedModel
from explorer.progress import finish
from explorer.training.generator import make_generator
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

# what follows a word is always the same, so there is something to learn
SENTENCES = [" ".join(["a", one, *pair.split()]) for one in ("man", "woman", "dog") for pair in
             ("plays guitar", "eats pasta", "slices potatoes")] * 12  # fmt: skip


@pytest.fixture
def encoder(tmp_path):
    return encoder_of(save_tiny("bert", tmp_path / "tiny"))


def made(encoder, folder, sentences=SENTENCES, **options):
    return finish(make_generator(encoder, sentences, folder, **({"steps": 60, "rate": 1e-2} | options)))


def test_it_learns_and_what_it_learned_is_a_generator_for_the_encoder(encoder, tmp_path):
    weights = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    found = made(encoder, tmp_path / "generator")
    assert found.words > 10
    assert found.after > found.before + 0.1
    generator = language_models.load_masked(of_folder("generator", tmp_path / "generator"), encoder)
    ids, mask = encoder.padded(encoder.tokens(SENTENCES[:9]).ids)
    hidden = ids.clone()
    hidden[:, 3] = encoder.tokenizer().mask_token_id
    assert (generator.guesses(hidden, mask)[:, 3] == ids[:, 3]).float().mean() > 0.2
    assert all(torch.equal(weight, weights[name]) for name, weight in encoder.model.state_dict().items())


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert"])
def test_words_at_chosen_places_are_expected_as_at_all_places(tmp_path, kind):
    encoder = encoder_of(save_tiny(kind, tmp_path / kind))
    torch.manual_seed(0)
    model = language_models.with_new_head(encoder).eval()
    ids, mask = encoder.padded(encoder.tokens(SENTENCES[:5]).ids)
    chosen = torch.rand(ids.shape) < 0.4
    with torch.no_grad():
        every = model.model(input_ids=ids, attention_mask=mask.long()).logits
        assert torch.allclose(model.scores(ids, mask, chosen), every[chosen], atol=1e-6)
        assert torch.equal(model.guesses(ids, mask), every.argmax(-1).where(mask, ids))


def test_the_words_it_is_tied_to_are_those_it_reads(encoder, tmp_path):
    made(encoder, tmp_path / "generator", steps=3)
    kept = load_file(tmp_path / "generator" / "model.safetensors")
    assert "cls.predictions.decoder.weight" not in kept, "one matrix reads words and guesses them"
    before = encoder.model.state_dict()["embeddings.word_embeddings.weight"]
    assert not torch.equal(kept["bert.embeddings.word_embeddings.weight"], before)


def test_the_same_seed_makes_the_same_generator(encoder, tmp_path):
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        made(encoder, tmp_path / name, steps=3, seed=seed)
    one, again, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "again", "other"))
    assert one == again
    assert one != other


def test_what_is_measured_was_not_learned_from(encoder, tmp_path, monkeypatch):
    seen, measured = set(), set()
    monkeypatch.setattr("explorer.training.generator._learn", lambda *given: seen.update(given[-1]))
    monkeypatch.setattr(
        "explorer.training.generator._accuracy",
        lambda *given: (measured.update(given[-2]), (0.0, 1))[1],
    )
    sentences = [f"{number} guitars" for number in range(100)]
    made(encoder, tmp_path / "generator", sentences, steps=50)
    assert len(measured) == 12
    assert len(seen) > 60
    assert not seen & measured


def test_what_was_broken_off_leaves_nothing(encoder, tmp_path):
    work = make_generator(encoder, SENTENCES, tmp_path / "generator", steps=5)
    for progress in work:
        if progress.done == 2:
            break
    work.close()
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_what_cannot_be_is_refused(encoder, tmp_path):
    with pytest.raises(TooFewRows, match="9 sentences are too few to train a generator; at least 64 are needed"):
        made(encoder, tmp_path / "generator", SENTENCES[:9])
    with pytest.raises(NotWritable, match="exists already"):
        made(encoder, tmp_path / "tiny")
    decoder = encoder_of(save_tiny("t5", tmp_path / "t5"))
    decoder.tokenizer = encoder.tokenizer
    with pytest.raises(UnsupportedModel, match="is a t5, for which transformers has no masked language model"):
        made(decoder, tmp_path / "generator")
    assert not (tmp_path / "generator").exists()
