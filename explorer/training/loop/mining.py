"""Mine hard negatives of pairs: second texts of other rows that are near an anchor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from explorer import methods
from explorer.data.text_sets import Corpus, digest_of
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder
from explorer.errors import BadChoice, TooFewRows
from explorer.measuring.neighbours import rankings, vector_index
from explorer.measuring.neighbours.rankings import Floats, Places, Vectors
from explorer.measuring.scores import correlation, item_store
from explorer.progress import Phase, Progress, Work
from explorer.training.loop import judging

Flags = NDArray[np.bool_]

AT_ONCE = 1024  # rows whose candidates are compared at once
VERSION = "1"  # a new one if stored vectors change their meaning
MOST_KEPT = 2**26  # bytes of vectors that are stored: of 20,000 pairs under an encoder of width 384


@dataclass(frozen=True, eq=False)
class Mined:
    """The hard negatives of each row of pairs, nearest first, with their cosines to the anchor."""

    corpus: Corpus
    mining: methods.Mining
    passages: tuple[str, ...]  # every second text once
    places: Places  # (row, negative) among the passages
    ranks: Places  # (row, negative) among all second texts, from the nearest to the anchor, 1; 0 for one at random
    cosines: Floats  # (row, negative)
    of_positives: Floats  # (row)
    named: str  # the encoder that mined
    # cosines under the guide, if it was asked: those of the negatives (row, negative), and of the positives (row)
    guided: tuple[Floats, Floats] | None = None

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """A column of texts for each negative."""
        return tuple(tuple(self.passages[place] for place in column) for column in self.places.T.tolist())

    @property
    def by_guide(self) -> tuple[Floats, Floats]:
        """The cosines under the guide of the negatives (row, negative) and of the positives (row)."""
        if self.guided is None:
            raise ValueError("the guide was not asked")
        return self.guided

    @cached_property
    def closer(self) -> Flags:
        """Whether the guide finds each negative (row, negative) too close to the anchor, and so perhaps a right answer.

        As in GIST: its cosine is higher than that of the positive less a margin.
        """
        negatives, positives = self.by_guide
        return negatives > (positives - self.mining.guide_margin)[:, None]

    @property
    def is_mined(self) -> Flags:
        """Whether each negative (row, negative) was mined, and not drawn at random."""
        return self.ranks > 0

    @property
    def summary(self) -> str:
        """How many were mined, and how many drawn at random, with mean cosines; for the log of a run."""
        mined = int(self.is_mined.sum())
        text = f"hard negatives: {mined:,} mined with {self.named}"
        if self.mining.drop_closer:
            text += f", without what the guide ({self.mining.guide}) finds closer than the positive"
        if self.mining.dropped:
            text += f", without the {len(self.mining.dropped):,} dropped"
        if drawn := self.is_mined.size - mined:
            text += f", {drawn:,} drawn at random where no more were far enough"
        if mined:
            means = self.cosines[self.is_mined].mean(), self.of_positives.mean()
            text += "; mean cosine to the anchor {:.2f}, of positives {:.2f}".format(*means)
        return text


@dataclass(frozen=True, eq=False)
class _Sides:
    """Unit vectors of first texts and of second texts, each once, under one encoder."""

    anchors: Vectors  # (anchor, width)
    passages: Vectors  # (passage, width)

    def cosines(self, anchor: int, places: Places | int | slice) -> Vectors:
        """The cosine of an anchor to some passages."""
        found: Vectors = self.passages[places] @ self.anchors[anchor]
        return found


def mined(
    corpus: Corpus, encoder: Encoder, mining: methods.Mining, named: str = "the base", *, guided: bool = False
) -> Work[Mined]:
    """Hard negatives of pairs, found near each anchor with an encoder as it is used.

    Candidates are the second texts of all rows. Texts that share a row with the anchor or with its positive are
    excluded. The result depends on the rows and the encoders alone. `named` is what the counts call the encoder; the
    guide is asked if it drops some, or if `guided`.
    """
    anchors, positives = corpus.texts[:2]
    passages, queries = tuple(dict.fromkeys(positives)), tuple(dict.fromkeys(anchors))
    if len(passages) <= mining.negatives:
        raise TooFewRows(
            f"{corpus.name} has {len(passages)} different second texts, too few for {mining.negatives} hard negatives "
            "per row. Use more rows, or set hard_negatives to 0."
        )
    base = guide = yield from _sides(encoder, queries, passages)
    if asked := guided or mining.drop_closer:
        guide = yield from _by_guide(mining.guide, encoder, base, (queries, passages))
    results = yield from rankings.batch_search(base.passages, base.anchors, mining.last, vector_index.IndexSetting())
    miner = _Miner(corpus, mining, queries, passages, base, guide, results.places)
    shape = len(corpus), mining.negatives
    places, ranks = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    cosines, of_guide = np.zeros((2, *shape))
    right, right_of_guide = np.zeros((2, len(corpus)))
    for number, (anchor, positive) in enumerate(zip(anchors, positives, strict=True)):
        places[number], ranks[number] = miner.negatives(anchor, positive)
        query, own = miner.anchors[anchor], miner.passages[positive]
        cosines[number], right[number] = base.cosines(query, places[number]), base.cosines(query, own)
        if asked:
            of_guide[number], right_of_guide[number] = guide.cosines(query, places[number]), guide.cosines(query, own)
        if number % AT_ONCE == 0:
            yield Progress(Phase.MINING, number, len(corpus))
    known = (of_guide, right_of_guide) if asked else None
    return Mined(corpus, mining, passages, places, ranks, cosines, right, named, known)


def _by_guide(name: str, encoder: Encoder, base: _Sides, texts: tuple[tuple[str, ...], ...]) -> Work[_Sides]:
    """Both sides under the guide: the encoder that mines, or another one on this disk."""
    if name == methods.THE_BASE:
        return base
    yield Progress(Phase.LOADING, 0, 0, about=name)
    guide = loading.load(model_names.find(name), precision="float32", device=encoder.device)
    return (yield from _sides(guide, *texts))


def _sides(encoder: Encoder, queries: tuple[str, ...], passages: tuple[str, ...]) -> Work[_Sides]:
    """Both sides under the model default of an encoder, after its prompts; what was encoded before is stored."""
    prompts = encoder.role_prompts
    prompted = (*prompts.before_queries(queries), *prompts.before_documents(passages))
    key = vectors_key(encoder.digest, prompted, encoder.device, encoder.max_length) if encoder.digest else ""
    found = item_store.kept_items(key) if key else None
    if found is None:
        (encoded,) = yield from judging.under_heads(encoder, prompted, (encoder.default_head,), Phase.MINING)
        found = encoded.numpy()
        if key and found.nbytes <= MOST_KEPT:
            item_store.keep_items(key, found)
    vectors = correlation.unit(found)
    return _Sides(vectors[: len(queries)], vectors[len(queries) :])


def vectors_key(model: str, texts: Sequence[str], device: str, max_length: int) -> str:
    """The key of the vectors of texts under the model default of an encoder, in float32."""
    return digest_of(("mined", VERSION, model, device, str(max_length), *texts))


class _Miner:
    """Choose the hard negatives of one row after the other."""

    def __init__(
        self,
        corpus: Corpus,
        mining: methods.Mining,
        anchors: tuple[str, ...],
        passages: tuple[str, ...],
        base: _Sides,
        guide: _Sides,
        nearest: Places,
    ) -> None:
        self.anchors, self.passages = (
            {text: place for place, text in enumerate(texts)} for texts in (anchors, passages)
        )
        self._texts, self._mining, self._base, self._guide, self._nearest = passages, mining, base, guide, nearest
        # by text, all that share a row with it, and itself
        self._together: defaultdict[str, set[str]] = defaultdict(set)
        for row in zip(*corpus.texts, strict=True):
            for text in row:
                self._together[text].update(row)
        self._dropped = dict(_dropped(mining.dropped, anchors, passages))
        self._random = np.random.default_rng(0)

    def negatives(self, anchor: str, positive: str) -> tuple[list[int], list[int]]:
        """The places of the negatives of a row, and their ranks; an error if so many are not left."""
        mining, query = self._mining, self.anchors[anchor]
        right = self._base.cosines(query, self.passages[positive])
        most = right - mining.margin * abs(right)
        excluded = self._together[anchor] | self._together[positive] | self._dropped.get(anchor, set())
        window = self._nearest[query, mining.first - 1 :]
        far_enough = (self._base.cosines(query, window) <= most) & self._left_by_guide(query, positive, window)
        near = [
            (int(place), rank)
            for rank, (place, is_far) in enumerate(zip(window, far_enough, strict=True), start=mining.first)
            if is_far and self._texts[place] not in excluded
        ][: mining.negatives]
        places, ranks = [place for place, _ in near], [rank for _, rank in near]
        if (lacking := mining.negatives - len(places)) > 0:
            excluded = excluded | {self._texts[place] for place in places}
            places += self._at_random(query, positive, excluded, lacking)
            ranks += [0] * (len(places) - len(ranks))
        if len(places) < mining.negatives:
            dropped = ", besides those that are dropped," * (anchor in self._dropped)
            raise TooFewRows(
                f"The row with '{anchor[:60]}' shares texts with so many rows{dropped} that {mining.negatives} hard "
                "negatives are not left for it. Set hard_negatives to a lower number."
            )
        return places, ranks

    def _left_by_guide(self, query: int, positive: str, places: Places | slice) -> Flags | bool:
        """Which passages the guide leaves as candidates of a row; all if it drops none."""
        if not self._mining.drop_closer:
            return True
        right = self._guide.cosines(query, self.passages[positive])
        left: Flags = self._guide.cosines(query, places) <= right - self._mining.guide_margin
        return left

    def _at_random(self, query: int, positive: str, excluded: set[str], count: int) -> list[int]:
        """Some passages that are not excluded, first those that the guide leaves; fewer where so many are not left."""
        left = np.broadcast_to(self._left_by_guide(query, positive, slice(None)), len(self._texts))
        found: list[int] = []
        others: list[int] = []
        for place in self._random.permutation(len(self._texts)).tolist():
            if len(found) == count:
                break
            if self._texts[place] not in excluded:
                (found if left[place] else others).append(place)
        return [*found, *others][:count]


def _dropped(
    dropped: Iterable[tuple[str, str]], anchors: tuple[str, ...], passages: tuple[str, ...]
) -> Iterator[tuple[str, set[str]]]:
    """Each anchor of which texts are dropped, with these texts."""
    by_anchor: defaultdict[str, set[str]] = defaultdict(set)
    for anchor, passage in dropped:
        by_anchor[anchor].add(passage)
    ids = {methods.text_id(text): text for text in passages} if by_anchor else {}
    for anchor in anchors if by_anchor else ():
        own = by_anchor.get(methods.text_id(anchor), set())
        if texts := {ids[one] for one in own if one in ids}:
            yield anchor, texts


def check_dropped(dropped: frozenset[tuple[str, str]], name: str, texts: Iterable[str]) -> None:
    """Refuse ids of hard negatives that are of none of these texts: the file has changed since."""
    ids = set(map(methods.text_id, texts)) if dropped else set()
    unknown = sorted(one for one in dropped if not ids.issuperset(one))
    if unknown:
        more = f" and {len(unknown) - 1:,} more" * (len(unknown) > 1)
        raise BadChoice(
            f"dropped cannot name '{methods.written_id(unknown[0])}'{more}: no texts of {name} have this id. The file "
            "has changed since they were dropped, or the id is mistyped: restore the file, or remove the id from "
            "dropped."
        )
