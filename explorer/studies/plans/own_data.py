"""Read what a text gives to train on: its kind and rows, the sets that it is tested on, and the methods that fit it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import median

from explorer import methods
from explorer.data import corpora, reference_scores, sources, text_sets
from explorer.data.graded import sets
from explorer.data.graded.sets import UNNAMED, SetIdentity, SetKind
from explorer.data.text_sets import Kind
from explorer.encoding.locate import lookup
from explorer.errors import BadChoice
from explorer.knobs import Values
from explorer.methods import MODEL_DEFAULT
from explorer.training.loop.training_texts import read_texts
from explorer.training.recipe import Recipe
from explorer.typed_json import READS

FEW = 100  # test items below which only a large gain differs from chance
MOST_CHOOSING = 500  # items of a dev set; every training evaluates them a dozen times, for checkpoints and blends
MOST_FOLDED = 2_000  # rows of a text of which all are cross-fitted; of more a part tests well enough
MOST_TESTED = 5_000  # items of a test set; more make its interval little narrower
MOST_TRIED = 3  # methods
MOST_LOST = -1.0  # points × 100 under the model default that a method may have lost where all were measured


@dataclass(frozen=True)
class OwnData:
    """What a text holds, and what a training on it is evaluated on."""

    source: str  # as its user named it
    kind: str = ""
    train: SetIdentity = field(default=UNNAMED, metadata={READS: sources.text})  # what is trained on
    dev: SetIdentity = field(default=UNNAMED, metadata={READS: sources.identity})
    test: SetIdentity = field(default=UNNAMED, metadata={READS: sources.identity})
    rows: int = 0  # that are left to train on
    folds: int = 0  # that judge every row; 0 if rows are not cross-fitted
    test_items: int = 0  # pairs, triplets, queries or labelled texts
    duplicates: int = 0
    words: float = 0.0  # the median of a sentence
    most_words: int = 0
    overlap: int = 0  # test sentences that are in the training text
    notes: tuple[str, ...] = ()  # rows that were left out, and why

    @property
    def is_folded(self) -> bool:
        """Whether folds of its rows choose."""
        return self.dev == sets.CROSS_FITTED

    @property
    def own_test(self) -> bool:
        """Whether it is tested on rows of the text itself."""
        return self.test.is_own_rows or (self.train != self.test and self.train.whole == self.test.whole)

    @property
    def of_kind(self) -> Kind:
        """The kind of its rows."""
        return next(kind for kind in text_sets.KINDS if kind.name == self.kind)

    @property
    def lines(self) -> tuple[str, ...]:
        """The facts in words, a line each."""
        length = f"{self.words:g} words in a sentence (median), at most {self.most_words:,}"
        repeated = f"{self.duplicates:,} rows repeat an earlier one" if self.duplicates else "no row occurs twice"
        items = "" if self.test.items else f", {self.test_items:,} items"
        tested = "rows of your own that are not trained on" if self.own_test else "not of this text"
        dev, test = map(sources.shown, (self.dev, self.test))
        judged = f"dev set: {dev}; test set: {test}{items} ({tested})"
        if self.test == sets.CROSS_FITTED:
            judged = f"every row is judged, by the one of {self.folds} models that was not trained on it"
        few = "so few test items that only a large gain can be told from chance" if self.test_items < FEW else ""
        seen = f"{self.overlap:,} of the test sentences are in the training text" if self.overlap else ""
        rows = f"{self.rows:,} rows of {self.of_kind.title} to train on"
        first = f"{sources.shown(self.source)}: {rows}; {repeated}"
        return tuple(filter(None, (first, length, judged, few, seen, *self.notes)))


def read(source: str, model: str = lookup.BUNDLED, dev: SetIdentity = UNNAMED, test: SetIdentity = UNNAMED) -> OwnData:
    """What a file or a set holds; an error if no method trains on it, or nothing of it could be tested.

    Of a text of one's own with at most `MOST_FOLDED` rows, and of labelled texts, all rows are cross-fitted; of more a
    tenth each is held out for dev and test. The train split of a published set has the dev split and the test split of
    that set. Sentences, which cannot judge, are tested on the sample's halves. Sets that are named take their place.
    """
    given = sources.text(source)
    kind, *_ = corpora.kind_of((given,))
    trained, own_dev, own_test = _divided(given, kind)
    if str(test) in (source, str(trained)):
        raise BadChoice(
            f"The test set cannot be {sources.shown(test)}, which is trained on. Leave it out, or name another."
        )
    if dev and own_test == sets.CROSS_FITTED:  # the folds would choose, too
        if not kind.is_judged:
            raise BadChoice(
                f"The dev set cannot be {sources.shown(dev)}: {kind.title} are judged in folds, which also "
                "choose. Leave out the dev set."
            )
        own_test = sets.HELD_OUT
    dev, test = dev or _at_most(MOST_CHOOSING, own_dev), test or _at_most(MOST_TESTED, own_test)
    data = OwnData(source, kind.name, trained, dev, test)
    method = candidates(kind, folded=data.is_folded)[0]
    least = {"batch_size": 2}  # the settings follow from the rows that are left, whose batches are no larger than they
    texts = read_texts(recipe(data, method, model, least))
    corpus = texts.corpus
    sentences = list(chain.from_iterable(corpus.texts))
    lengths = [text.count(" ") + 1 for text in sentences]
    (tested,) = texts.tests
    seen = set() if data.test == sets.CROSS_FITTED else set(tested.sentences).intersection(sentences)
    return replace(
        data,
        rows=len(corpus),
        folds=len(texts.folds),
        test_items=len(tested),
        duplicates=corpus.duplicates,
        words=median(lengths),
        most_words=max(lengths),
        overlap=len(seen),
        notes=texts.reports[1:],
    )


def candidates(kind: Kind, *, folded: bool = False) -> tuple[str, ...]:
    """The methods on rows of a kind that scored best under the model default where all had one budget, the best first.

    Of scored pairs the sentences can be trained on, too: the best method on them stands last, unless the rows are
    `folded`, since sentences cannot be judged. On labelled texts those that predict classes and are suggested for some
    number of rows are tried, one for few rows first.
    """
    if kind == text_sets.LABELLED_TEXTS:
        kinds = [methods.load(name) for name in methods.names()]
        every = [one for one in kinds if one.predicts() and one.suggestion is not None]
        return tuple(one.name for one in sorted(every, key=lambda one: not one.is_for_few()))
    scores = [
        (row.after, name)
        for name in methods.names()
        if methods.load(name).rows == kind
        for row in reference_scores.measured_rows(name)
        if row.setting == MODEL_DEFAULT and row.difference[0] >= MOST_LOST
    ]
    best = tuple(name for _, name in sorted(scores, reverse=True)[:MOST_TRIED])
    return best if folded or kind != text_sets.SCORED_PAIRS else (*best, *candidates(text_sets.SENTENCES)[:1])


def recipe(data: OwnData, method: str, model: str, settings: Values | None = None) -> Recipe:
    """A training by a method on the whole text."""
    named = {"method": method, "model": model, "data": (data.train,), "dev": data.dev, "test": data.test}
    return Recipe.read({**named, "settings": {**own_settings(method), **(settings or {})}})


def own_settings(method: str) -> Values:
    """The settings that differ from a method's defaults: the model is trained and saved as people use it.

    That is under its model default: a gain is then one of training. There is no layer after it, which the base has not
    and could not be blended with.
    """
    knobs = methods.load(method).knobs
    pooling = {"pooling": MODEL_DEFAULT} if "pooling" in knobs and MODEL_DEFAULT in knobs["pooling"].choices else {}
    return {**pooling, **({"keep_head": False} if "keep_head" in knobs else {})}


def _at_most(items: int, given: SetIdentity) -> SetIdentity:
    """A set, or so many items of one with more scored pairs."""
    return given if not given.is_scored or len(sets.load(given)) <= items else given.drawn(items)


def _divided(given: SetIdentity, kind: Kind) -> tuple[SetIdentity, SetIdentity, SetIdentity]:
    """What is trained on, and the dev set and the test set that belong to it."""
    labels = kind == text_sets.LABELLED_TEXTS
    if kind == text_sets.SCORED_PAIRS and given.kind == SetKind.PUBLISHED and not given.piece:
        given = given.of_piece("train") if sets.of_train_part(given) else given
    rows, _ = corpora.corpus((given,), kind, divide=False)
    few = len(rows) + 1 if labels else MOST_FOLDED + 1
    found = corpora.matching_sets((given,), kind, rows, labels=labels, few=few)
    if found is None and labels:  # of a folder, or a published set, the train part
        found = sets.CROSS_FITTED, sets.CROSS_FITTED
    elif found is None and not kind.is_judged:
        found = sets.halves()
    return given, *(found or (sets.HELD_OUT, sets.HELD_OUT))
