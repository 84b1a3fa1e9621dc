"""The kind of retrieval sets: queries with judged documents, which are searched exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer.data import sources
from explorer.data.retrieval_sets import RetrievalSet
from explorer.encoding.read.prompts import NO_PROMPTS, RolePrompts
from explorer.encoding.read.windows import Windows
from explorer.encoding.read.windows import windows as windows_of
from explorer.evaluating.kinds import JudgedSet
from explorer.measuring.neighbours import rankings
from explorer.measuring.neighbours.rankings import MAP, MEASURES, MRR, NDCG, RECALLS
from explorer.measuring.neighbours.vector_index import IndexSetting
from explorer.measuring.scores import correlation, in_use
from explorer.measuring.scores.judge import DETAILS, Floats, Judge
from explorer.measuring.scores.measure import Settings
from explorer.progress import Work, finish

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder


class RankingJudge(JudgedSet[RetrievalSet]):
    """A retrieval set: the mean over queries of a measure of their first ten documents, by an exact search.

    The measure is nDCG@10, of held-out rows MRR@10. An item is the measure of a query, from 0 to 1.
    """

    data = RetrievalSet
    in_words = "queries with passages"
    has_protocol = True
    place = 2
    shipped = sources.RETRIEVAL_SETS
    explained: ClassVar = {
        NDCG: "relevant passages count more the higher they are ranked, up to rank 10, × 100.",
        MRR: "the mean of 1 / rank of the first relevant passage, 0 beyond rank 10, × 100.",
        **{name: f"the share of relevant passages among the first {k}, × 100." for name, k in RECALLS.items()},
        MAP: "the mean precision at the ranks of the relevant passages, up to rank 100, × 100.",
    }

    def __init__(
        self,
        given: RetrievalSet,
        measure: str = "",
        prompts: RolePrompts = NO_PROMPTS,
        windows: Windows | None = None,
    ) -> None:
        """Judge by a set; its documents may be in windows, the best of which counts."""
        super().__init__(given)
        self._main = measure or (MRR if given.split in sources.OWN_ROWS else NDCG)
        self.prompts, self.prompted = prompts, bool(prompts.query or prompts.document)
        self.in_windows = windows.cut if windows else 0
        self._windows = windows or Windows(given.documents, np.arange(len(given.documents)))

    @classmethod
    def read(cls, source: str, online: bool) -> RetrievalSet | None:
        """Read a set by its name, a folder, or a file of queries and passages."""
        return sources.retrieval_set(source, online)

    @cached_property
    def measures(self) -> Sequence[str]:
        """The main one, then the others."""
        return self._main, *(one for one in MEASURES if one != self._main)

    def reads(self, encoder: Encoder) -> Encoder:
        """A prompt that is chosen is one of queries."""
        return encoder.for_search

    def with_prompts(self, encoder: Encoder, prompts: RolePrompts) -> Judge:
        """The base is judged as it is used, with the prompts that it declares."""
        judge = self._ranking(encoder, prompts)
        if prompts != encoder.role_prompts:
            judge.before = self._ranking(encoder, encoder.role_prompts)
        return judge

    def with_settings(self, encoder: Encoder, settings: Settings) -> Work[Judge]:
        """With windows of long passages, if the settings say so."""
        prompts = encoder.role_prompts
        if not settings.windows:
            return self.with_prompts(encoder, prompts)
        check_prompts(prompts, encoder, encoder.limit(settings.max_length))
        about = self.given.documents, settings.max_length, prompts.document
        return self._ranking(encoder, prompts, (yield from windows_of(encoder, *about)))

    def _ranking(self, encoder: Encoder, prompts: RolePrompts, windows: Windows | None = None) -> RankingJudge:
        check_prompts(prompts, encoder, encoder.limit(None))
        return RankingJudge(self.given, self.measure, prompts, windows)

    @cached_property
    def _encoded(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The documents, or their windows, and the queries, after their prompts."""
        return self.prompts.before_documents(self._windows.texts), self.prompts.before_queries(self.given.queries)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The distinct documents and queries, after their prompts."""
        documents, queries = self._encoded
        return tuple(dict.fromkeys((*documents, *queries)))

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """Where the documents and the queries are among the texts."""
        place = {text: at for at, text in enumerate(self.texts)}
        return [np.array([place[text] for text in some]) for some in self._encoded]

    def items(self, vectors: Tensor) -> Floats:
        """The measure of each query; NaN if all documents have one vector, such as [CLS] of layer 0."""
        judgements = self.given.judgements
        return finish(rankings.of_queries(*_unit(vectors, self.places), judgements, self.measure, self._windows))

    def by_measure(self, vectors: Tensor) -> dict[str, Floats]:
        """Every measure of each query, and the details of its ranking.

        They are the rank of its first relevant document among the first hundred, the cosine to the nearest relevant
        one, and the place of the first document.
        """
        documents, queries = _unit(vectors, self.places)
        if not rankings.rankable(documents, queries):
            return dict.fromkeys((*self.measures, *DETAILS), np.full(len(self), np.nan))
        judgements = self.given.judgements
        searched = rankings.passage_search(documents, queries, rankings.DEPTH, IndexSetting(), self._windows)
        places = finish(searched).places
        found = dict(zip(MEASURES, rankings.measures(places, judgements), strict=True))
        nearest = [
            float((documents[np.concatenate([*map(self._windows.of, judged)])].astype(np.float64) @ query).max())
            for judged, query in zip(judgements, queries, strict=True)
        ]
        hits = rankings.grades(places, judgements) > 0
        ranks = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1.0, np.nan)
        details = dict(zip(DETAILS, (ranks, np.array(nearest), places[:, 0].astype(np.float64)), strict=True))
        return {name: found[name] for name in self.measures} | details

    def in_use(self, use: str, sides: Mapping[str, Floats]) -> dict[str, Floats]:
        """1 for each test query with a relevant document among the first ten, else 0; the same for the first document.

        With several relevant documents nDCG does not tell which is first, so there it is left out.
        """
        known = self.measure == MRR or all(len(judged) == 1 for judged in self.given.judgements)
        found: dict[str, Floats] = {}
        for side, items in sides.items() if use == in_use.TEST else ():
            if known:
                found[in_use.name(use, in_use.FIRST, side)] = (items == 1).astype(np.float64)
            found[in_use.name(use, in_use.TEN, side)] = (items > 0).astype(np.float64)
        return found

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of each query and the documents relevant to it, of their best windows."""
        documents, queries = _unit(vectors, self.places)
        related = ((query, place) for query, judged in enumerate(self.given.judgements) for place in judged)
        windows = [(query, self._windows.of(place)) for query, place in related]
        asked, answers = (
            np.concatenate(some)
            for some in zip(*((np.full(len(found), query), found) for query, found in windows), strict=True)
        )
        cosines: Floats = (queries[asked] * documents[answers]).sum(axis=1, dtype=np.float64)
        ends = np.cumsum([len(found) for _, found in windows])
        return np.maximum.reduceat(cosines, ends - [len(found) for _, found in windows])


def _unit(vectors: Tensor, places: Sequence[NDArray[np.intp]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The vectors at the places of documents and of queries, with length 1."""
    every, (documents, queries) = correlation.unit(vectors.float().numpy()), places
    return every[documents], every[queries]


def check_prompts(prompts: RolePrompts, encoder: Encoder, limit: int) -> None:
    """Refuse a prompt that leaves no room for a text."""
    for role, prompt in (("query", prompts.query), ("document", prompts.document)):
        if prompt:
            encoder.check_room(role, prompt, limit)
