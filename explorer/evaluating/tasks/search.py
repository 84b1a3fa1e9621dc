"""Measure semantic search: the rank at which an encoder finds a duplicate of a question, the time and the memory.

The protocol is that of the layer-attention pooling paper (Oh et al. 2022, Table 3); see `question_pairs`. The 10
documents with the highest cosine are retrieved. A query scores the reciprocal rank of its first answer among them, 0 if
there is none; MRR@10 is the mean. A document with the text of the query that is not labelled as its duplicate is a
miss.

The columns of the table are "MRR@10" (× 100; higher is better), "ms per query" (milliseconds of a search of all queries
at once, divided by their number) and "index MB" (millions of bytes); of the last two lower is better.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.graded import question_pairs
from explorer.data.graded.question_pairs import QuestionPairs
from explorer.encoding.read.head_facts import RolePrompts
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.encoded import checked_titles
from explorer.evaluating.measured import COSTS, Items, Measured, Setting
from explorer.evaluating.results.scored_task import SEARCH, Options
from explorer.evaluating.tasks import Subject, Suite, Task
from explorer.evaluating.tasks.retrieval import of_encoder, ranked
from explorer.measuring.neighbours.ranking_judge import MRR, FoundDocuments, reciprocal_ranks
from explorer.measuring.neighbours.vector_index import FLAT, PER_LIST, IndexSetting
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

MEASURES = (MRR, *COSTS)
TOP = 10
LENGTH = 64  # tokens of a question
MEGABYTE = 1e6


class QuestionSearch(Task[QuestionPairs]):
    """Duplicate questions: one of a pair is searched with the other."""

    kind = SEARCH
    suites = (Suite("search", (question_pairs.TASK,), 3),)
    decided_by = ("index",)

    @classmethod
    def load(cls, name: str, options: Options) -> QuestionSearch:
        """Load the pairs of questions."""
        return cls(name, question_pairs.load())

    @property
    def texts(self) -> Sequence[str]:
        """The distinct questions."""
        return self.data.collection.texts

    def length(self, subject: Subject) -> int:
        """The maximum length: that of a question, unless another is set."""
        return min(subject.settings.max_length or LENGTH, subject.encoder.max_length)

    def score(self, subject: Subject, options: Options) -> Work[Measured]:
        """Search under each layer & pooling."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        titles, length = self.titles(subject, options), self.length(subject)
        work = search(subject.encoder, self.data, titles=titles, index=options.index, max_length=length)
        return (yield from work)


def search(
    encoder: Encoder,
    questions: QuestionPairs,
    *,
    titles: Sequence[str] | None = None,
    index: str = FLAT,
    nlist: int = 1024,
    nprobe: int = 5,
    max_length: int = LENGTH,
) -> Work[Measured]:
    """Search with an encoder under some layers & poolings, by default the model default; one encoding serves all."""
    started = time.perf_counter()
    chosen = IndexSetting(index, nlist, nprobe)
    asked = checked_titles(encoder, titles or (MODEL_DEFAULT,))
    task = questions.collection
    used = chosen.adapted(len(task.documents))
    limit = min(max_length, encoder.max_length)
    table = np.full((len(asked), len(MEASURES), 1), np.nan)
    items: dict[str, Items] = {}
    threads = None

    def take(title: str, found: FoundDocuments) -> None:
        nonlocal threads
        values = reciprocal_ranks(found.places, task.judgements)
        costs = 1000 * found.seconds / len(values), found.index_bytes / MEGABYTE
        table[asked.index(title), :, 0] = 100 * values.mean(), *costs
        threads, items[title] = found.threads, Items(values, digest=task.digest)

    texts, own = (task.documents, task.queries), encoder.default_head.prompt
    prompts = RolePrompts(own, own)  # a question is found by its duplicate: both are sentences
    yield from ranked(encoder, *texts, titles=asked, k=TOP, index=used, max_length=limit, prompts=prompts, take=take)
    return Measured(
        split=questions.split,
        titles=asked,
        measures=MEASURES,
        table=table,
        setting=_setting(questions, chosen, used) | of_encoder(encoder, limit) | {"threads": threads},
        items=items.get(MODEL_DEFAULT),
        seconds=time.perf_counter() - started,
    )


def _setting(questions: QuestionPairs, chosen: IndexSetting, used: IndexSetting) -> dict[str, Setting]:
    """What decides the scores next to the encoder: the text, how questions are the same, and the index."""
    task = questions.collection
    setting: dict[str, Setting] = {
        "documents": len(task.documents),
        "queries": len(task),
        "queries without an answer (excluded)": task.report.unjudged,
        "question key": "id" if questions.ids else "text",
        "rows dropped": questions.dropped,
        "results per query": TOP,
        "index": used.kind,
    }
    if used.kind != FLAT:
        setting |= {"nlist": used.nlist, "nprobe": used.nprobe}
    if used.nlist != chosen.nlist:
        setting["adapted"] = (
            f"nlist is {used.nlist:,} instead of {chosen.nlist:,}: FAISS wants at least {PER_LIST} training vectors "
            f"per list, and there are {len(task.documents):,} documents"
        )
    return setting
