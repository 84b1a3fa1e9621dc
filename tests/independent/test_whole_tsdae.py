"""Test TSDAE as a whole: the loss of a batch by an encoder and a decoder in plain loops."""

import pytest
import torch

from tests.independent.bert import decoded, gelu, linear, norm
from tests.independent.models import FIRST, assert_same

SEED = 3
SHARED, OWN, HEAD = "base.model.", "decoder.bert.", "decoder.cls.predictions."


def corrupted(sentences, deletion):
    """The sentences as the noise leaves them: one number per word, in order; at least one word stays."""
    drawn = iter(torch.rand(1000, generator=torch.Generator().manual_seed(SEED)).tolist())
    found = []
    for sentence in sentences:
        numbers = {place: next(drawn) for place in range(len(sentence.split()))}
        kept = [place for place, number in numbers.items() if number > deletion] or [max(numbers, key=numbers.get)]
        found.append(" ".join(sentence.split()[place] for place in kept))
    return found


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "apart"])
@pytest.mark.parametrize("deletion", [0.6, 0.95])
def test_the_loss_of_tsdae_is_that_of_every_next_token(shallow, pooling, tied, deletion):
    method = shallow.method("tsdae", pooling=pooling, tied=tied, deletion=deletion)
    left = corrupted(FIRST, deletion)
    assert left != FIRST

    def by_hand(weights):
        memories = shallow.vectors(weights, left, pooling)
        shared = SHARED if tied else OWN
        words = weights[f"{shared}embeddings.word_embeddings.weight"]
        terms = []
        for sentence, memory in zip(FIRST, memories, strict=True):
            ids = shallow.ids(sentence)
            states = decoded(weights, ids[:-1], memory, shared=shared, own=OWN)
            for state, following in zip(states, ids[1:], strict=True):
                inner = gelu(linear(weights, f"{HEAD}transform.dense", state))
                scores = words @ norm(weights, f"{HEAD}transform.LayerNorm", inner) + weights[f"{HEAD}bias"]
                terms.append(torch.logsumexp(scores, 0) - scores[following])
        return torch.stack(terms).mean()

    torch.manual_seed(SEED)
    assert_same(method, (FIRST,), by_hand)
