"""Mine hard negatives from the text before training: what the base finds near each anchor, except its positives."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from explorer.data.text_sets import Columns, Corpus
from explorer.encoding.read.encoder import Encoder
from explorer.errors import TooFewRows
from explorer.measuring.neighbours.batch_search import batch_search
from explorer.measuring.neighbours.vector_index import IndexSetting
from explorer.measuring.scores.correlation import unit
from explorer.methods import Mining
from explorer.progress import Phase, Progress, Work
from explorer.training.loop.judging import under_heads

AT_ONCE = 1024  # rows whose candidates are compared at once


@dataclass(frozen=True)
class Mined:
    """A column for each hard negative, and how many of them were found."""

    columns: Columns
    found: int  # negatives in the window that the margin let through
    drawn: int  # negatives drawn at random where there were too few
    nearer: float  # mean cosine of a found negative to its anchor, and of the positives
    positive: float

    @property
    def summary(self) -> str:
        """The counts in words."""
        drawn = f", {self.drawn:,} drawn at random where no more were far enough" if self.drawn else ""
        means = f"mean cosine to the anchor {self.nearer:.2f}, of positives {self.positive:.2f}"
        return f"hard negatives: {self.found:,} mined with the base{drawn}" + (f"; {means}" if self.found else "")


def mined(corpus: Corpus, encoder: Encoder, mining: Mining) -> Work[Mined]:
    """Hard negatives of pairs, found with an encoder as it is used.

    Candidates are the second texts of all rows. Texts that share a row with the anchor or with its positive are
    excluded. The result depends on the rows and the encoder alone.
    """
    anchors, positives = corpus.texts[:2]
    passages = tuple(dict.fromkeys(positives))
    if len(passages) <= mining.negatives:
        raise TooFewRows(
            f"{corpus.name} has {len(passages)} different second texts, too few for {mining.negatives} hard negatives "
            "per row. Use more rows, or set hard_negatives to 0."
        )
    queries = tuple(dict.fromkeys(anchors))
    prompts = encoder.role_prompts.pooled_ones()
    prompted = (*(prompts.query + text for text in queries), *(prompts.document + text for text in passages))
    (found,) = yield from under_heads(encoder, prompted, (encoder.default_head,), Phase.MINING)
    vectors = unit(found.numpy())
    asked, known = vectors[: len(queries)], vectors[len(queries) :]
    results = yield from batch_search(known, asked, mining.last, IndexSetting())
    query, passage = ({text: place for place, text in enumerate(texts)} for texts in (queries, passages))
    together = _together(corpus)
    random = np.random.default_rng(0)
    chosen: list[list[str]] = []
    cosines: list[float] = []
    right = np.empty(len(corpus))
    drawn = 0
    for row, (anchor, positive) in enumerate(zip(anchors, positives, strict=True)):
        right[row] = asked[query[anchor]] @ known[passage[positive]]
        most = right[row] - mining.margin * abs(right[row])
        excluded = together[anchor] | together[positive]
        window = results.places[query[anchor], mining.first - 1 :]
        near = [
            (int(place), cosine)
            for place, cosine in zip(window, known[window] @ asked[query[anchor]], strict=True)
            if cosine <= most and passages[place] not in excluded
        ][: mining.negatives]
        cosines += [float(cosine) for _, cosine in near]
        own = [passages[place] for place, _ in near]
        for text in _at_random(passages, excluded | set(own), random, mining.negatives - len(own)):
            drawn += 1
            own.append(text)
        if len(own) < mining.negatives:
            raise TooFewRows(
                f"The row with '{anchor[:60]}' shares texts with so many rows that {mining.negatives} hard negatives "
                "are not left for it. Set hard_negatives to a lower number."
            )
        chosen.append(own)
        if row % AT_ONCE == 0:
            yield Progress(Phase.MINING, row, len(corpus))
    nearer = float(np.mean(cosines)) if cosines else 0.0
    return Mined(tuple(zip(*chosen, strict=True)), len(cosines), drawn, nearer, float(right.mean()))


def _together(corpus: Corpus) -> dict[str, set[str]]:
    """For each text, all texts that share a row with it, and itself."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in zip(*corpus.texts, strict=True):
        for text in row:
            found[text].update(row)
    return found


def _at_random(passages: tuple[str, ...], excluded: set[str], random: np.random.Generator, count: int) -> list[str]:
    """Some passages that are not excluded; fewer where so many are not left."""
    found: dict[str, None] = {}
    for place in random.permutation(len(passages)) if count > 0 else ():
        if len(found) == count:
            break
        if passages[place] not in excluded:
            found[passages[place]] = None
    return list(found)
