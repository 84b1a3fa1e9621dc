"""Test what SetFit has beside its pairs: dropout, equal texts in a batch, and the layer under the tuned encoder."""

import pytest
import torch

from explorer import methods
from explorer.data.text_sets import LABELLED_TEXTS, Corpus
from explorer.progress import finish
from tests.methods.rows import FIRST, SECOND, vectors_of

TEXTS = [*FIRST, *SECOND]
LABELS = ["a", "b", "b", "b", "c", "a", "a", "a"]  # pairs of two, one, two and one class


def test_similarities_are_those_of_pairs_of_one_class_and_of_two(base):
    method = methods.load("setfit")(base, {"pooling": "mean"}, ("a", "b", "c")).eval()
    method(TEXTS, LABELS)
    one, other = vectors_of(method, TEXTS)[::2], vectors_of(method, TEXTS)[1::2]
    cosines = torch.cosine_similarity(one, other).tolist()
    positive, negative = method.similarities
    assert positive.item() == pytest.approx((cosines[1] + cosines[3]) / 2, abs=1e-5)
    assert negative.item() == pytest.approx((cosines[0] + cosines[2]) / 2, abs=1e-5)


def test_with_dropout_a_row_is_encoded_as_often_as_it_is_in_a_batch_and_without_it_once(base):
    texts = [FIRST[1]] * 4 + [FIRST[2]] * 2  # three pairs of a row with itself
    labels = ["a"] * 4 + ["b"] * 2
    encoded = []
    for dropout in (True, False):
        method = methods.load("setfit")(base, {"dropout": dropout}, ("a", "b"))
        encode = method.encode
        method.encode = lambda sentences, encode=encode: encoded.append(len(sentences)) or encode(sentences)
        loss = method(texts, labels).item()
        assert (loss > 1e-4) == dropout, "two dropout masks give two vectors"
    assert encoded == [6, 2]


def test_encoding_a_text_once_gives_the_same_gradient_without_dropout(base):
    method = methods.load("setfit")(base, {"dropout": False}, ("a", "b", "c"))
    texts, labels = [*TEXTS, TEXTS[0], TEXTS[4]], [*LABELS, "a", "c"]

    def gradients(loss):
        method.zero_grad()
        loss.backward()
        return [weight.grad.clone() for weight in method.parameters() if weight.grad is not None]

    once = gradients(method(texts, labels))
    one, other = method.encode(texts)[::2], method.encode(texts)[1::2]
    same = torch.tensor([float(a == b) for a, b in zip(labels[::2], labels[1::2], strict=True)]).to(one.device)
    twice = gradients(((torch.cosine_similarity(one, other) - same) ** 2).mean())
    largest = max(gradient.abs().max() for gradient in twice)
    assert all(torch.allclose(a, b, atol=1e-4 * largest.item()) for a, b in zip(once, twice, strict=True))


def test_the_classes_of_rows_follow_from_the_training_rows_under_the_encoder_as_it_is(base):
    method = methods.load("setfit")(base, {}, ("a", "b", "c"))
    with pytest.raises(ValueError, match="no rows to fit"):
        finish(method.predicted((TEXTS,)))
    method.training_rows = Corpus("mine.csv", LABELLED_TEXTS, (tuple(TEXTS), tuple(LABELS)))
    before = method.classification()
    assert finish(method.predicted((TEXTS,))) == before.predicted(vectors_of(method, TEXTS))
    with torch.no_grad():
        for weight in method.base.model.encoder.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.3)
    after = method.classification()
    assert not torch.allclose(before.weight, after.weight)
    assert finish(method.predicted((TEXTS,))) == after.predicted(vectors_of(method, TEXTS))
    assert method.training, "as it was before"
