"""Show the hard negatives of pairs before a training uses them: rank, cosines, and what a guide says of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from explorer import escaping, methods
from explorer.data.text_sets import Corpus
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice
from explorer.progress import Work
from explorer.training.loop import mining, preparing
from explorer.training.recipe import Recipe

if TYPE_CHECKING:
    from explorer.training.loop.mining import Mined

DIGITS = 6  # of a cosine in a file: those of float32
NO_STAGE = (
    "Hard negatives of a run with stages are mined with the model of the stage before, which is not trained yet. Take "
    "out the stages to see those of the base."
)
NOT_MINED = "No hard negatives are mined. Set hard_negatives to 1 or more to see them, or train without."


def wanted(recipe: Recipe) -> methods.Mining | None:
    """How the last training of a recipe mines hard negatives; None if it does not."""
    kind = recipe.kind
    return kind.mining(recipe.method_values()) if issubclass(kind, methods.MinedNegatives) else None


def before_training(recipe: Recipe) -> Work[Mined]:
    """The hard negatives that a training will use, of the first seed, and what the guide says of each.

    With cross-fitted rows they are those of the last training, on all rows; each fold mines among its own.
    """
    mined = wanted(recipe)
    if mined is None:
        raise BadChoice(NOT_MINED)
    if recipe.stages:
        raise BadChoice(NO_STAGE)
    of_one = replace(recipe, elsewhere=(), seeds=recipe.seeds[:1])
    prepared = yield from preparing.prepare(of_one, recipe.device, mine=False)
    rows = prepared.rows[recipe.seeds[0]]
    return (yield from mining.mined(rows, prepared.encoder, mined, guided=True))


def of_rows(rows: Corpus, model: model_names.Found, mined: methods.Mining, device: str) -> Work[Mined]:
    """The hard negatives of all rows of a text, whatever a training would hold out."""
    mining.check_dropped(mined.dropped, rows.name, rows.sentences)
    encoder = loading.load(model, precision="float32", device=device)
    return (yield from mining.mined(rows, encoder, mined, model.name, guided=True))


def summary(mined: Mined) -> str:
    """How many the guide finds closer than the positive, the median rank, and how many were drawn at random."""
    count, is_mined = mined.closer.size, mined.is_mined
    closer, guide = int(mined.closer.sum()), mined.mining.guide
    by = f"by the guide ({guide})" + f", less a margin of {mined.mining.guide_margin:g}" * bool(
        mined.mining.guide_margin
    )
    number = f"{closer:,} of {count:,}" if closer else f"None of {count:,}"
    be = "is" if closer in (0, 1) else "are"
    perhaps = ": perhaps right answers" * bool(closer)
    text = f"{number} hard negatives {be} closer to the anchor than the positive {by}{perhaps}."
    if is_mined.any():
        text += f" The median rank is {np.median(mined.ranks[is_mined]):g}."
    if drawn := int((~is_mined).sum()):
        text += f" {drawn:,} {'was' if drawn == 1 else 'were'} drawn at random, where no more were far enough."
    return text


def is_second_opinion(mined: Mined) -> bool:
    """Whether the guide is another encoder than the one that mined, whose margin has left out what is closer."""
    return mined.mining.guide != methods.THE_BASE


def as_rows(mined: Mined, places: Iterable[int] | None = None) -> list[dict[str, object]]:
    """A line for each negative, or for those at some places: triplet, rank, cosines, what the guide says, and its id.

    The places count the negatives of each row, row by row.
    """
    every = range(mined.closer.size) if places is None else places
    return [_line(mined, *divmod(place, mined.mining.negatives)) for place in every]


def _line(mined: Mined, row: int, place: int) -> dict[str, object]:
    anchor, positive, negative = mined.corpus.texts[0][row], mined.corpus.texts[1][row], mined.columns[place][row]
    by_guide, of_guide = mined.by_guide
    cosines = {
        "cosine": mined.cosines[row, place],
        "guide": by_guide[row, place],
        "cosine_of_positive": mined.of_positives[row],
        "guide_of_positive": of_guide[row],
    }
    return {
        "anchor": anchor,
        "positive": positive,
        "negative": negative,
        "rank": int(mined.ranks[row, place]) or None,
        **{name: round(float(cosine), DIGITS) for name, cosine in cosines.items()},
        "is_closer": bool(mined.closer[row, place]),
        "id": methods.written_id(methods.negative_id(anchor, negative)),
    }


def dropped_texts(mined: Mined) -> list[tuple[str, str]]:
    """The anchor and the text of each hard negative that is dropped by its id."""
    anchors = {methods.text_id(text): text for text in mined.corpus.texts[0]}
    passages = {methods.text_id(text): text for text in mined.passages}
    ids = sorted(mined.mining.dropped)
    # rows that are held out have texts too
    return [(anchors[first], passages[second]) for first, second in ids if first in anchors and second in passages]


def as_csv(mined: Mined) -> str:
    """All lines as comma-separated text, which `train` reads as triplets; an empty rank is of one drawn at random."""
    rows = as_rows(mined)
    return escaping.csv_text([[*rows[0]], *(row.values() for row in rows)])


def suspicious_first(mined: Mined) -> list[int]:
    """The places of the lines of `as_rows`: first the negatives that the guide finds closest, less their positives."""
    negatives, positives = mined.by_guide
    order: list[int] = np.argsort(-(negatives - positives[:, None]).ravel(), kind="stable").tolist()
    return order
