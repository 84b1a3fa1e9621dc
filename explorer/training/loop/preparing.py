"""Prepare a run: load encoder, text and evaluation sets, hold rows out, mine hard negatives."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from explorer import in_words, methods
from explorer.data import corpora, retrieval_sets, sample, sources, splitting
from explorer.data.text_sets import Columns, Corpus
from explorer.encoding.export import exporting
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head_facts import NO_PROMPTS, RolePrompts
from explorer.errors import BadChoice, CannotResume, TooFewRows
from explorer.evaluating.tasks import judges, retrieval
from explorer.measuring.neighbours import ranking_judge, vector_index
from explorer.measuring.scores import correlation, verdict
from explorer.measuring.scores.judge import PACKS, Judge, ProbeJudge
from explorer.progress import Phase, Progress, Work
from explorer.training.loop import judging, measured_facts
from explorer.training.loop.elsewhere import Elsewhere, choose, used
from explorer.training.recipe import Recipe

LIBRARIES = ("torch", "transformers", "accelerate", "tokenizers", "numpy")
# what has to be the same for a run to be resumed, by its name in an error
_BINDING = {
    "model_digest": "the base model",
    "data_digest": "the training text",
    "dev_digest": "the dev set",
    "test_digest": "the test set",
    "held_out_digest": "the held-out rows",
}
_DIGEST = "_digest"
PROMPTED = "queries and documents have the model's prompts in evaluation"
TRAINED_TOO = f"{PROMPTED} and in training"
UNTRAINED = f"{PROMPTED}; training rows are read without them"
HELD_OUT_SHARE = 0.1  # of the rows
MOST_HELD_OUT = 1000  # rows of an evaluation set; more would take longer at each evaluation than they are worth
LEAST_HELD_OUT = 10  # rows, for an accuracy in steps of 10 points at most
AT_ONCE = 1024  # rows whose candidates are compared at once


@dataclass(frozen=True)
class Texts:
    """What a run trains on and what it is evaluated on."""

    corpus: Corpus
    dev: sources.EvaluationSet
    tests: tuple[sources.EvaluationSet, ...]
    reports: tuple[str, ...] = ()
    held_out: Corpus | None = None  # triplets that are not trained on, but choose the best checkpoint

    def digests(self) -> dict[str, str | None]:
        """Digests by their name in recipe.yaml."""
        return {"data_digest": self.corpus.digest, **_set_digests(self.dev, self.tests)}


@dataclass(frozen=True)
class Prepared:
    """Everything a run needs."""

    recipe: Recipe
    found: model_names.Found
    encoder: Encoder
    corpus: Corpus  # the rows of the text
    rows: Mapping[int, Corpus]  # those that each seed trains on, with the mined columns
    dev: Judge
    tests: tuple[Judge, ...]
    reports: tuple[str, ...]
    others: Mapping[str, model_names.Found] = field(default_factory=dict)  # models that knobs name
    held_out: Corpus | None = None  # rows that are not trained on, but choose the best checkpoint
    prompts: RolePrompts = NO_PROMPTS  # of queries and documents
    others_judged: tuple[Elsewhere, ...] = ()  # sets that it is not trained for

    @property
    def own_prompts(self) -> RolePrompts | None:
        """The prompts if they are not those of the model; None if they are."""
        return None if self.prompts == self.encoder.role_prompts else self.prompts

    @property
    def judged(self) -> dict[str, Judge]:
        """The evaluation sets by use: dev, test, test 2 and so on."""
        return {"dev": self.dev, **verdict.by_use(self.dev, self.tests)}

    @cached_property
    def packs(self) -> ProbeJudge | None:
        """The probe packs, if they are held out: they neither choose the checkpoint nor are in the training text."""
        judge = ProbeJudge(sample.probe_pairs())
        texts = self.corpus.texts if self.held_out is None else (*self.corpus.texts, *self.held_out.texts)
        seen = self.recipe.kind.learns() and not set(judge.sentences).isdisjoint(chain.from_iterable(texts))
        return None if seen or self.dev.digest == judge.digest else judge

    @property
    def measured(self) -> dict[str, Judge]:
        """What the base and the best checkpoint are scored on: its sets, the probe packs if held out, and others."""
        packs, sets = self.packs, self.judged
        if packs is not None and packs.digest not in [judge.digest for judge in sets.values()]:
            sets[PACKS] = packs
        return {**sets, **{use: one.judge for use, one in self.elsewhere.items()}}

    @property
    def elsewhere(self) -> dict[str, Elsewhere]:
        """The sets that the run is not trained for, by use."""
        return {f"{verdict.ELSEWHERE} {number}": one for number, one in enumerate(self.others_judged, start=1)}

    @property
    def drawn(self) -> measured_facts.DrawnRows | None:
        """How many rows of the text each seed draws; None if it trains on all of them."""
        rows, of = len(self.rows[self.recipe.seeds[0]]), len(self.corpus)
        return None if rows == of else measured_facts.DrawnRows(rows, of)

    @property
    def seen(self) -> measured_facts.TextOverlap | None:
        """How many test sentences are in the training text; None without a test set, or if nothing is learned."""
        if not self.tests or not self.recipe.kind.learns():
            return None
        text = set().union(*(column for rows in self.rows.values() for column in rows.texts))
        tests = {use: set(judge.sentences) for use, judge in self.judged.items() if use != "dev"}
        every = set().union(*tests.values())
        return measured_facts.TextOverlap(
            len(every & text), len(every), tuple(use for use in tests if tests[use] & text)
        )

    def facts(self) -> dict[str, Any]:
        """Digests and versions, as recipe.yaml records them."""
        return {
            "model_digest": self.found.digest,
            "model_revision": self.found.revision,
            "data_digest": self.corpus.digest,
            "data_rows": len(self.corpus),
            "held_out_rows": len(self.held_out) if self.held_out else 0,
            **({"held_out_digest": self.held_out.digest} if self.held_out else {}),
            **_set_digests(self.dev, self.tests),
            **{f"{use.replace(' ', '_')}{_DIGEST}": one.judge.digest for use, one in self.elsewhere.items()},
            "versions": in_words.versions(LIBRARIES),
            **{f"{knob}{_DIGEST}": found.digest for knob, found in self.others.items()},
        }


def prepare(recipe: Recipe, device: str = "cpu", online: bool = False, *, mine: bool = True) -> Work[Prepared]:
    """Load everything; text first, so that a faulty file is reported before a model is loaded.

    Missing files are downloaded from the hub only if `online` is true. Without `mine` no hard negatives are searched
    for, which only a training needs.
    """
    yield Progress(Phase.READING_TEXT, 0, 0)
    method, values = recipe.kind, recipe.method_values()
    mining = method.mining(values) if issubclass(method, methods.MinedNegatives) else None
    texts = read_texts(recipe, online)
    rows = (texts.corpus, texts.held_out, texts.corpus.validation, texts.corpus.test)
    in_use = used(rows, (texts.dev, *texts.tests))
    elsewhere, left_out = choose(recipe.elsewhere, recipe.elsewhere_most, in_use, online)
    others: dict[str, model_names.Found] = {}
    for name, knob in method.knobs.items():
        if knob.masked_model:
            others[name] = yield from _found(str(recipe.settings.get(name, knob.default)), online)
    found = yield from _found(recipe.model, online)
    encoder = loading.load(found, precision="float32", device=device)
    exporting.opener(encoder)  # refuse a model that could not be exported before it is trained
    prompts_rows = issubclass(method, methods.PromptedRows)
    prompts = method.prompts(values, encoder) if issubclass(method, methods.PromptedRows) else encoder.role_prompts
    if prompts_rows and prompts.pooled:
        retrieval.check(prompts, encoder, encoder.limit(min(recipe.schedule().max_length, encoder.max_length)))
    dev = judges.judge_of(texts.dev, encoder, prompts)
    tests = tuple(judges.judge_of(one, encoder, prompts) for one in texts.tests)
    reports = texts.reports
    if any(isinstance(one, ranking_judge.RankingJudge) and one.prompted for one in (dev, *tests)):
        reports = (*reports, TRAINED_TOO if prompts_rows else UNTRAINED)
    judged = tuple(Elsewhere(name, judges.judge_of(part, encoder, prompts), of) for name, part, of in elsewhere)
    reports, held = (*reports, *left_out), texts.held_out
    prepared = Prepared(recipe, found, encoder, texts.corpus, {}, dev, tests, reports, others, held, prompts, judged)
    check_same(recipe.made_with, prepared.facts())
    drawn, summaries = yield from _rows_by_seed(recipe, texts.corpus, encoder, mining if mine else None)
    return replace(prepared, rows=drawn, reports=(*reports, *summaries))


def _rows_by_seed(
    recipe: Recipe, corpus: Corpus, encoder: Encoder, mining: methods.Mining | None
) -> Work[tuple[dict[int, Corpus], tuple[str, ...]]]:
    """The rows that each seed trains on, with a column for each mined negative, and summaries of the mining."""
    found: dict[int, Corpus] = {}
    summaries = []
    wanted = _drawn_count(recipe, corpus)
    for seed in recipe.seeds:
        rows = corpora.drawn(corpus, wanted, seed)
        if rows is corpus and found:  # all seeds train on all rows
            found[seed] = next(iter(found.values()))
            continue
        if mining:
            negatives, summary = yield from mined(rows, encoder, mining)
            rows = replace(rows, columns=(*rows.columns, *negatives))
            summaries.append(summary)
        found[seed] = rows
    return found, tuple(summaries)


def read_texts(recipe: Recipe, online: bool = False) -> Texts:
    """Load the training text and the evaluation sets, without a model."""
    corpus, reports = corpora.corpus(
        recipe.data,
        recipe.kind.rows,
        recipe.columns,
        online=online,
        keep_duplicates=recipe.keeps_duplicates,
        divide=recipe.kind.predicts(),
    )
    recipe.kind.check_rows(corpus)
    tests: list[sources.EvaluationSet] = []
    for source in recipe.tests:
        corpus, one = _evaluated_on(source, corpus, online)
        tests.append(one)
    corpus, dev = _evaluated_on(recipe.dev, corpus, online)
    batch = recipe.schedule().batch_size if recipe.kind.trains() else 1
    corpus, dropped = corpora.without_evaluated(corpus, [sources.texts_of(given) for given in (dev, *tests)], batch)
    held = corpus.validation
    if recipe.schedule().select_by != "dev":
        corpus, held = hold_out(corpus)
    _drawn_count(recipe, corpus)
    notes = (*map(str, reports), *filter(None, [dropped, corpus.division]))
    return Texts(corpus, dev, tuple(tests), notes, held)


def _drawn_count(recipe: Recipe, corpus: Corpus) -> int:
    """How many of the rows are trained on; an error if they are too few."""
    return recipe.schedule().rows_of(len(corpus), corpus.name) if recipe.kind.trains() else len(corpus)


def held_out_set(corpus: Corpus) -> tuple[Corpus, retrieval_sets.RetrievalSet]:
    """The rows to train on, and a retrieval set of held-out rows: each first text is to find its second one.

    Of few rows more than a tenth are held out, since a set of fewer than ten says nothing.
    """
    if not corpus.kind.pairs_up:
        raise BadChoice(
            f"{sources.HELD_OUT.capitalize()} of {corpus.kind.title} cannot be an evaluation set, since a row has no "
            "two texts that mean the same. Choose scored pairs or a retrieval set."
        )
    left, held = hold_out(corpus, evaluated_count(len(corpus)), otherwise="name another evaluation set")
    others = held.texts[2] if len(held.texts) > 2 else ()  # what contradicts the first text
    return left, retrieval_sets.of_pairs(
        f"{sources.HELD_OUT} of {corpus.name}", held.texts[0], held.texts[1], others, split=sources.HELD_OUT
    )


def hold_out(
    corpus: Corpus, wanted: int | None = None, otherwise: str = "set select_by to dev"
) -> tuple[Corpus, Corpus]:
    """Rows to train on, and rows held out: about so many, or a tenth, without a sentence in common.

    Rows that share a sentence, directly or through others, stay on one side. Which are held out follows from their
    text alone.
    """

    def drawn(rows: Sequence[int]) -> bytes:
        """One number for a family of rows, by their text alone: the smallest of several would prefer large ones."""
        text = min("\0".join(column[row] for column in corpus.texts) for row in rows)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    families = splitting.linked(zip(*corpus.texts, strict=True))
    wanted = held_out_count(len(corpus)) if wanted is None else wanted
    held: list[int] = []
    for rows in sorted(families, key=drawn):
        if len(held) + len(rows) <= wanted:
            held += rows
    if len(held) < LEAST_HELD_OUT:
        raise TooFewRows(
            f"{corpus.name} has {len(corpus):,} rows, and {len(held)} of them can be held out without a text in common "
            f"with the others; at least {LEAST_HELD_OUT} are needed. Use more rows, or {otherwise}."
        )
    outside = set(held)
    return _rows(corpus, [row for row in range(len(corpus)) if row not in outside]), _rows(corpus, sorted(held))


def held_out_count(rows: int) -> int:
    """About how many rows are held out."""
    return round(HELD_OUT_SHARE * rows)


def evaluated_count(rows: int) -> int:
    """About how many rows are held out as an evaluation set."""
    return min(max(held_out_count(rows), LEAST_HELD_OUT), MOST_HELD_OUT)


def _rows(corpus: Corpus, rows: list[int]) -> Corpus:
    return replace(corpus, columns=tuple(tuple(column[row] for row in rows) for column in corpus.texts))


def _set_digests(
    dev: sources.EvaluationSet | Judge, tests: Sequence[sources.EvaluationSet | Judge]
) -> dict[str, str | None]:
    """Digests of the evaluation sets by their name in recipe.yaml."""
    more = {f"test_{number}{_DIGEST}": one.digest for number, one in enumerate(tests[1:], start=2)}
    return {"dev_digest": dev.digest, "test_digest": tests[0].digest if tests else None, **more}


def _evaluated_on(source: str, corpus: Corpus, online: bool) -> tuple[Corpus, sources.EvaluationSet]:
    """The rows that are left to train on, and the evaluation set: one by its name, or rows that are held out."""
    if source == sources.HELD_OUT:
        return held_out_set(corpus)
    return corpus, sources.evaluation_set(sources.identity(source), online)


def _found(model: str, online: bool) -> Work[model_names.Found]:
    yield Progress(Phase.LOADING, 0, 0, about=model)
    return (yield from model_names.fetch(model)) if online else model_names.find(model)


def check_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a model, text or evaluation set that differs from the one the recipe was made with."""
    for name in (*_BINDING, *sorted(name for name in now if name.endswith(_DIGEST) and name not in _BINDING)):
        named = name.removesuffix(_DIGEST).replace("test_", "test set ").replace("elsewhere_", "set elsewhere ")
        what = _BINDING.get(name, f"the {named}")
        if name in then and then[name] != now[name]:
            raise CannotResume(
                f"This recipe was made with another version of {what} ({str(then[name])[:12]} then, "
                f"{str(now[name])[:12]} now). Restore that version, or remove made_with from a copy of "
                "recipe.yaml and start a new run from it."
            )


def mined(corpus: Corpus, encoder: Encoder, mining: methods.Mining) -> Work[tuple[Columns, str]]:
    """A column for each hard negative of pairs, found near each anchor with an encoder as it is used, and their counts.

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
    (found,) = yield from judging.under_heads(encoder, prompted, (encoder.default_head,), Phase.MINING)
    vectors = correlation.unit(found.numpy())
    asked, known = vectors[: len(queries)], vectors[len(queries) :]
    results = yield from ranking_judge.batch_search(known, asked, mining.last, vector_index.IndexSetting())
    query, passage = ({text: place for place, text in enumerate(texts)} for texts in (queries, passages))
    together: defaultdict[str, set[str]] = defaultdict(set)  # by text, all that share a row with it, and itself
    for row in zip(*corpus.texts, strict=True):
        for text in row:
            together[text].update(row)
    random = np.random.default_rng(0)
    chosen: list[list[str]] = []
    cosines: list[float] = []
    right = np.empty(len(corpus))
    drawn = 0
    for number, (anchor, positive) in enumerate(zip(anchors, positives, strict=True)):
        right[number] = asked[query[anchor]] @ known[passage[positive]]
        most = right[number] - mining.margin * abs(right[number])
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
        if number % AT_ONCE == 0:
            yield Progress(Phase.MINING, number, len(corpus))
    summary = f"hard negatives: {len(cosines):,} mined with the base"
    if drawn:
        summary += f", {drawn:,} drawn at random where no more were far enough"
    if cosines:
        summary += f"; mean cosine to the anchor {np.mean(cosines):.2f}, of positives {right.mean():.2f}"
    return tuple(zip(*chosen, strict=True)), summary


def _at_random(passages: tuple[str, ...], excluded: set[str], random: np.random.Generator, count: int) -> list[str]:
    """Some passages that are not excluded; fewer where so many are not left."""
    found: dict[str, None] = {}
    for place in random.permutation(len(passages)) if count > 0 else ():
        if len(found) == count:
            break
        if passages[place] not in excluded:
            found[passages[place]] = None
    return list(found)
