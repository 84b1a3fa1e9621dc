"""Test that faults of a server are named, from vectors of sentence-transformers and of transformers alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sentence_transformers.util.quantization import quantize_embeddings

from explorer.encoding.load import chosen_prompts
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find, of_folder
from explorer.encoding.read.pooling import OWN
from explorer.errors import BadChoice, DataError, UnsupportedModel
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.studies.serving import changes, given_vectors, verdict, verification
from explorer.studies.serving.causes import (
    CASE,
    DENSE,
    DIMENSIONS,
    LAYER,
    LENGTH,
    NORM,
    ORDER,
    PADDING,
    POOLED_TOKENS,
    POOLING,
    PROMPT,
    PROMPT_TOKENS,
    ROUNDING,
    SPECIAL,
)  # fmt: skip
from tests.studies.serving.conftest import LIMIT, TEXTS, unit
from tests.tiny_models import save_tiny


@pytest.fixture(autouse=True)
def few_settings(monkeypatch):
    monkeypatch.setattr(changes, "PROMPTS", ("query: ",))
    monkeypatch.setattr(changes, "LENGTHS", (16, 32))
    monkeypatch.setattr(changes, "WIDTHS", (20, 24))
    monkeypatch.setattr(changes, "BATCHES", (4,))


def verified(served, vectors, texts=TEXTS, **options):
    given = given_vectors.of_arrays("given.npy", texts, vectors)
    work = verification.verify(served.found, served.encoder, given, given_vectors.VerifyOptions(**options))
    return finish(work)


def mean(hidden, mask, layer=-1):
    return (hidden[layer] * mask).sum(1) / mask.sum(1)


def raw(served):
    with torch.no_grad():
        return served.dense({"sentence_embedding": mean(*served.states())})["sentence_embedding"].numpy()


def inner(mask):
    """Without [CLS] and [SEP]."""
    kept = mask.clone()
    kept[:, 0] = 0
    kept[torch.arange(len(kept)), mask.sum(1).long()[:, 0] - 1] = 0
    return kept


def padded_by_length(served):
    """The mean over padding, in batches of four sentences sorted by length, each through the model by itself."""
    order = np.argsort([-len(text) for text in TEXTS], kind="stable")
    parts = [served.states([TEXTS[row] for row in order[start : start + 4]])[0][-1].mean(1) for start in (0, 4, 8)]
    return torch.cat(parts)[np.argsort(order)]


def attended(served):
    """Without any attention mask."""
    batch = served.library.tokenizer(
        ["the dog " + text for text in TEXTS], padding=True, truncation=True, max_length=LIMIT, return_tensors="pt"
    )
    with torch.no_grad():
        return served.library[0].auto_model(input_ids=batch["input_ids"]).last_hidden_state.mean(1)


def pooler(served):
    """A layer over [CLS] that the library has loaded, too."""
    weights = served.library[0].auto_model.pooler
    with torch.no_grad():
        return weights.activation(weights.dense(served.states()[0][-1][:, 0])).numpy()


def cased(served):
    """With a tokenizer that keeps the case, whose unknown words are others."""
    tokenizer = served.library.tokenizer.backend_tokenizer
    normalizer, tokenizer.normalizer = tokenizer.normalizer, None
    try:
        return served.after(mean(*served.states()))
    finally:
        tokenizer.normalizer = normalizer


# what the server does, the kinds of causes that have to be named, all of them, and a word of the first
FAULTS = {
    "pooling": (lambda s: s.after(s.states()[0][-1][:, 0]), [POOLING], "cls in place of mean"),
    "layer": (lambda s: s.after(mean(*s.states(), layer=-2)), [LAYER], "layer 1 in place of the last layer"),
    "norm": (raw, [NORM], "no normalisation"),
    "dense": (lambda s: unit(mean(*s.states()).numpy()), [DENSE], "no dense layer"),
    "pooler": (lambda s: unit(pooler(s)), [POOLING], "pooler_output"),
    "no prompt": (lambda s: s.encode(prompt=""), [PROMPT], "no prompt in place of 'the dog '"),
    "document": (lambda s: s.encode(prompt_name="document"), [PROMPT], "'document' in the model's table"),
    "special": (lambda s: s.after(mean(*s.states(special=False))), [SPECIAL], r"no special tokens ([CLS] [SEP])"),
    "not pooled": (
        lambda s: s.after(mean(s.states()[0], inner(s.states()[1]))),
        [POOLED_TOKENS],
        "special tokens are left out",
    ),
    "shorter": (lambda s: s.after(mean(*s.states(length=19))), [LENGTH], f"cut at 19 tokens in place of {LIMIT}"),
    "longer": (lambda s: s.after(mean(*s.states(length=40))), [LENGTH], f"cut at 40 tokens in place of {LIMIT}"),
    "case": (cased, [CASE], "keep their case"),
    "no mask": (lambda s: s.after(s.states()[0][-1].mean(1)), [PADDING], "padding tokens are pooled (to the longest"),
    "sorted": (lambda s: s.after(padded_by_length(s)), [PADDING], "batches of 4, sorted by length"),
    "attended": (lambda s: s.after(attended(s)), [PADDING], "seen by attention"),
    "dimensions": (lambda s: s.encode(truncate_dim=8), [DIMENSIONS], "the first 8 of 20 dimensions"),
    "and renormalised": (
        lambda s: s.encode(truncate_dim=8, normalize_embeddings=True),
        [DIMENSIONS, NORM],
        "the first 8 of 20 dimensions",
    ),
    "reversed": (lambda s: s.encode()[::-1], [ORDER], "reverse order"),
    "shifted": (lambda s: np.roll(s.encode(), 2, axis=0), [ORDER], "shifted by 2 down"),
    "sorted rows": (
        lambda s: s.encode()[np.argsort([-len(text) for text in TEXTS])],
        [ORDER],
        "sorted by length, longest first",
    ),
    "two": (lambda s: s.after(s.states(prompt="")[0][-1][:, 0]), [PROMPT, POOLING], "no prompt"),
    "three": (
        lambda s: s.after(mean(*s.states(prompt="", special=False, length=15))),
        [SPECIAL, PROMPT, LENGTH],
        "no special tokens",
    ),
    "and float16": (lambda s: raw(s).astype(np.float16), [NORM, ROUNDING], "no normalisation"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_with_what_to_change(served, fault):
    plant, kinds, words = FAULTS[fault]
    found = verified(served, plant(served))
    assert found.kind == verdict.EXPLAINED, found.as_text()
    assert sorted(one.kind for one in found.causes) == sorted(kinds), found.sentence.text
    assert words in found.sentence.text
    assert not found.agrees
    assert found.remedy
    assert found.best.equal == found.best.sentences == len(TEXTS)


def test_vectors_of_the_library_agree_whatever_the_batch(served):
    found = verified(served, served.encode(batch_size=2))
    assert (found.kind, found.causes, found.count, found.remedy) == (verdict.AGREES, (), 1, "")
    assert found.best.difference < 1e-6
    assert found.different == ()
    assert found.notes == (), "the longest text is longer than the model reads"
    assert "Not tested" in verified(served, served.encode(TEXTS[:4]), TEXTS[:4]).notes[0]


def test_a_chosen_prompt_is_what_the_server_should_have(served):
    found = chosen_prompts.after(served.found, "document")
    given = given_vectors.of_arrays("given", TEXTS, served.encode(prompt_name="document"))
    work = verification.verify(found, load(found, "float32", "cpu"), given, given_vectors.VerifyOptions())
    assert finish(work).kind == verdict.AGREES


def codes(vectors):
    return quantize_embeddings(vectors, "int8", calibration_embeddings=vectors)


def stored(vectors):
    """Each vector as int8 with a step of its own."""
    steps = np.abs(vectors).max(axis=1, keepdims=True) / 127
    return np.round(vectors / steps) * steps


ROUNDED = {
    "float16": lambda vectors: vectors.astype(np.float16),
    "bfloat16": lambda vectors: torch.from_numpy(vectors).bfloat16().float().numpy(),
    "int8": stored,
    "8-bit whole numbers": codes,
    "4 decimals": lambda vectors: vectors.round(4),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_is_named_and_is_no_fault(served, name):
    found = verified(served, ROUNDED[name](served.encode()))
    assert (found.kind, found.agrees, found.remedy) == (verdict.ROUNDED, True, "")
    assert f"rounding to {name}" in found.sentence.text


def test_arithmetic_of_few_bits_is_no_fault_and_hides_none(served):
    half = load(served.found, "bfloat16", "cpu")
    found = verified(served, finish(of_reading(half, TEXTS, OWN)))
    assert (found.kind, found.agrees) == (verdict.ROUNDED, True)
    assert "arithmetic" in found.sentence.text


def test_other_weights_are_explained_by_nothing(served):
    drawn = unit(np.random.default_rng(0).normal(size=(len(TEXTS), 20)))
    found = verified(served, drawn)
    assert (found.kind, found.agrees, found.remedy) == (verdict.UNEXPLAINED, False, "")
    assert "same weights" in found.sentence.text
    assert found.count > 100


def test_a_single_wrong_vector_is_found(served):
    vectors = served.encode()
    vectors[5] = vectors[6]
    found = verified(served, vectors)
    assert found.kind == verdict.UNEXPLAINED
    assert f"{len(TEXTS) - 1} of {len(TEXTS)} sentences agree" in found.sentence.text
    assert [(one.row, one.sentence) for one in found.different] == [(5, TEXTS[5])]


def test_some_sentences_of_a_large_file_are_compared_the_longest_among_them(served):
    texts = [f"{text} {number}" for number in range(5) for text in TEXTS]
    found = verified(served, served.encode(texts, prompt_name="query"), texts, sentences=12)
    assert (found.rows, found.best.sentences, found.kind) == (60, 12, verdict.AGREES)
    assert "12 of 60 sentences are compared" in found.notes[0]
    given = given_vectors.of_arrays("given", texts, np.ones((60, 2)))
    rows = given.compared(12)
    longest = sorted(range(60), key=lambda row: -len(texts[row]))[:3]
    assert set(longest) <= set(rows.tolist())
    assert len(set(rows.tolist())) == 12


def test_vectors_that_cannot_be_compared_are_refused(served):
    good = served.encode()
    wide = np.ones((len(TEXTS), 300))
    with pytest.raises(BadChoice, match=r"vectors of width 300; served has 20\. They are of another model"):
        verified(served, wide)
    with pytest.raises(DataError, match="12 vectors and 11 sentences"):
        verified(served, good, TEXTS[:-1])
    broken = good.copy()
    broken[3, 2] = np.nan
    with pytest.raises(DataError, match=r"Row 3 of given\.npy has the number nan"):
        verified(served, broken)
    with pytest.raises(DataError, match="is zero"):
        verified(served, good * 0)
    with pytest.raises(DataError, match=r"the shape \(20,\)"):
        verified(served, good[0])


def test_a_model_without_a_head_and_with_prompts_left_out_of_the_pooling(tmp_path):
    folder = save_tiny("roberta", tmp_path / "plain", initializer_range=0.7)
    found = of_folder("plain", folder)
    encoder = load(found, "float32", "cpu")
    (hidden,) = (encoder.states(TEXTS),)
    given = given_vectors.of_arrays("given", TEXTS, unit(hidden.hidden[-1][:, 0].numpy()))
    causes = finish(verification.verify(found, encoder, given, given_vectors.VerifyOptions())).causes
    assert [one.kind for one in causes] == [POOLING, NORM]
    assert "Do not normalise" in causes[1].remedy


def test_prompt_tokens_that_are_pooled_by_mistake(served):
    head = served.encoder.default_head
    apart = served.encoder.with_changed(head=replace(head, roles=replace(head.roles, pooled=False)))
    given = given_vectors.of_arrays("given", TEXTS, served.encode())
    found = finish(verification.verify(served.found, apart, given, given_vectors.VerifyOptions()))
    assert [one.kind for one in found.causes] == [PROMPT_TOKENS]
    assert "are pooled" in found.sentence.text


def test_vectors_alone_are_no_model(served, tmp_path):
    np.save(tmp_path / "mine.npy", served.encode())
    (tmp_path / "mine.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    model = find(str(tmp_path / "mine.npy"))
    given = given_vectors.of_arrays("given", TEXTS, served.encode())
    with pytest.raises(UnsupportedModel, match="needs the model itself"):
        finish(verification.verify(model, load_encoder(model, Settings()), given, given_vectors.VerifyOptions()))
