"""Test DeCLUTR as a whole: spans of documents by BERT and its head in plain loops, one token and one exponential."""

import pytest
import torch

from explorer.methods import declutr
from explorer.methods.declutr import Anchor
from tests.independent.bert import gelu, layers, linear, norm, pool
from tests.independent.formulas import mean, nt_xent
from tests.independent.models import FIRST, LENGTH, SECOND, assert_same

DOCUMENTS = [" ".join(sentences) for sentences in (FIRST, SECOND, [*SECOND[::-1], FIRST[1]])]
# the spans of each document, by its length in tokens; one is longer than a sentence in training may be
SPANS = [
    [Anchor((0, 7), ((3, 9), (0, 2))), Anchor((14, 28), ((10, 15), (20, 24)))],
    [Anchor((2, 8), ((1, 5), (8, 12))), Anchor((13, 20), ((12, 18), (9, 13)))],
    [Anchor((1, 4), ((0, 1), (4, 9))), Anchor((9, 19), ((11, 14), (8, 20)))],
]


def masked(tokens):
    """Every third token is to be predicted: of these the first is masked, the second stays, and so on."""
    chosen = [place for place in range(len(tokens)) if place % 3 == 1 and place < len(tokens) - 1]
    return [4 if place in chosen[::2] else token for place, token in enumerate(tokens)], chosen


class Masker:
    """The same for padded sentences."""

    def __call__(self, ids, mask):
        shown, chosen = ids.clone(), torch.zeros_like(mask)
        for row, real in enumerate(mask.sum(1).tolist()):
            tokens, places = masked(ids[row, :real].tolist())
            shown[row, :real] = torch.tensor(tokens)
            chosen[row, places] = True
        return shown, chosen


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_loss_is_of_masked_anchors_whole_positives_and_the_words_that_were_masked(shallow, monkeypatch, pooling):
    settings = {"anchors": 2, "positives": 2, "temperature": 0.3, "pooling": pooling}
    method = shallow.method("declutr", **settings)
    spans = iter(SPANS)
    monkeypatch.setattr(declutr, "anchors_of", lambda *_: next(spans))
    method.masker = Masker()

    def tokens(document, span):
        ids = shallow.tokenizer(document, add_special_tokens=False)["input_ids"]
        assert span[1] <= len(ids), "the premise: it lies in the document"
        return [2, *ids[span[0] : span[1]][: LENGTH - 2], 3]

    def by_hand(weights):
        one, other, words = [], [], []
        head = {name.removeprefix("masked.model.cls.predictions."): weight for name, weight in weights.items()}
        for document, found in zip(DOCUMENTS, SPANS, strict=True):
            for anchor in found:
                ids = tokens(document, anchor.span)
                shown, chosen = masked(ids)
                states = layers(weights, shown)[-1]
                one.append(pool(states, pooling))
                other.append(
                    mean([pool(layers(weights, tokens(document, span))[-1], pooling) for span in anchor.positives])
                )
                for place in chosen:
                    inner = norm(head, "transform.LayerNorm", gelu(linear(head, "transform.dense", states[place])))
                    logits = weights["base.model.embeddings.word_embeddings.weight"] @ inner + head["bias"]
                    words.append(-torch.log(logits[ids[place]].exp() / logits.exp().sum()))
        return nt_xent(one, other, 0.3) + mean(words)

    assert_same(method, (DOCUMENTS,), by_hand)
