"""Drop training rows of scored pairs that share a sentence with the evaluation sets of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from explorer.data.corpora import Corpus
from explorer.data.row_kinds import Score
from explorer.errors import BadScores, TooFewRows

_WAYS_OUT = (
    "Choose other dev or test pairs, or use more training rows. For an uploaded set, train on its train part, with "
    "its dev part and its test half."
)


def without(corpus: Corpus, evaluated: Iterable[Sequence[str]], batch: int) -> tuple[Corpus, str]:
    """Keep the rows that share no sentence with the texts of these sets; an error if a batch cannot be filled.

    Only scored pairs are filtered, since their scores are the target of the evaluation.
    """
    if not isinstance(corpus.eats.answer, Score):
        return corpus, ""
    sentences = set().union(*evaluated)
    rows = tuple(zip(*corpus.columns, strict=True))
    left = tuple(row for row in rows if not sentences & set(row[:2]))
    dropped = len(rows) - len(left)
    shared = f"rows of {corpus.name} share a sentence with the dev or test pairs"
    if not left:
        raise TooFewRows(f"All {dropped:,} {shared}, so no training rows are left. {_WAYS_OUT}")
    told = f"{dropped:,} of {len(rows):,} {shared}"
    if dropped and len(left) < batch:
        fewer = f"Set batch_size to {len(left)} or less. Or: " if len(left) > 1 else ""
        raise TooFewRows(f"{told}; {len(left):,} are left, but a batch takes {batch}. {fewer}{_WAYS_OUT}")
    if len({row[2] for row in left}) == 1:
        more = f" once {told}" if dropped else ""
        raise BadScores(
            f"Every score in {corpus.name} is the same{more}, so there is no order to train. Choose text whose scores "
            f"differ. {_WAYS_OUT}"
        )
    if not dropped:
        return corpus, ""
    columns = tuple(zip(*left, strict=True))
    return replace(corpus, columns=columns), f"held out: {told} and are not trained on; {len(left):,} rows are left"
