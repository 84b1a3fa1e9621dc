"""Read the text of a run, of all its stages, and its evaluation sets; hold rows out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from explorer.data import corpora, retrieval_sets, shared_rows, sources, splitting
from explorer.data.graded.sets import CROSS_FITTED, HELD_OUT
from explorer.data.set_items import ItemSet
from explorer.data.shared_rows import SharedRows
from explorer.data.text_sets import DOCUMENTS, Corpus, GradedPairs, Score
from explorer.errors import BadChoice, TooFewRows
from explorer.evaluating import kinds
from explorer.measuring.scores.judge import Judge
from explorer.measuring.scores.metrics import LEAST_PAIRS
from explorer.measuring.sentences import cut_texts
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.training.loop.elsewhere import Choice
from explorer.training.recipe import Recipe, naming

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

DIGEST = "_digest"
HELD_OUT_SHARE = 0.1  # of the rows
MOST_HELD_OUT = 1000  # rows of an evaluation set; more would take longer at each evaluation than they are worth
BANDS = 4  # of scores, of which each fold has about as many rows
ALL_HELD_OUT = (
    "All rows of {} would be held out, so that none is left to train on. Use more rows, name other sets in place of "
    "'{}', or use '{}', which trains on all rows and judges each."
)
MOST_PASSAGES, MOST_DEV_PASSAGES = 50_000, 1_000  # that held-out queries of a test set, and of dev, are searched among
LEAST_HELD_OUT = 10  # rows, for an accuracy in steps of 10 points at most


@dataclass(frozen=True)
class StageText:
    """What a stage before the last trains on."""

    corpus: Corpus
    held_out: Corpus | None  # rows that choose its best checkpoint

    @property
    def parts(self) -> tuple[Corpus | None, ...]:
        """All rows: those that are trained on, and those that choose and test."""
        return self.corpus, self.held_out, self.corpus.validation, self.corpus.test

    def digests(self, number: int) -> dict[str, str]:
        """Digests by their name in recipe.yaml; stages are counted from 1."""
        held = {f"stage_{number}_held_out{DIGEST}": self.held_out.digest} if self.held_out else {}
        return {f"stage_{number}_data{DIGEST}": self.corpus.digest, **held}


@dataclass(frozen=True)
class Texts:
    """What a run trains on and what it is evaluated on."""

    corpus: Corpus
    dev: ItemSet
    tests: tuple[ItemSet, ...]
    reports: tuple[str, ...] = ()
    held_out: Corpus | None = None  # triplets that are not trained on, but choose the best checkpoint
    dev_rows: Corpus | None = None  # the rows that the dev set is made of, if they are held out of the text
    stages: tuple[StageText, ...] = ()  # before the last
    elsewhere: tuple[Choice, ...] = ()  # what is scored, but not trained for
    folds: tuple[tuple[int, ...], ...] = ()  # the rows of each, if all rows are cross-fitted
    shared: tuple[SharedRows, ...] = ()  # of each test set the rows that are in the dev set too

    @property
    def sentences(self) -> Iterator[str]:
        """Every text that is trained on, chooses or tests; some more than once."""
        rows = (self.corpus, self.dev, *self.tests, *([self.held_out] if self.held_out else []))
        return chain.from_iterable(one.sentences for one in rows)

    def digests(self) -> dict[str, str | None]:
        """Digests by their name in recipe.yaml."""
        return {"data_digest": self.corpus.digest, **set_digests(self.dev, self.tests), **self.stage_digests()}

    def stage_digests(self) -> dict[str, str]:
        """Digests of the texts of stages by their name in recipe.yaml."""
        digests = (one.digests(number) for number, one in enumerate(self.stages, start=1))
        return dict(chain.from_iterable(one.items() for one in digests))


def cut(corpus: Corpus, encoder: Encoder, longest: int | None = None) -> CutTexts | None:
    """How many training texts are longer than a training reads; None of documents, of which spans are drawn.

    A training reads at most the encoder's number of tokens, and as many if no `longest` is given.
    """
    if corpus.kind == DOCUMENTS:
        return None
    return cut_texts.count(
        encoder, tuple(chain.from_iterable(corpus.texts)), longest and min(longest, encoder.max_length)
    )


def check_prompt(recipe: Recipe, sets: Iterable[ItemSet]) -> None:
    """Refuse a prompt before every text on a retrieval set: passages have none, and held-out rows are trained alike."""
    every = (one for one in sets if isinstance(one, retrieval_sets.RetrievalSet))
    searched = [one.name for one in every if one.split not in sources.OWN_ROWS]
    if recipe.prompt is not None and searched:
        raise BadChoice(
            f"prompt cannot be {recipe.prompt!r} with {' and '.join(searched)}: it would be put before passages, too. "
            "Set query_prompt in its place, which methods on pairs of texts have, or name other sets."
        )


def read_texts(recipe: Recipe, online: bool = False) -> Texts:
    """Load the training text of all stages and the evaluation sets, without a model."""
    last, given = len(recipe.chain), (recipe.dev, *recipe.tests)
    with naming(recipe, last):
        corpus, reports = _corpus(recipe, online)
    sets: dict[int, ItemSet] = {}
    dev_rows: Corpus | None = None
    rows, whole, more = len(corpus), corpus, named_passages(recipe, corpus)
    held: list[tuple[str, ...]] = []
    for place in (*range(1, len(given)), 0):  # held-out rows of the test sets are drawn before those of the dev set
        if given[place] == HELD_OUT:
            corpus, held_out = held_out_rows(corpus, rows)
            if not len(corpus):
                raise TooFewRows(ALL_HELD_OUT.format(corpus.name, HELD_OUT.name, CROSS_FITTED.name))
            most = MOST_PASSAGES if place else MOST_DEV_PASSAGES
            sets[place] = set_of_rows(held_out, HELD_OUT.name, whole, most, more)
            held.append(tuple(chain.from_iterable(held_out.texts)))
            dev_rows = None if place else held_out
        elif given[place] != CROSS_FITTED:
            sets[place] = kinds.run_set(given[place], online)
    with naming(recipe, last):
        text, dropped = _without_evaluated(recipe, corpus, tuple(sets.values()))
    for place, one in enumerate(given):
        if one == CROSS_FITTED:
            sets[place] = set_of_rows(text.corpus, CROSS_FITTED.name, more=more)
    dev, *tests = (sets[place] for place in range(len(given)))
    check_prompt(recipe, (dev, *tests))
    shared = () if recipe.is_cross_fitted else tuple(shared_rows.check(dev, one) for one in tests)
    notes = [*reports, *(one.words for one in shared if one), *dropped]
    # rows that the last stage holds out are held out of every stage
    held += [tuple(chain.from_iterable(one.texts)) for one in (text.held_out, text.corpus.test) if one is not None]
    outside = set(chain.from_iterable(held))
    stages = []
    for number, own in enumerate(recipe.chain[:-1], start=1):
        with naming(recipe, number):
            corpus, reports = _corpus(own, online)
            corpus, left_out = _without_held_out(corpus, outside)
            stage, dropped = _without_evaluated(own, corpus, (dev, *tests))
        stages.append(stage)
        notes += [f"stage {number}: {one}" for one in (*reports, *left_out, *dropped)]
    folds = divide(text.corpus, recipe.folds) if recipe.is_cross_fitted else ()
    return Texts(
        text.corpus, dev, tuple(tests), tuple(notes), text.held_out, dev_rows, tuple(stages), folds=folds, shared=shared
    )


def _corpus(recipe: Recipe, online: bool) -> tuple[Corpus, list[str]]:
    """The rows of a training's text, and reports on them."""
    corpus, reports = corpora.corpus(
        recipe.data,
        recipe.rows,
        recipe.columns,
        online=online,
        keep_duplicates=recipe.keeps_duplicates,
        divide=recipe.kind.predicts() and not recipe.is_cross_fitted,
    )
    recipe.kind.check_rows(corpus)
    return corpus, [str(one) for one in reports]


def _without_evaluated(recipe: Recipe, corpus: Corpus, judged: Sequence[ItemSet]) -> tuple[StageText, list[str]]:
    """The rows to train on, without scored pairs of evaluation sets, those that choose the checkpoint, and notes."""
    batch = recipe.schedule().batch_size if recipe.kind.trains() else 1
    corpus, dropped = corpora.without_evaluated(corpus, (one.sentences for one in judged), batch)
    held = corpus.validation
    if recipe.schedule().select_by != "dev":
        corpus, held = hold_out(corpus)
    drawn_count(recipe, corpus)
    return StageText(corpus, held), [*filter(None, [dropped, corpus.division])]


def _without_held_out(corpus: Corpus, sentences: set[str]) -> tuple[Corpus, list[str]]:
    """The rows of a stage that share no sentence with the held-out rows of the last stage, and a note on the others."""
    kept = [at for at, row in enumerate(zip(*corpus.texts, strict=True)) if sentences.isdisjoint(row)]
    dropped = len(corpus) - len(kept)
    if not dropped:
        return corpus, []
    note = f"{dropped:,} of {len(corpus):,} rows share a sentence with rows that the last stage holds out"
    if not kept:
        raise TooFewRows(f"{note}, so that none is left. Use other text for this stage, or other evaluation sets.")
    return corpus.taken(kept), [f"{note}, and are not trained on"]


def drawn_count(recipe: Recipe, corpus: Corpus) -> int:
    """How many of the rows are trained on; an error if they are too few."""
    if not recipe.kind.trains():
        return len(corpus)
    return recipe.schedule().rows_of(len(corpus), corpus.name, partial(recipe.kind.items, recipe.settings))


def held_out_rows(corpus: Corpus, of: int | None = None) -> tuple[Corpus, Corpus]:
    """The rows to train on, and those of an evaluation set.

    Of few rows more than a tenth are held out, since a set of fewer than ten says nothing. The text has so many rows
    (`of`), of which those that are not given are held out already.
    """
    if not corpus.kind.is_judged:
        raise BadChoice(
            f"{HELD_OUT.name.capitalize()} of {corpus.kind.title} cannot be an evaluation set, since a row has no "
            "score and no two texts that mean the same. Choose scored pairs or a retrieval set."
        )
    return hold_out(corpus, evaluated_count(len(corpus)), "name another evaluation set", of)


def named_passages(recipe: Recipe, corpus: Corpus) -> tuple[str, ...]:
    """The passages of the corpus that a recipe names, among which the queries of its own rows are searched, too."""
    if recipe.corpus is None:
        return ()
    if not corpus.kind.pairs_up or not any(one.is_own_rows for one in (recipe.dev, *recipe.tests)):
        raise BadChoice(
            f"corpus cannot be {sources.shown(recipe.corpus)!r}: only held-out or cross-fitted rows of queries and "
            "passages are searched among it. Leave it out, or set dev and test to such rows."
        )
    return sources.passages(recipe.corpus).texts


def set_of_rows(
    rows: Corpus, which: str, whole: Corpus | None = None, most: int = MOST_PASSAGES, more: Sequence[str] = ()
) -> ItemSet:
    """Rows of a text as a set: scored pairs, labelled rows, or queries, where a first text is to find its second.

    A query is searched among all passages of the `whole` text, as it will be in use, and `more` of a named corpus; of
    more than `most` among those of these rows and others that are drawn.
    """
    name = f"{which} of {rows.name}"
    if rows.labels:
        return replace(rows, name=name)
    if isinstance(rows.kind.answer, Score):
        first, second = rows.texts
        return GradedPairs(name, first, second, rows.scores, ("",) * len(rows), scale=rows.scale)
    own = dict.fromkeys(chain(*rows.texts[1:]))  # also what contradicts a first text
    others = [text for text in dict.fromkeys(chain(*(whole or rows).texts[1:], more)) if text not in own]
    if len(others) > (left := max(0, most - len(own))):
        others = [others[place] for place in splitting.drawn([(text,) for text in others], left)]
    return retrieval_sets.of_pairs(name, rows.texts[0], rows.texts[1], (*own, *others), split=which)


def divide(corpus: Corpus, wanted: int) -> tuple[tuple[int, ...], ...]:
    """The rows of each fold; an error if they cannot be divided.

    Of scored pairs there are fewer folds, if each would otherwise have too few for a score, which is to choose.
    """
    rows = list(zip(*corpus.texts, strict=True))
    if corpus.scores:
        wanted = max(2, min(wanted, len(rows) // LEAST_PAIRS))
    strata = corpus.labels or (splitting.bands_of(corpus.scores, BANDS) if corpus.scores else [0] * len(rows))
    found = splitting.folds(rows, strata, wanted)
    if len(found) < 2:
        raise TooFewRows(
            f"The {len(rows):,} rows of {corpus.name} cannot be divided into folds: all of them are linked by shared "
            "sentences, so that none could be judged by a model that did not see its text. Add rows with other "
            "sentences, or name another dev set and test set."
        )
    return found


def hold_out(
    corpus: Corpus, wanted: int | None = None, otherwise: str = "set select_by to dev", of: int | None = None
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
    count = len(corpus) if of is None else of
    if len(held) < LEAST_HELD_OUT:
        before = f" besides the {count - len(corpus):,} of another evaluation set" * (count > len(corpus))
        raise TooFewRows(
            f"{corpus.name} has {count:,} rows, and {len(held)} of them can be held out without a text in common "
            f"with the others{before}; at least {LEAST_HELD_OUT} are needed. Use more rows, or {otherwise}."
        )
    outside = set(held)
    return corpus.taken([row for row in range(len(corpus)) if row not in outside]), corpus.taken(sorted(held))


def held_out_count(rows: int) -> int:
    """About how many rows are held out."""
    return round(HELD_OUT_SHARE * rows)


def evaluated_count(rows: int) -> int:
    """About how many rows are held out as an evaluation set."""
    return min(max(held_out_count(rows), LEAST_HELD_OUT), MOST_HELD_OUT)


def set_digests(dev: ItemSet | Judge, tests: Sequence[ItemSet | Judge]) -> dict[str, str | None]:
    """Digests of the evaluation sets by their name in recipe.yaml."""
    more = {f"test_{number}{DIGEST}": one.digest for number, one in enumerate(tests[1:], start=2)}
    return {"dev_digest": dev.digest, "test_digest": tests[0].digest if tests else None, **more}
