"""Score every layer & pooling on a retrieval set, or on the search of duplicate questions.

Of a retrieval set, the 100 documents with the highest cosine are ranked by an exact search. Scores are means over
queries × 100. The best of all layers & poolings on some queries has a score on these that is too high, since it was
chosen for it: it is chosen on half of the queries, and compared with the default on the others.

The protocol of duplicate questions is that of the layer-attention pooling paper (Oh et al. 2022, Table 3); see
`question_pairs`. The 10 documents with the highest cosine are retrieved. A query scores the reciprocal rank of its
first answer among them, 0 if there is none; MRR@10 is the mean. A document with the text of the query that is not
labelled as its duplicate is a miss. The columns of the table are "MRR@10" (× 100; higher is better), "ms per query"
(milliseconds of a search of all queries at once, divided by their number) and "index MB" (millions of bytes); of the
last two lower is better.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data import retrieval_sets, sources
from explorer.data.graded import nano_beir, question_pairs
from explorer.data.tables.columns import plain
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.encoding.read.prompts import RolePrompts
from explorer.encoding.read.windows import Windows
from explorer.encoding.read.windows import windows as windows_of
from explorer.evaluating.encoded import Encoded, TaskCost, checked_titles, encoded, of_encoding, titles_of
from explorer.evaluating.kinds.queries import check_prompts
from explorer.evaluating.results import scored_task
from explorer.evaluating.tasks import Subject, Suite, Task
from explorer.measuring.neighbours import rankings, vector_index
from explorer.measuring.scores import bootstrap, correlation
from explorer.measuring.scores.verdict import CI
from explorer.measuring.sentences import cut_texts
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.sentences.cut_texts import CutTexts

LEAST = 10  # queries of an interval: that of a few that are all alike would have no width
SEARCH_MEASURES = (rankings.MRR, *scored_task.COSTS)
TOP = 10  # documents that are retrieved for a question
LENGTH = 64  # tokens of a question
MEGABYTE = 1e6
NANO = Suite("nanobeir", nano_beir.names(), 8, "13 small sets of BEIR")


class Retrieval(Task[retrieval_sets.RetrievalSet]):
    """Queries with judged documents: a published set, a folder in BEIR's layout, or a file of queries and passages."""

    kind = scored_task.RETRIEVAL
    suites = Suite("retrieval", tuple(sources.RETRIEVAL_SETS), 4), NANO
    also: ClassVar[Mapping[str, str]] = {plain(one.in_mteb): one.name for one in nano_beir.SETS}
    decided_by = "query_prompt", "document_prompt", "windows"

    @classmethod
    def load(cls, name: str, options: scored_task.Options) -> Retrieval:
        """Load the set with this name."""
        found = sources.retrieval_set(name, options.online)
        assert found is not None, "its name is in a suite"
        return cls(name, found)

    @classmethod
    def own(cls, source: str) -> Retrieval | None:
        """Load a retrieval folder, or a file of two columns of texts without a score or a label."""
        found = sources.retrieval_set(source)
        return None if found is None else cls(source, found)

    def among(self, corpus: retrieval_sets.Passages) -> Retrieval:
        """The queries searched among the passages of a corpus, too."""
        return Retrieval(self.name, retrieval_sets.among(self.data, corpus))

    @property
    def texts(self) -> Sequence[str]:
        """All distinct queries and documents."""
        return self.data.texts

    def cut(self, subject: Subject, options: scored_task.Options) -> CutTexts:
        """How many queries and documents are longer than what is read of them, after their prompts.

        Of documents that are read in windows nothing is cut.
        """
        documents = () if options.windows else self.data.documents
        texts = prompted(documents, self.data.queries, chosen(subject.encoder, *options.prompts))
        return cut_texts.count(subject.encoder, texts, self.length(subject), cut_texts.EVALUATION, prompt="")

    def score(self, subject: Subject, options: scored_task.Options) -> Work[scored_task.Measured]:
        """Rank the documents under each layer & pooling."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        work = retrieval(
            subject.encoder,
            self.data,
            titles=self.titles(subject, options),
            max_length=self.length(subject),
            prompts=chosen(subject.encoder, *options.prompts),
            windows=options.windows,
        )
        return (yield from work)

    def cost(self, subject: Subject, options: scored_task.Options) -> Work[TaskCost | None]:
        """Estimate what it takes: the time of the encoding, with all windows."""
        if not options.windows:
            return (yield from super().cost(subject, options))
        yield Progress(f"loading {subject.found.name}", 0, 0)
        prompts, length = chosen(subject.encoder, *options.prompts), self.length(subject)
        cut = yield from windows_of(subject.encoder, self.data.documents, length, prompts.document)
        return of_encoding(subject.encoder, (*cut.texts, *self.data.queries), length)


def retrieval(
    encoder: Encoder,
    task: retrieval_sets.RetrievalSet,
    *,
    titles: Sequence[str] | None = None,
    max_length: int | None = None,
    prompts: RolePrompts | None = None,
    windows: bool = False,
) -> Work[scored_task.Measured]:
    """Rank the documents under some layers & poolings, by default all, from one encoding.

    With `windows`, documents that are longer than the limit are read in overlapping windows, the best of which counts.

    The prompts are by default those that the model declares for queries and documents, as encode_query and
    encode_document of sentence-transformers add them; the prompt of other sentences is not used. The items are the
    nDCG@10 of each query under the model default.
    """
    started = time.perf_counter()
    kept, limit = checked_titles(encoder, titles), encoder.limit(max_length)
    prompts = prompts or encoder.default_head.roles
    check_prompts(prompts, encoder, limit)
    of_query = np.full((len(kept), len(rankings.MEASURES), len(task)), np.nan)

    def take(title: str, found: rankings.FoundDocuments) -> None:
        of_query[kept.index(title)] = rankings.measures(found.places, task.judgements)

    cut = (yield from windows_of(encoder, task.documents, limit, prompts.document)) if windows else None
    how = partial(ranked, encoder, task, titles=kept, k=rankings.DEPTH, max_length=limit, prompts=prompts)
    yield from how(take=take, windows=cut)
    default = of_query[kept.index(MODEL_DEFAULT)]
    return scored_task.Measured(
        split=task.split,
        titles=kept,
        measures=rankings.MEASURES,
        table=100 * of_query.mean(axis=2, keepdims=True),
        setting={
            "documents": len(task.documents),
            "queries": len(task),
            **task.counts,
            "relevant documents per query": round(sum(map(len, task.judgements)) / len(task), 2),
            **({"documents in windows": cut.cut, "windows of documents": len(cut.texts)} if cut else {}),
            "query prompt": prompts.query,
            "document prompt": prompts.document,
            "index": vector_index.FLAT,
            **of_encoder(encoder, limit),
        },
        items=scored_task.Items(default[0], digest=task.digest),
        seconds=time.perf_counter() - started,
        intervals=intervals(kept, of_query[:, 0], task.queries, every={*titles_of(encoder)} <= {*kept}),
        ends=scored_task.ends(zip(rankings.MEASURES, map(bootstrap.mean_ends, default), strict=True)),
    )


def chosen(encoder: Encoder, query: str | None, document: str | None) -> RolePrompts:
    """The given prompts; the model's in place of None."""
    own = encoder.default_head.roles
    return replace(
        own, query=own.query if query is None else query, document=own.document if document is None else document
    )


def ranked(
    encoder: Encoder,
    task: retrieval_sets.RetrievalSet,
    *,
    titles: Sequence[str],
    k: int,
    max_length: int,
    prompts: RolePrompts,
    take: Callable[[str, rankings.FoundDocuments], None],
    index: vector_index.IndexSetting | None = None,
    windows: Windows | None = None,
) -> Work[Encoded]:
    """Find the k documents with the highest cosine for every query; `take` gets a title and what was found.

    A prompt is put before every query and every document, in place of the model's. A layer & pooling under which all
    documents have the same vector, such as [CLS] of layer 0, has no ranking.
    """
    documents = task.documents if windows is None else windows.texts
    texts = prompted(documents, task.queries, prompts)
    encodings = yield from encoded(encoder, texts, max_length, titles, prompt="")
    for title in titles:
        vectors = correlation.unit(encodings.of(title))
        corpus, asked = np.split(vectors, [len(documents)])
        if rankings.rankable(corpus, asked):
            setting = index or vector_index.IndexSetting()
            take(title, (yield from rankings.passage_search(corpus, asked, k, setting, windows)))
    return encodings


def prompted(documents: Sequence[str], queries: Sequence[str], prompts: RolePrompts) -> tuple[str, ...]:
    """The texts as they are encoded: documents, then queries, each after its prompt."""
    return *prompts.before_documents(documents), *prompts.before_queries(queries)


def of_encoder(encoder: Encoder, limit: int) -> dict[str, scored_task.Setting]:
    """What decides a ranking besides the texts, the prompts and the index."""
    return {"max length": limit, "precision": encoder.precision, "device": encoder.device}


def intervals(
    titles: Sequence[str], scores: NDArray[np.float64], queries: Sequence[str], every: bool
) -> scored_task.QueryIntervals | None:
    """The interval of the model default, and the choice if `every` layer & pooling was scored; None of a few queries.

    `scores` (layer & pooling, query) are from 0 to 1.
    """
    default = scores[titles.index(MODEL_DEFAULT)]
    if len(queries) < LEAST or not np.isfinite(default).all():
        return None
    own = bootstrap.mean_ends(default)
    assert own is not None, "every query has a score"
    found = scored_task.QueryIntervals(round(own[0], 4), round(own[1], 4))
    first = half(queries)
    if not every or min(first.sum(), (~first).sum()) < LEAST:
        return found
    on_half = scores[:, first].mean(axis=1)
    best = int(np.nanargmax(on_half))  # the model default has scores
    chosen = scores[best]
    gap = bootstrap.mean_difference(default[~first], chosen[~first])
    choice = scored_task.QueryChoice(
        titles[best],
        round(100 * float(chosen[~first].mean()), 4),
        round(100 * float(default[~first].mean()), 4),
        *(round(float(value), 4) for value in (gap.difference, gap.low, gap.high)),
    )
    return replace(found, choice=choice)


def choice_text(one: scored_task.QueryChoice) -> str:
    """What half of the queries chose, in a sentence."""
    change = in_words.change(one.shown_difference, one.low, one.high, label=CI)
    return (
        f"Chosen on half of the queries: {one.title}. On the other half it has {in_words.number(one.score)}, the "
        f"model default {in_words.number(one.default_score)}: difference {change}."
    )


def half(queries: Sequence[str]) -> NDArray[np.bool_]:
    """About half of the queries, drawn by their text alone."""
    drawn = [hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest() for query in queries]
    first = np.zeros(len(queries), dtype=bool)
    first[sorted(range(len(queries)), key=drawn.__getitem__)[: len(queries) // 2]] = True
    return first


class QuestionSearch(Task[question_pairs.QuestionPairs]):
    """Duplicate questions: one of a pair is searched with the other."""

    kind = scored_task.SEARCH
    suites = (Suite("search", (question_pairs.TASK,), 3),)
    decided_by = ("index",)

    @classmethod
    def load(cls, name: str, options: scored_task.Options) -> QuestionSearch:
        """Load the pairs of questions."""
        return cls(name, question_pairs.load())

    @property
    def texts(self) -> Sequence[str]:
        """The distinct questions."""
        return self.data.collection.texts

    def length(self, subject: Subject) -> int:
        """The maximum length: that of a question, unless another is set."""
        return min(subject.settings.max_length or LENGTH, subject.encoder.max_length)

    def score(self, subject: Subject, options: scored_task.Options) -> Work[scored_task.Measured]:
        """Search under each layer & pooling."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        titles, length = self.titles(subject, options), self.length(subject)
        work = search(subject.encoder, self.data, titles=titles, index=options.index, max_length=length)
        return (yield from work)


def search(
    encoder: Encoder,
    questions: question_pairs.QuestionPairs,
    *,
    titles: Sequence[str] | None = None,
    index: str = vector_index.FLAT,
    max_length: int = LENGTH,
) -> Work[scored_task.Measured]:
    """Search with an encoder under some layers & poolings, by default the model default; one encoding serves all."""
    started = time.perf_counter()
    asked = checked_titles(encoder, titles or (MODEL_DEFAULT,))
    task = questions.collection
    documents, limit = len(task.documents), min(max_length, encoder.max_length)
    wanted = vector_index.IndexSetting(index)
    used = wanted.adapted(documents)
    table = np.full((len(asked), len(SEARCH_MEASURES), 1), np.nan)
    setting: dict[str, scored_task.Setting] = {
        "documents": documents,
        "queries": len(task),
        "queries without an answer (excluded)": task.counted[0],
        "question key": "id" if questions.ids else "text",
        "rows dropped": questions.dropped,
        "results per query": TOP,
        "index": used.kind,
    }
    if used.kind != vector_index.FLAT:
        setting |= {"nlist": used.nlist, "nprobe": used.nprobe}
    if used.nlist != wanted.nlist:
        setting["adapted"] = (
            f"nlist is {used.nlist:,} instead of {wanted.nlist:,}: FAISS wants at least {vector_index.PER_LIST} "
            f"training vectors per list, and there are {documents:,} documents"
        )
    setting |= {**of_encoder(encoder, limit), "threads": None}
    items: dict[str, scored_task.Items] = {}

    def take(title: str, found: rankings.FoundDocuments) -> None:
        values = rankings.reciprocal_ranks(found.places, task.judgements)
        costs = 1000 * found.seconds / len(values), found.index_bytes / MEGABYTE
        table[asked.index(title), :, 0] = 100 * values.mean(), *costs
        setting["threads"], items[title] = found.threads, scored_task.Items(values, digest=task.digest)

    own = encoder.default_head.prompt
    prompts = RolePrompts(own, own)  # a question is found by its duplicate: both are sentences
    yield from ranked(encoder, task, titles=asked, k=TOP, index=used, max_length=limit, prompts=prompts, take=take)
    return scored_task.Measured(
        split=questions.split,
        titles=asked,
        measures=SEARCH_MEASURES,
        table=table,
        setting=setting,
        items=items.get(MODEL_DEFAULT),
        seconds=time.perf_counter() - started,
        ends=scored_task.ends(
            [(SEARCH_MEASURES[0], bootstrap.mean_ends(one.values)) for one in [items.get(MODEL_DEFAULT)] if one]
        ),
    )
