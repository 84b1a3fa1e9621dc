"""Read what a text gives to train on: its kind and rows, the sets that it is tested on, and the methods that fit it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from statistics import median

from explorer import methods
from explorer.data import corpora, reference_scores, sources, text_sets
from explorer.data.graded import sets
from explorer.data.graded.sets import SetKind
from explorer.data.splitting import TRAIN_PART
from explorer.data.text_sets import Kind
from explorer.encoding.locate import lookup
from explorer.errors import BadChoice
from explorer.knobs import Values
from explorer.methods import MODEL_DEFAULT
from explorer.training.loop.training_texts import read_texts
from explorer.training.recipe import Recipe

FEW = 100  # test items below which only a large gain differs from chance
MOST_CHOOSING = 500  # items of a dev set; every training evaluates them a dozen times, for checkpoints and blends
MOST_TESTED = 5_000  # items of a test set; more make its interval little narrower
MOST_TRIED = 3  # methods
MOST_LOST = -1.0  # points × 100 under the model default that a method may have lost where all were measured


@dataclass(frozen=True)
class OwnData:
    """What a text holds, and what a training on it is evaluated on."""

    source: str  # as its user named it
    kind: str = ""
    train: str = ""  # what is trained on, as a recipe names it
    dev: str = ""
    test: str = ""
    rows: int = 0  # that are left to train on
    test_items: int = 0  # pairs, triplets or queries
    duplicates: int = 0
    words: float = 0.0  # the median of a sentence
    most_words: int = 0
    overlap: int = 0  # test sentences that are in the training text
    notes: tuple[str, ...] = ()  # rows that were left out, and why

    @property
    def own_test(self) -> bool:
        """Whether it is tested on rows of the text itself."""
        same = self.train != self.test and sources.identity(self.train).whole == sources.identity(self.test).whole
        return same or self.test == sources.HELD_OUT

    @property
    def of_kind(self) -> Kind:
        """The kind of its rows."""
        return next(kind for kind in text_sets.KINDS if kind.name == self.kind)

    @property
    def lines(self) -> tuple[str, ...]:
        """The facts in words, a line each."""
        length = f"{self.words:g} words in a sentence (median), at most {self.most_words:,}"
        repeated = f"{self.duplicates:,} rows repeat an earlier one" if self.duplicates else "no row occurs twice"
        tested = "rows of your own that are not trained on" if self.own_test else "not of this text"
        items = "" if sources.identity(self.test).items else f", {self.test_items:,} items"
        few = "so few test items that only a large gain can be told from chance" if self.test_items < FEW else ""
        seen = f"{self.overlap:,} of the test sentences are in the training text" if self.overlap else ""
        return tuple(
            filter(
                None,
                [
                    f"{sources.shown(self.source)}: {self.rows:,} rows of {self.of_kind.title} to train on; {repeated}",
                    length,
                    f"dev set: {sources.shown(self.dev)}; test set: {sources.shown(self.test)}{items} ({tested})",
                    few,
                    seen,
                    *self.notes,
                ],
            )
        )


def read(source: str, model: str = lookup.BUNDLED, dev: str = "", test: str = "") -> OwnData:
    """What a file or a set holds; an error if no method trains on it, or nothing of it could be tested.

    Scored pairs in a file are kept as an uploaded set, whose test half, dev part and train part have no sentence in
    common. The train split of a published set has the dev split and the test split of that set. Of pairs and triplets a
    tenth each is held out. Other text is tested on the sample's halves, unless dev and test set are named.
    """
    kind, _ = corpora.kind_of((source,))
    if kind == text_sets.LABELLED_TEXTS:
        raise BadChoice(
            f"{sources.shown(source)} holds {kind.title}, which no dev and test set of Strata judges. Give scored "
            "pairs, pairs that mean the same, triplets, or sentences; to see whether labels can be predicted from the "
            "vectors of a model, use 'python -m explorer evaluate'."
        )
    train, own_dev, own_test = _divided(source, kind)
    if test in (source, train):
        raise BadChoice(
            f"The test set cannot be {sources.shown(test)}, which is trained on. Leave it out, or name another."
        )
    data = OwnData(
        source, kind.name, train, dev or _at_most(MOST_CHOOSING, own_dev), test or _at_most(MOST_TESTED, own_test)
    )
    texts = read_texts(recipe(data, candidates(kind)[0], model))
    corpus = texts.corpus
    sentences = list(chain.from_iterable(corpus.texts))
    lengths = [text.count(" ") + 1 for text in sentences]
    (tested,) = texts.tests
    of_test = set(sources.texts_of(tested))
    return OwnData(
        **{name: getattr(data, name) for name in ("source", "kind", "train", "dev", "test")},
        rows=len(corpus),
        test_items=len(tested),
        duplicates=corpus.duplicates,
        words=median(lengths),
        most_words=max(lengths),
        overlap=len(of_test.intersection(sentences)),
        notes=texts.reports[1:],
    )


def candidates(kind: Kind) -> tuple[str, ...]:
    """The methods on rows of a kind that scored best under the model default where all had one budget, the best first.

    Of scored pairs the sentences can be trained on, too: the best method on them stands last.
    """
    scores = [
        (row.after, name)
        for name in methods.names()
        if methods.load(name).rows == kind
        for row in reference_scores.measured_rows(name)
        if row.setting == MODEL_DEFAULT and row.difference[0] >= MOST_LOST
    ]
    best = [name for _, name in sorted(scores, reverse=True)[:MOST_TRIED]]
    return (*best, *candidates(text_sets.SENTENCES)[:1]) if kind == text_sets.SCORED_PAIRS else tuple(best)


def recipe(data: OwnData, method: str, model: str, settings: Values | None = None) -> Recipe:
    """A training by a method on the whole text."""
    return Recipe(
        method=method,
        model=model,
        data=(data.train,),
        dev=data.dev,
        test=data.test,
        settings={**own_settings(method), **(settings or {})},
    ).checked()


def own_settings(method: str) -> Values:
    """The settings that differ from a method's defaults: the model is trained and saved as people use it.

    That is under its model default: a gain is then one of training. There is no layer after it, which the base has not
    and could not be blended with.
    """
    knobs = methods.load(method).knobs
    pooling = {"pooling": MODEL_DEFAULT} if "pooling" in knobs and MODEL_DEFAULT in knobs["pooling"].choices else {}
    return {**pooling, **({"keep_head": False} if "keep_head" in knobs else {})}


def _at_most(items: int, source: str) -> str:
    """A set, or so many items of one with more scored pairs."""
    given = sources.identity(source)
    return source if not given.is_scored or len(sets.load(given)) <= items else sources.written(given.drawn(items))


def _divided(source: str, kind: Kind) -> tuple[str, str, str]:
    """What is trained on, and the dev set and the test set that belong to it."""
    if kind.pairs_up:
        return source, sources.HELD_OUT, sources.HELD_OUT
    if kind != text_sets.SCORED_PAIRS or source == corpora.SAMPLE:
        dev, test = (sets.parts()[1], sets.halves()[1]) if kind == text_sets.SCORED_PAIRS else sets.halves()
        return source, sources.written(dev), sources.written(test)
    given = sources.identity(source)
    of_set = sets.of_train_part(given)
    if of_set and given.kind != SetKind.UPLOADED:
        train = given if given.piece else given.of_piece("train")
        return sources.written(train), sources.written(of_set[0]), sources.written(of_set[1])
    if given.kind == SetKind.UPLOADED and (given.items or given.piece not in ("", TRAIN_PART)):
        raise BadChoice(f"{given.title} is a part of a set. Give the whole set '{given.whole.title}'.")
    whole = given.whole if given.kind == SetKind.UPLOADED else sets.keep(sources.scored_pairs(source)[0])
    why = sets.why_not_split(whole, TRAIN_PART)
    if why:
        raise BadChoice(why)
    train, dev = sets.parts(whole)
    return sources.written(train), sources.written(dev), sources.written(sets.halves(whole)[1])
