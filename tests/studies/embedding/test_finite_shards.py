"""Test that no shard is written with a vector that holds NaN, and that those before it stay."""

import json

import numpy as np
import pytest

from explorer.errors import NotWeights
from tests.spoiling import reweigh
from tests.studies.embedding.desk import LINES, ROWS, columns, furnish

TITLES = ("max of layer 2", "cls of layers 0 + 2")


@pytest.mark.parametrize("titles", [(), TITLES])
def test_no_shard_holds_a_number_that_is_not_finite(tmp_path, titles):
    other = furnish(tmp_path)
    vocabulary = json.loads((other.model / "tokenizer.json").read_text())["model"]["vocab"]
    assert ["stage" in line for line in LINES].index(True) == 2 * ROWS

    def spoil(weights):
        weights["embeddings.word_embeddings.weight"][vocabulary["stage"]] = float("nan")
        return weights

    reweigh(other.model, spoil)
    with pytest.raises(NotWeights, match="They come from its embedding layer, whose weights are damaged"):
        other.embed(titles=titles)
    for shard in other.shards():
        assert np.isfinite(np.concatenate([np.stack(column) for column in list(columns(shard).values())[1:]])).all()
    assert len(other.shards()) == 2
