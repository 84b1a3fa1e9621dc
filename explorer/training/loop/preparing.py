"""Prepare a run: load encoder, text and evaluation sets, draw the rows of each seed, check that nothing changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from explorer import in_words, methods
from explorer.data import corpora, sample, shared_rows, sources, splitting, watched_pairs
from explorer.data.graded.sets import CROSS_FITTED
from explorer.data.set_items import ItemSet
from explorer.data.tables.columns import scaled
from explorer.data.text_sets import SCORED_PAIRS, TRIPLETS, Corpus, GradedPairs, Triplets
from explorer.data.watched_pairs import WatchedPair
from explorer.encoding.export import exporting
from explorer.encoding.load import chosen_prompts, loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.prompts import NO_PROMPTS, RolePrompts
from explorer.errors import CannotResume, StrataError
from explorer.evaluating import kinds
from explorer.evaluating.kinds.probe_pairs import ProbeJudge
from explorer.evaluating.kinds.queries import RankingJudge, check_prompts
from explorer.evaluating.probes.class_rows import RowsJudge
from explorer.measuring.scores import verdict
from explorer.measuring.scores.judge import PACKS, Judge
from explorer.progress import Phase, Progress, Work
from explorer.training.loop import computed, measured_facts, mining
from explorer.training.loop.elsewhere import UNREADABLE, Elsewhere, choose, named, used
from explorer.training.loop.training_texts import DIGEST, StageText, Texts, drawn_count, read_texts, set_digests
from explorer.training.recipe import MOST_STAGES, Recipe

LIBRARIES = ("torch", "transformers", "accelerate", "tokenizers", "numpy")
# what has to be the same for a run to be resumed, by its name in an error
_BINDING = {
    "model_digest": "the base model",
    "data_digest": "the training text",
    "dev_digest": "the dev set",
    "test_digest": "the test set",
    "held_out_digest": "the held-out rows",
}
_BINDING |= {
    f"stage_{number}_{name}": f"{_BINDING[name]} of stage {number}"
    for number in range(1, MOST_STAGES + 1)
    for name in ("data_digest", "held_out_digest")
}
MOST_LOSS_ROWS = 256
PROMPTED = "queries and documents have the model's prompts in evaluation"
TRAINED_TOO = f"{PROMPTED} and in training"
UNTRAINED = f"{PROMPTED}; training rows are read without them"


@dataclass(frozen=True, kw_only=True)
class PreparedRows:
    """The rows of a run: those that are trained on, and those of them that judge."""

    recipe: Recipe
    corpus: Corpus  # the rows of the text
    rows: Mapping[int, Corpus]  # those that each seed trains on, with the mined columns
    texts: Texts
    held_out: Corpus | None = None  # rows that are not trained on, but choose the best checkpoint
    # what the stages before the last train on, by seed
    stage_rows: tuple[Mapping[int, Corpus], ...] = ()
    folds: tuple[tuple[int, ...], ...] = ()  # the rows of each fold, if all rows are cross-fitted
    fold: int | None = None  # of the fold that this training is of, from 1; 0 if it is of all rows, after the folds
    until: int | None = None  # the update after which it ends, as the folds have chosen

    @cached_property
    def loss_rows(self) -> Corpus | None:
        """Some held-out rows of the kind that is trained on, whose loss decides between equal scores; None without."""
        rows, dev, wanted = self.held_out or self.texts.dev_rows, self.texts.dev, self.recipe.rows
        if rows is None and isinstance(dev, GradedPairs) and wanted == SCORED_PAIRS:
            rows = Corpus(dev.name, wanted, (dev.first, dev.second, scaled(dev.gold)))
        elif rows is None and isinstance(dev, Triplets) and wanted == TRIPLETS:
            rows = Corpus(dev.name, wanted, (dev.anchors, dev.positives, dev.negatives))
        if rows is None or rows.kind != wanted:
            return None
        return rows.taken(splitting.drawn(list(zip(*rows.texts, strict=True)), min(MOST_LOSS_ROWS, len(rows))))

    @cached_property
    def watched(self) -> tuple[WatchedPair, ...]:
        """The pairs whose cosines are recorded at every evaluation."""
        trained = chain.from_iterable(
            one.sentences for one in (self.corpus, *(one.corpus for one in self.texts.stages))
        )
        rows = self.texts.dev_rows
        sentences = [] if rows is None else list(zip(*rows.texts, strict=True))
        is_scored = rows is not None and not rows.kind.pairs_up
        return watched_pairs.choose(self.recipe.watch, sentences, set(trained), is_scored=is_scored)

    @property
    def choosing(self) -> tuple[str, ...]:
        """The evaluation sets that decide in any stage which weights are kept: dev, unless held-out rows alone do."""
        held = (*(one.held_out for one in self.texts.stages), self.texts.held_out)
        by_dev = (
            own.kind.trains() and (rows is None or own.schedule().select_by == "both")
            for own, rows in zip(self.recipe.chain, held, strict=True)
        )
        return ("dev",) if any(by_dev) else ()

    @property
    def drawn(self) -> measured_facts.DrawnRows | None:
        """How many rows of the text each seed draws; None if it trains on all of them."""
        rows, of = len(self.rows[self.recipe.seeds[0]]), len(self.corpus)
        return None if rows == of else measured_facts.DrawnRows(rows, of)


@dataclass(frozen=True, kw_only=True)
class Prepared(PreparedRows):
    """Everything a run needs."""

    found: model_names.Found
    encoder: Encoder
    dev: Judge
    tests: tuple[Judge, ...]
    reports: tuple[str, ...]
    others: Mapping[str, model_names.Found] = field(default_factory=dict)  # models that knobs name
    prompts: RolePrompts = NO_PROMPTS  # of queries and documents
    others_judged: tuple[Elsewhere, ...] = ()  # sets that it is not trained for
    base: Encoder | None = None  # the one that the first stage starts from, if this is a later one

    @property
    def own_prompts(self) -> RolePrompts | None:
        """The prompts if they are not those of the model; None if they are."""
        return None if self.prompts == self.encoder.role_prompts else self.prompts

    @property
    def judged(self) -> dict[str, Judge]:
        """The evaluation sets by use: dev, test, test 2 and so on; what the folds choose by is no dev set."""
        sets = verdict.by_use(self.dev, self.tests)
        return {use: sets[use] for use in sets if use != "dev"} if self.folds else {"dev": self.dev, **sets}

    @property
    def cross_fitted(self) -> tuple[str, ...]:
        """The uses of the evaluation set that is all rows, which the folds judge; none without folds."""
        of_recipe = verdict.by_use(self.recipe.dev, self.recipe.tests)
        return tuple(use for use in self.judged if of_recipe[use] == CROSS_FITTED)

    @cached_property
    def packs(self) -> ProbeJudge | None:
        """The probe packs, if they are held out: they neither choose the checkpoint nor are in the training text."""
        judge = ProbeJudge(sample.probe_pairs())
        corpora = [self.corpus, self.held_out] if self.recipe.kind.learns() else []
        corpora += chain.from_iterable((one.corpus, one.held_out) for one in self.texts.stages)
        texts = chain.from_iterable(one.texts for one in corpora if one is not None)
        seen = not set(judge.sentences).isdisjoint(chain.from_iterable(texts))
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
        """The sets that the run is not trained for, by use; one that can no longer be read keeps its number."""
        found = {one.name: one for one in self.others_judged}
        numbered = enumerate(self._named_elsewhere, start=1)
        return {f"{verdict.ELSEWHERE} {number}": found[name] for number, name in numbered if name in found}

    @property
    def _named_elsewhere(self) -> list[str]:
        """The names of these sets: first those that the run of this recipe began with."""
        then = self.recipe.made_with.get(verdict.ELSEWHERE, ())
        return list(dict.fromkeys((*then, *(one.name for one in self.others_judged))))

    def left_out(self, scored: Sequence[verdict.ElsewhereVerdict]) -> str:
        """The sets elsewhere that were named, or that its run began with, but are not scored; the reports say why."""
        asked = map(str, named(self.recipe.elsewhere, self.recipe.made_with.get(verdict.ELSEWHERE, ())))
        there = [one.name for one in scored]
        return ", ".join(sources.shown(name) for name in asked if name not in there)

    @property
    def seen(self) -> measured_facts.TextOverlap | None:
        """How many test sentences are in the text of any stage; None without a test set, or if nothing is learned."""
        trained = (*([self.rows] if self.recipe.kind.learns() else []), *self.stage_rows)
        if not trained or not {*self.judged} - {"dev", *self.cross_fitted}:
            return None
        text = set().union(*(column for by_seed in trained for rows in by_seed.values() for column in rows.texts))
        unseen = "dev", *self.cross_fitted
        tests = {use: set(judge.sentences) for use, judge in self.judged.items() if use not in unseen}
        every = set().union(*tests.values())
        return measured_facts.TextOverlap(
            len(every & text), len(every), tuple(use for use in tests if tests[use] & text)
        )

    @property
    def optimistic(self) -> tuple[str, ...]:
        """The uses of the test sets that hold sentences of the training text, or rows of the dev set."""
        seen = self.seen.uses if self.seen else ()
        shared = verdict.by_use(shared_rows.NONE_SHARED, self.texts.shared)
        return tuple(use for use in self.judged if use in seen or shared.get(use))

    def facts(self) -> dict[str, Any]:
        """What recipe.yaml records, such as digests; of a set elsewhere that cannot be read, that of before."""
        before = {what: one for what, one in self.recipe.made_with.items() if what.startswith(verdict.ELSEWHERE)}
        others = {f"{use.replace(' ', '_')}{DIGEST}": one.judge.digest for use, one in self.elsewhere.items()}
        return {
            "model_digest": self.found.digest,
            "model_revision": self.found.revision,
            "data_digest": self.corpus.digest,
            "data_rows": len(self.corpus),
            "held_out_rows": len(self.held_out) if self.held_out else 0,
            **({"held_out_digest": self.held_out.digest} if self.held_out else {}),
            **set_digests(self.texts.dev, self.texts.tests),
            **({**before, verdict.ELSEWHERE: self._named_elsewhere, **others} if self.recipe.elsewhere else {}),
            **self.texts.stage_digests(),
            **computed.made_with(self.recipe.made_with, self.encoder.device),
            "versions": in_words.versions(LIBRARIES),
            **{f"{knob}{DIGEST}": found.digest for knob, found in self.others.items()},
        }


def prepare(
    recipe: Recipe, device: str = "cpu", online: bool = False, *, mine: bool = True, resumed: bool = False
) -> Work[Prepared]:
    """Load everything; text first, so that a faulty file is reported before a model is loaded.

    Missing files are downloaded from the hub only if `online` is true. Without `mine` no hard negatives are searched
    for, which only a training needs. A run that is `resumed` goes on without sets elsewhere that cannot be read.
    """
    yield Progress(Phase.READING_TEXT, 0, 0)
    texts = read_texts(recipe, online)
    every = (StageText(texts.corpus, texts.held_out), *texts.stages)
    in_use = used(chain.from_iterable(one.parts for one in every), (texts.dev, *texts.tests))
    elsewhere, left_out = choose(
        recipe.elsewhere,
        recipe.elsewhere_most,
        in_use,
        online,
        recipe.made_with.get(verdict.ELSEWHERE),
        resumed=resumed,
    )
    texts = replace(texts, elsewhere=tuple(elsewhere), reports=(*texts.reports, *left_out))
    others: dict[str, model_names.Found] = {}
    for name, model in recipe.named_models().items():
        others[name] = yield from _found(model, online)
    found = yield from _found(recipe.model, online)
    encoder = loading.load(chosen_prompts.after(found, recipe.prompt), precision="float32", device=device)
    exporting.auto_class(encoder)  # refuse a model that could not be exported before it is trained
    prepared = on_encoder(recipe, texts, found, encoder)
    prepared = replace(prepared, others=others, folds=texts.folds)
    check_same(recipe.made_with, prepared.facts())
    in_parts = bool(recipe.stages or prepared.folds)  # each mines its own
    rows, summaries = yield from rows_of(prepared, recipe.seeds, mine=mine and not in_parts)
    drawn = (
        {seed: corpora.drawn(one.corpus, drawn_count(own, one.corpus), seed) for seed in recipe.seeds}
        for own, one in zip(recipe.chain, texts.stages, strict=False)
    )
    return replace(prepared, rows=rows, reports=(*prepared.reports, *summaries), stage_rows=tuple(drawn))


def on_encoder(recipe: Recipe, texts: Texts, found: model_names.Found, encoder: Encoder) -> Prepared:
    """What a training needs that starts from this encoder, but for the rows of each seed."""
    method, values = recipe.kind, recipe.method_values()
    method.check_layers(values, encoder.name, encoder.model.config.num_hidden_layers)
    prompts_rows = issubclass(method, methods.PromptedRows)
    prompts = method.prompts(values, encoder) if issubclass(method, methods.PromptedRows) else encoder.role_prompts
    if prompts_rows:
        check_prompts(prompts, encoder, encoder.limit(min(recipe.schedule().max_length, encoder.max_length)))
    dev = judge_of(texts.dev, texts, encoder, prompts)
    tests = tuple(judge_of(one, texts, encoder, prompts) for one in texts.tests)
    prompted = any(isinstance(one, RankingJudge) and one.prompted for one in (dev, *tests))
    reports = (*texts.reports, *[TRAINED_TOO if prompts_rows else UNTRAINED] * prompted)
    others, left_out = [], []
    for name, part, of in texts.elsewhere:
        try:
            others.append(Elsewhere(name, judge_of(part, texts, encoder, prompts), of))
        except StrataError as error:  # an encoder that cannot search may be trained
            left_out.append(UNREADABLE.format(sources.shown(name), error))
    return Prepared(
        recipe=recipe,
        found=found,
        encoder=encoder,
        corpus=texts.corpus,
        rows={},
        dev=dev,
        tests=tests,
        reports=(*reports, *left_out),
        texts=texts,
        held_out=texts.held_out,
        prompts=prompts,
        others_judged=tuple(others),
    )


def judge_of(given: ItemSet, texts: Texts, encoder: Encoder, prompts: RolePrompts) -> Judge:
    """How a set of a run is scored; its own labelled rows by a layer that is fitted to those of other folds."""
    if isinstance(given, Corpus):
        folds = texts.folds if len(given) == len(texts.corpus) else ()
        return RowsJudge(given, texts.corpus.classes, folds)
    return kinds.judge_of(given, encoder, prompts)


def rows_of(
    prepared: Prepared, seeds: Sequence[int], *, mine: bool = True
) -> Work[tuple[dict[int, Corpus], tuple[str, ...]]]:
    """The rows that each seed trains on, with a column for each mined negative, and summaries of the mining."""
    recipe, corpus, kind = prepared.recipe, prepared.corpus, prepared.recipe.kind
    wanted_negatives = kind.mining(recipe.method_values()) if issubclass(kind, methods.MinedNegatives) else None
    found: dict[int, Corpus] = {}
    summaries = []
    wanted = drawn_count(recipe, corpus)
    if wanted_negatives:
        mining.check_dropped(wanted_negatives.dropped, corpus.name, prepared.texts.sentences)
    for seed in seeds:
        rows = corpora.drawn(corpus, wanted, seed)
        if rows is corpus and found:  # all seeds train on all rows
            found[seed] = next(iter(found.values()))
            continue
        if wanted_negatives and mine:
            named = "the base" if prepared.base is None else prepared.found.name
            negatives = yield from mining.mined(rows, prepared.encoder, wanted_negatives, named)
            rows = replace(rows, columns=(*rows.columns, *negatives.columns))
            summaries.append(negatives.summary)
        found[seed] = rows
    return found, tuple(summaries)


def _found(model: str, online: bool) -> Work[model_names.Found]:
    yield Progress(Phase.LOADING, 0, 0, about=model)
    return (yield from model_names.fetch(model)) if online else model_names.find(model)


def check_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a model, text or evaluation set that differs from the one the recipe was made with."""
    for name in (*_BINDING, *sorted(name for name in now if name.endswith(DIGEST) and name not in _BINDING)):
        named = name.removesuffix(DIGEST).replace("test_", "test set ").replace("elsewhere_", "set elsewhere ")
        what = _BINDING.get(name, f"the {named}")
        if name in then and then[name] != now.get(name):
            raise CannotResume(
                f"This recipe was made with another version of {what} ({str(then[name])[:12]} then, "
                f"{str(now.get(name))[:12]} now). Restore that version, or remove made_with from a copy of "
                "recipe.yaml and start a new run from it."
            )
