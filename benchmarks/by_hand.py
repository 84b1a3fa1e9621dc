"""Prepare a training whose steps are timed: rows, and no evaluation that a step would wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.data.text_sets import Corpus, GradedPairs
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.training.loop.preparing import Prepared
    from explorer.training.recipe import Recipe


def prepared(
    recipe: Recipe, encoder: Encoder, rows: Corpus, dev: GradedPairs, seed: int, found: Found | None = None
) -> Prepared:
    """What a learner needs to make steps."""
    from explorer.evaluating.kinds.scored_pairs import PairJudge
    from explorer.training.loop.preparing import Prepared
    from explorer.training.loop.training_texts import Texts

    return Prepared(
        recipe=recipe,
        found=found,  # type: ignore[arg-type]  # a step does not use the file of the model
        encoder=encoder,
        corpus=rows,
        rows={seed: rows},
        texts=Texts(rows, dev, ()),
        dev=PairJudge(dev),
        tests=(),
        reports=(),
    )
