"""Read the rows that a method trains on: text that ships with Strata, sets by name and files, joined in order."""

from __future__ import annotations

from collections.abc import Mapping as Lookup
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from explorer.data import sample, sources
from explorer.data.graded import sets
from explorer.data.graded.set_identity import SetIdentity, SetKind
from explorer.data.kinds import Columns, Corpus, GradedPairs
from explorer.data.labelled import published_sets, training_rows
from explorer.data.row_kinds import (
    BACK_TRANSLATIONS,
    DOCUMENTS,
    KINDS,
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    TRIPLETS,
    Kind,
)
from explorer.data.sources import HELD_OUT, is_file
from explorer.data.tables import recognition, text_rows
from explorer.data.tables.column_roles import Mapping
from explorer.data.tables.columns import guess
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.grades import scaled
from explorer.data.tables.row_reports import Report, report_on
from explorer.data.tables.table import Table
from explorer.errors import BadChoice, SetNotFound, WrongColumns

__all__ = ["Columns", "Corpus", "corpus", "evaluated_beside", "kind_of", "serves"]

SAMPLE = "sample"
SHIPPED = (SAMPLE, sample.MINIMAL_PAIRS, sample.MORE_MINIMAL_PAIRS)  # names of text that ships with Strata


def corpus(
    sources: Sequence[str],
    eats: Kind,
    columns: Lookup[str, str] | None = None,
    *,
    online: bool = False,
    keep_duplicates: bool = False,
    divide: bool = True,
) -> tuple[Corpus, tuple[Report, ...]]:
    """The rows of all sources in order, with a report on each of them.

    A source is a name in `SHIPPED`, the name of a set, or a file; of a set named without a split, such as
    "STS-B", sentences are taken from all its splits, and scored pairs from its train split, if it has one. `columns`
    are corrections to the files' columns, by role. A sentence that occurs several times is kept once, unless
    `keep_duplicates`. Scores are scaled to 0 to 1 by the lowest and the highest of their source, so that sources with
    different scales can be joined. Labelled texts, also of a folder with a file for each split, are divided into
    training, validation and test rows, unless `divide` is false.
    """
    if not sources:
        raise BadChoice(f"No training text is named. Give '{SAMPLE}', a set such as 'STS-B train', or a file.")
    if eats == LABELLED_TEXTS:
        return _labelled_rows(sources, columns or {}, divide)
    names, parts, reports = zip(
        *(_read(source, eats, columns or {}, online, keep_duplicates) for source in sources), strict=True
    )
    joined: Columns = tuple(tuple(chain.from_iterable(column)) for column in zip(*parts, strict=True))
    if eats == SENTENCES and not keep_duplicates:
        joined = (tuple(dict.fromkeys(map(str, joined[0]))),)
    return Corpus(" + ".join(names), eats, joined), reports


def serves(source: str, columns: Lookup[str, str] | None = None) -> dict[Kind, str]:
    """For each kind of rows "" if the source has it, else the reason; published sets are not read for this."""
    if source == SAMPLE:
        return {eats: _lack(SCORED_PAIRS if eats == SCORED_PAIRS else TRIPLETS, eats) for eats in KINDS}
    if source in SHIPPED:
        return {eats: _lack(TRIPLETS, eats) for eats in KINDS}
    if _is_labelled(source):
        return {eats: _lack(LABELLED_TEXTS, eats) for eats in KINDS}
    if not _is_file(source):
        return {eats: _lack(SCORED_PAIRS, eats) for eats in KINDS}
    table = read_file(source)
    kind = _mapping(table, columns or {}).kind
    lacks = {eats: _lack(kind, eats) for eats in KINDS}
    return {**lacks, LABELLED_TEXTS: training_rows.lack(table, columns or {})}


def kind_of(sources: Sequence[str]) -> tuple[Kind, int]:
    """The richest kind of rows that all sources have, and how many sentences are in a row."""
    found = [_kind_of(source) for source in sources]
    shared = (one for one in found if all(other == one or other[0].gives(one[0]) for other in found))
    return next(shared, (SENTENCES, 1))


def evaluated_beside(named: Sequence[str], eats: Kind) -> tuple[str, str] | None:
    """The evaluation sets that belong to a text: those beside a train part, or held-out rows of own pairs; or None."""
    if eats.pairs_up and named and all(map(is_file, named)):
        return HELD_OUT, HELD_OUT
    graded = eats == SCORED_PAIRS
    given = (sets.parts()[0] if graded and source == SAMPLE else sources.identity(source) for source in named)
    beside = next(filter(None, map(sets.beside_train_part, given)), None)
    return None if beside is None else (sources.written(beside[0]), sources.written(beside[1]))


def menu_set(source: str) -> SetIdentity | None:
    """The set of scored pairs that a source is the name of in the menu; None for any other source."""
    given = sources.identity(source)
    return given if source not in SHIPPED and given in sets.known() else None


def _kind_of(source: str) -> tuple[Kind, int]:
    if source in SHIPPED:
        return TRIPLETS, len(TRIPLETS.texts)
    if _is_labelled(source):
        return LABELLED_TEXTS, 1 + bool(training_rows.read(source, divide=False)[0].train.second)
    if not _is_file(source):
        return SCORED_PAIRS, len(SCORED_PAIRS.texts)
    table = read_file(source)
    kind = recognition.kind_of(table)
    if kind == LABELLED_TEXTS:
        return kind, 1 + bool(guess(table, kind).column("second"))
    return kind, len(kind.texts)


def _read(
    source: str, eats: Kind, columns: Lookup[str, str], online: bool, keep_duplicates: bool
) -> tuple[str, Columns, Report]:
    """The name, columns and report of one source."""
    if source == SAMPLE and eats == SCORED_PAIRS:
        return source, *_scored(sample.train_part())  # without the test half and the dev part
    if source in SHIPPED:
        _check(TRIPLETS, eats, source)
        given = _shipped(source, eats)
    elif _is_labelled(source):
        _check(LABELLED_TEXTS, eats, source)
        texts = training_rows.joined([training_rows.read(source)[0]]).texts
        given = (tuple(chain.from_iterable(texts)),)
    elif _is_file(source):
        table = read_file(source)
        mapping = _mapping(table, columns)
        _check(mapping.kind, eats, table.name)
        return table.name, *_rows(table, mapping, eats, keep_duplicates)
    else:
        _check(SCORED_PAIRS, eats, source)
        if eats == SCORED_PAIRS:
            return source, *_scored(_pairs_of(sources.identity(source), online))
        given = (_sentences_of(sources.identity(source), online, keep_duplicates),)
    return source, given, _report(given)


def _labelled_rows(named: Sequence[str], columns: Lookup[str, str], divide: bool) -> tuple[Corpus, tuple[Report, ...]]:
    """The training rows of labelled sources in order, with their validation and test rows."""
    for source in named:
        if source in SHIPPED or _is_labelled(source):
            continue
        if not _is_file(source):
            _check(SCORED_PAIRS, LABELLED_TEXTS, source)
        table = read_file(source)
        _refuse_if(training_rows.lack(table, columns), LABELLED_TEXTS, table.name)
    parts, reports = zip(*(training_rows.read(source, columns, divide) for source in named), strict=True)
    return training_rows.joined(parts), tuple(chain.from_iterable(reports))


def _is_labelled(source: str) -> bool:
    """Whether a source is the name of a labelled set, or a folder with one."""
    return published_sets.is_known(source) or sources.is_folder(source)


def _shipped(source: str, eats: Kind) -> tuple[tuple[str, ...], ...]:
    if (
        source == SAMPLE and eats == SENTENCES
    ):  # also those of the pairs, without scores, as papers train on the sentences of sets
        return ((*sample.sentences().texts, *sample.pairs().sentences),)
    minimal = sample.minimal_pairs if source == sample.MINIMAL_PAIRS else sample.more_minimal_pairs
    rows = sample.triplets() if source == SAMPLE else minimal()
    columns = (rows.anchors, rows.positives, rows.negatives)
    if eats == SENTENCES:
        return (tuple(chain.from_iterable(zip(*columns, strict=True))),)
    return columns[: len(eats.texts)]


def _sentences_of(named: SetIdentity, online: bool, keep_duplicates: bool) -> tuple[str, ...]:
    """The sentences of a set; of a published one named without a split, those of all its splits."""
    all_splits = named.kind == SetKind.PUBLISHED and not named.piece
    splits = [sets.load(one, online=online) for one in (sets.published(named.name) if all_splits else [named])]
    every = ((*split.first, *split.second) if keep_duplicates else split.sentences for split in splits)
    return tuple(chain.from_iterable(every))


def _pairs_of(named: SetIdentity, online: bool) -> GradedPairs:
    """The scored pairs of a set; of a published one named without a split, those of its train split, if it has one."""
    whole = named.kind == SetKind.PUBLISHED and not named.piece
    train = named.of_piece("train")
    return sets.load(train if whole and train in sets.published(named.name) else named, online=online)


def _scored(pairs: GradedPairs) -> tuple[Columns, Report]:
    """Scored pairs as columns, with a report."""
    rows = tuple(zip(pairs.first, pairs.second, pairs.gold, strict=True))
    nothing_dropped = Table("", columns=(), rows=(), lines=())
    report = report_on(nothing_dropped, (), rows, pairs.first + pairs.second, pairs.gold)
    return _with_scores(pairs), replace(report, rows_read=len(rows))


def _is_file(source: str) -> bool:
    """Whether a source is a file; an error if it is neither a file nor a set."""
    if sources.is_file(source):
        return True
    try:
        sets.check(sources.identity(source))
    except SetNotFound as error:
        named = " or ".join([*(f"'{name}'" for name in SHIPPED), "a labelled set such as 'MRPC'"])
        raise SetNotFound(f"{error} Or give {named}, or a file that ends in {', '.join(ENDINGS)}.") from None
    return False


def _mapping(table: Table, columns: Lookup[str, str]) -> Mapping:
    """The most likely mapping with the given roles."""
    given = set(columns)
    kinds = (guess(table).kind, *KINDS) if given != {"sentence"} else (SENTENCES,)
    for kind in kinds:
        if given <= set(kind.roles):
            mapping = guess(table, kind).corrected(columns)
            mapping.check(table)
            return mapping
    allowed = "; ".join(f"{kind}: {', '.join(kind.roles)}" for kind in KINDS)
    raise WrongColumns(
        f"No kind of rows has the roles {', '.join(columns)}. There are {allowed}. Use roles of one kind."
    )


def _rows(table: Table, mapping: Mapping, eats: Kind, keep_duplicates: bool) -> tuple[Columns, Report]:
    """A table as rows of the required kind: the first columns of a richer kind, or all its sentences."""
    if eats.answer:
        pairs, report = text_rows.graded_pairs(table, mapping)
        return _with_scores(pairs), report
    used = [(text, mapping.column(text.role)) for text in mapping.kind.texts]
    columns = [column for text, column in used if column is not None]
    if eats == SENTENCES:
        # machine translations are near copies of the first column
        own = [column for text, column in used if column is not None and text.relation != "translated"]
        table, mapping = _stacked(table, own), Mapping.of(eats, {"sentence": "sentence"})
        rows, report = text_rows.sentences(table, mapping, keep_duplicates=keep_duplicates)
        return (rows.texts,), report
    needed = (text.role for text in eats.texts)
    return text_rows.texts(table, Mapping.of(eats, dict(zip(needed, columns, strict=False))))


def _stacked(table: Table, columns: Sequence[str]) -> Table:
    """Join the sentences of several columns into one."""
    cells = tuple((cell,) for column in columns for cell in table.column(column))
    return replace(table, columns=("sentence",), rows=cells, lines=table.lines * len(columns))


def _with_scores(pairs: GradedPairs) -> Columns:
    return pairs.first, pairs.second, scaled(pairs.gold)


def _report(columns: tuple[tuple[str, ...], ...]) -> Report:
    """The report on rows that need no check."""
    rows = tuple(zip(*columns, strict=True))
    nothing_dropped = Table("", columns=(), rows=(), lines=())
    return replace(report_on(nothing_dropped, (), rows, sum(columns, ())), rows_read=len(rows))


def _check(kind: Kind, eats: Kind, name: str) -> None:
    _refuse_if(_lack(kind, eats), eats, name)


def _refuse_if(lack: str, eats: Kind, name: str) -> None:
    if lack:
        raise WrongColumns(f"{name} cannot give {eats}: it {lack}. Choose other data, or another method.")


def _lack(kind: Kind, eats: Kind) -> str:
    """The reason why a kind of data lacks what is needed, as the end of a sentence; "" if it does not."""
    if kind.gives(eats):
        return ""
    if eats == BACK_TRANSLATIONS:
        named = (
            "; if its pairs are back-translations, name their columns sentence=… and translated=…"
            if kind == PAIRS
            else ""
        )
        return f"has no back-translations: make them with 'python -m explorer backtranslate'{named}"
    if eats == LABELLED_TEXTS:
        return training_rows.LACK
    if eats == DOCUMENTS:
        return "has no documents: a file with one text of many sentences per row is needed; name its column document=…"
    if eats == SCORED_PAIRS:
        return "has no scores: two columns of sentences and a column of numbers are needed"
    if kind in (SENTENCES, LABELLED_TEXTS):
        more = "a second column is" if eats == PAIRS else "two more columns are"
        return f"has one sentence per row: {more} needed"
    if eats == TRIPLETS:
        return "has two sentences per row and no contradiction: a third column is needed"
    return "has scored pairs, which may be unrelated: keep the pairs with the same meaning, without the score"
