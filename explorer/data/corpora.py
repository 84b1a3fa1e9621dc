"""Read the rows that a method trains on, and the sentences that are searched: shipped text, sets by name, and files.

Training rows of several sources are joined in order. Rows of scored pairs that share a sentence with the evaluation
sets of a run are left out.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from explorer import places
from explorer.data import sample, sources, text_sets
from explorer.data.graded import published_sets, question_pairs, sets
from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.labelled import labelled_sets, training_rows
from explorer.data.set_items import GoldScale
from explorer.data.sources import is_file
from explorer.data.splitting import linked
from explorer.data.tables import text_rows
from explorer.data.tables.columns import guess, scaled, table_kind
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.tables.text_rows import AGAIN, Report, report_on
from explorer.data.text_sets import Columns, Corpus, GradedPairs, Kind, Score, Sentences
from explorer.errors import BadChoice, BadScores, SetNotFound, TooFewRows, WrongColumns

SAMPLE = sample.TEXT
SHIPPED = tuple(training_rows.SHIPPED)  # names of text that ships with Strata
OTHER_SETS = (
    "Choose other dev or test pairs, or use more training rows. For an uploaded set, train on its train part, with "
    "its dev part and its test half."
)
FEW = 500  # rows of one's own text, below which all of them are cross-fitted
LEAST = 4  # rows that can be: two to train on, and two to judge
Sets = tuple[SetIdentity, SetIdentity]  # a dev set and a test set
# 150 MB of vectors for each side of width 384, and as much again for its index
MOST = 100_000


def corpus(
    given: Sequence[SetIdentity],
    wanted: Kind,
    columns: Mapping[str, str] | None = None,
    *,
    online: bool = False,
    keep_duplicates: bool = False,
    as_written: bool = False,
    divide: bool = True,
) -> tuple[Corpus, tuple[Report, ...]]:
    """The rows of all texts in order, with a report on each of them.

    A text is one of `SHIPPED`, a set, or a file; of a set named without a split, such as
    "STS-B", sentences are taken from all its splits, and scored pairs from its train split, if it has one. `columns`
    are corrections to the files' columns, by role. A sentence that occurs several times is kept once, unless
    `keep_duplicates`. Sentences of files have single spaces between words, unless `as_written`. Scores are scaled to 0
    to 1 by the lowest and the highest of their source, so that sources with different scales can be joined. Labelled
    texts, also of a folder with a file for each split, are divided into training, validation and test rows, unless
    `divide` is false.
    """
    if not given:
        raise BadChoice(f"No training text is named. Give '{SAMPLE}', a set such as 'STS-B train', or a file.")
    if wanted == text_sets.LABELLED_TEXTS:
        for one in given:
            kind, table = _offered(one)
            lack = _what_is_missing(kind, wanted) if table is None else training_rows.lack(table, columns or {})
            _refuse_if(lack, wanted, str(one) if table is None else table.name)
        of_labelled = [training_rows.read(str(one), columns, divide) for one in given]
        joined_rows = training_rows.joined([rows for rows, _ in of_labelled])
        return joined_rows, tuple(report for _, own in of_labelled for report in own)
    read = (_read(one, wanted, columns or {}, online, keep_duplicates, as_written) for one in given)
    names, parts, reports = zip(*read, strict=True)
    joined: Columns = tuple(tuple(chain.from_iterable(column)) for column in zip(*parts, strict=True))
    if wanted == text_sets.SENTENCES and not keep_duplicates:
        joined = (tuple(dict.fromkeys(map(str, joined[0]))),)
    return Corpus(" + ".join(names), wanted, joined, scale=_scale(wanted, reports)), reports


def _scale(wanted: Kind, reports: Sequence[Report]) -> GoldScale | None:
    """The scale that the scores of all sources have; 0 to 1 if they have several."""
    if wanted != text_sets.SCORED_PAIRS:
        return None
    ranges = {report.score_range for report in reports}
    return GoldScale(*(next(iter(ranges)) or ())) if len(ranges) == 1 else GoldScale()


def serves(given: SetIdentity, columns: Mapping[str, str] | None = None) -> dict[Kind, str]:
    """For each kind of rows "" if the text has it, else the reason; published sets are not read for this."""
    kind, table = _offered(given)
    if table is None:
        lacks = {wanted: _what_is_missing(kind, wanted) for wanted in text_sets.KINDS}
        return {**lacks, text_sets.SCORED_PAIRS: ""} if str(given) == SAMPLE else lacks
    kind = _roles(table, columns or {}).kind
    return {wanted: _what_is_missing(kind, wanted) for wanted in text_sets.KINDS} | {
        text_sets.LABELLED_TEXTS: training_rows.lack(table, columns or {})
    }


def kind_of(given: Sequence[SetIdentity]) -> tuple[Kind, int, int]:
    """The richest kind of rows that all texts have, how many sentences are in a row, and the rows of files."""
    found, rows = [], 0
    for one in given:
        kind, table = _offered(one)
        if table is not None:
            rows += len(table.rows)
            kind = table_kind(table)
            pairs = kind != text_sets.LABELLED_TEXTS or guess(table, kind).column("second") is not None
        else:
            pairs = kind != text_sets.LABELLED_TEXTS or training_rows.read(str(one), divide=False)[0][0].is_pairs
        found.append((kind, len(kind.texts) if pairs else 1))
    shared = (one for one in found if all(other == one or other[0].gives(one[0]) for other in found))
    return *next(shared, (text_sets.SENTENCES, 1)), rows


def matching_sets(
    given: Sequence[SetIdentity], wanted: Kind, rows: Corpus | None = None, *, labels: bool = False, few: int = 0
) -> Sets | None:
    """The dev set and the test set that belong to a text; None if it has none.

    Those of a train part, or of the train split of a published set, are of the same set, whatever is trained on of it;
    of several, those of the first. Text of one's own is judged by its `rows`: fewer than `few`, or `FEW`, are
    cross-fitted, of more some are held out. With `labels`, their classes are judged too.
    """
    if given and all(map(_is_own, given)):
        if rows is not None and len(rows) < (few or FEW) and (wanted.is_judged or labels) and _is_divisible(rows):
            return sets.CROSS_FITTED, sets.CROSS_FITTED
        return (sets.HELD_OUT, sets.HELD_OUT) if wanted.is_judged else None
    graded = wanted == text_sets.SCORED_PAIRS
    trained = (sets.parts()[0] if graded and str(one) == SAMPLE else one for one in given)
    return next(filter(None, map(sets.of_train_part, trained)), None)


def _is_own(given: SetIdentity) -> bool:
    """Whether a source is a file, or all of an uploaded set; a folder has its own parts."""
    of_upload = given.kind == SetKind.UPLOADED and given == given.whole
    return of_upload or (is_file(str(given)) and not sources.is_folder(str(given)))


def _is_divisible(rows: Corpus) -> bool:
    """Whether each of two parts of the rows can train a model and be judged by one that did not see it."""
    return len(rows) >= LEAST and len(linked(zip(*rows.texts, strict=True))) > 1


def stamp(given: SetIdentity) -> Hashable:
    """A value that changes when the text of a source does: with a file, one in a folder, or one of a set."""
    if given.is_scored:
        return sets.stamp(given)
    try:
        located = sources.located(given)
    except SetNotFound:
        return ()  # what loads the set says so
    if located == sources.QUORA:
        named = tuple(filter(None, [question_pairs.path()]))
    else:
        named = labelled_sets.files(located) if labelled_sets.is_known(located) else ()
    try:  # a file, or a folder with all that is read of it, such as the judgements of a retrieval set
        path = Path(located).expanduser()
        there = [path, *sorted((*path.glob("*"), *path.glob("qrels/*")))] if located else []
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null byte
        there = []
    return places.stamps([*there, *named])


def _offered(given: SetIdentity) -> tuple[Kind, Table | None]:
    """The richest kind of rows in a text other than a file; of a file its table, whose columns decide the kind."""
    source = str(given)
    if source in SHIPPED:
        return text_sets.TRIPLETS, None
    if labelled_sets.is_known(source) or sources.is_folder(source):
        return text_sets.LABELLED_TEXTS, None
    if sources.is_file(source):
        return text_sets.SCORED_PAIRS, read_file(source)
    try:
        sets.check(given)
    except SetNotFound as error:
        named = " or ".join([*(f"'{name}'" for name in SHIPPED), "a labelled set such as 'MRPC'"])
        raise SetNotFound(f"{error} Or give {named}, or a file that ends in {', '.join(ENDINGS)}.") from None
    return text_sets.SCORED_PAIRS, None


def without_evaluated(given: Corpus, evaluated: Iterable[Sequence[str]], batch: int) -> tuple[Corpus, str]:
    """Keep the rows that share no sentence with the texts of these sets; an error if a batch cannot be filled.

    Only scored pairs are filtered, since their scores are the target of the evaluation.
    """
    if not isinstance(given.kind.answer, Score):
        return given, ""
    sentences = set().union(*evaluated)
    rows = tuple(zip(*given.columns, strict=True))
    left = tuple(row for row in rows if not sentences & set(row[:2]))
    dropped = len(rows) - len(left)
    shared = f"rows of {given.name} share a sentence with the dev or test pairs"
    if not left:
        raise TooFewRows(f"All {dropped:,} {shared}, so no training rows are left. {OTHER_SETS}")
    share = f"{dropped:,} of {len(rows):,} {shared}"
    if dropped and len(left) < batch:
        fewer = f"Set batch_size to {len(left)} or less. Or: " if len(left) > 1 else ""
        raise TooFewRows(f"{share}; {len(left):,} are left, but a batch takes {batch}. {fewer}{OTHER_SETS}")
    if len({row[2] for row in left}) == 1:
        more = f" once {share}" if dropped else ""
        raise BadScores(
            f"Every score in {given.name} is the same{more}, so there is no order to train. Choose text whose scores "
            f"differ. {OTHER_SETS}"
        )
    if not dropped:
        return given, ""
    columns = tuple(zip(*left, strict=True))
    return replace(given, columns=columns), f"held out: {share} and are not trained on; {len(left):,} rows are left"


def drawn(given: Corpus, wanted: int, seed: int) -> Corpus:
    """So many rows that a seed draws, in the order of the text: for one seed, more rows hold those of fewer.

    Each row has a number that follows from the seed and its first two sentences, and the lowest are taken. So pairs and
    triplets of one file, and pairs with and without scores, are drawn alike, in whichever order they are.
    """
    if wanted == len(given):
        return given
    times: Counter[tuple[str, ...]] = Counter()
    numbers = []
    for texts in zip(*given.texts[:2], strict=True):
        times[texts] += 1
        numbers.append(text_sets.digest_of((str(seed), str(times[texts]), *texts)))
    rows = sorted(sorted(range(len(given)), key=numbers.__getitem__)[:wanted])
    found = given.taken(rows)
    if isinstance(given.kind.answer, Score) and len(set(found.scores)) == 1:
        raise BadScores(
            f"Every score in the {wanted:,} rows that seed {seed} draws from {given.name} is the same, so there is no "
            "order to train. Raise rows, or choose another seed."
        )
    return found


def of_source(given: SetIdentity, *, online: bool = False) -> Sentences:
    """The sentences of a text to search: "sample", a set with or without its split, or a path."""
    if given in sets.known():
        return of_pairs(sets.load(given, online=online))
    if (name := str(given)) in {known.name for known in published_sets.SETS}:
        return of_pairs(*(sets.load(split, online=online) for split in sets.published(name)), name=name)
    found, reports = corpus((given,), text_sets.SENTENCES, online=online)
    left_out = [dropped for report in reports for dropped in report.dropped]
    again = sum(dropped.count for dropped in left_out if dropped.reason == AGAIN)
    dropped = tuple(str(one) for one in left_out if one.reason != AGAIN)
    return replace(of_texts(found.name, found.texts[0], again), dropped=dropped)


def of_pairs(*several: GradedPairs, name: str = "") -> Sentences:
    """The sentences of scored pairs to search."""
    every = [sentence for pairs in several for sentence in (*pairs.first, *pairs.second)]
    return of_texts(name or several[0].name, every)


def of_texts(name: str, texts: Sequence[str], again: int = 0) -> Sentences:
    """Distinct texts to search, such as the documents of a retrieval set; `again` were left out before."""
    distinct = tuple(dict.fromkeys(texts))
    kept = distinct
    if len(distinct) > MOST:
        kept = tuple(distinct[place * len(distinct) // MOST] for place in range(MOST))
    repeats = again + len(texts) - len(distinct)
    note = f"{len(kept):,} sentence{'s' * (len(kept) != 1)} of {name}"
    if len(kept) < len(distinct):
        most = f"of a text, {MOST:,} are searched at most; vectors on disk may be any number"
        note += f", spread evenly over its {len(distinct):,} ({most})"
    if repeats:
        note += f"; {repeats:,} repeated {'is' if repeats == 1 else 'are'} left out"
    return Sentences(name, kept, note=f"{note}.")


def _read(
    text: SetIdentity, wanted: Kind, columns: Mapping[str, str], online: bool, keep_duplicates: bool, as_written: bool
) -> tuple[str, Columns, Report]:
    source = str(text)
    if source == SAMPLE and wanted == text_sets.SCORED_PAIRS:
        return source, *_scored(sample.train_part())  # without the test half and the dev part
    kind, table = _offered(text)
    if table is not None:
        if wanted == text_sets.SCORED_TRIPLETS:  # of which a file has more columns than is guessed
            return table.name, *text_rows.scored_triplets(table, guess(table, wanted).corrected(columns))
        roles = _roles(table, columns)
        _refuse_if(_what_is_missing(roles.kind, wanted), wanted, table.name)
        return table.name, *_rows(table, roles, wanted, keep_duplicates, as_written)
    _refuse_if(_what_is_missing(kind, wanted), wanted, source)
    given: tuple[tuple[str, ...], ...]
    if source == SAMPLE and wanted == text_sets.SENTENCES:
        # also those of the pairs, without scores, as papers train on the sentences of sets
        given = ((*sample.sentences().texts, *sample.pairs().sentences),)
    elif kind == text_sets.TRIPLETS:
        rows = training_rows.SHIPPED[source]()
        given = (rows.anchors, rows.positives, rows.negatives)[: len(wanted.texts)]
        if wanted == text_sets.SENTENCES:  # of all columns, row by row
            given = (tuple(chain(*zip(rows.anchors, rows.positives, rows.negatives, strict=True))),)
    elif kind == text_sets.LABELLED_TEXTS:
        texts = training_rows.joined([training_rows.read(source)[0]]).texts
        given = (tuple(chain(*texts)),)
    else:
        splits = sets.published(text.name) if text.kind == SetKind.PUBLISHED and not text.piece else ()
        if wanted == text_sets.SCORED_PAIRS:
            # of a published set without a split those of its train split, if it has one
            train = text.of_piece("train")
            return source, *_scored(sets.load(train if train in splits else text, online=online))
        pairs = [sets.load(one, online=online) for one in splits or [text]]
        every = ((*split.first, *split.second) if keep_duplicates else split.sentences for split in pairs)
        given = (tuple(chain(*every)),)
    return source, given, _report(given)


def _scored(pairs: GradedPairs) -> tuple[Columns, Report]:
    return _with_scores(pairs), _report((pairs.first, pairs.second), pairs.gold)


def _roles(table: Table, columns: Mapping[str, str]) -> ColumnRoles:
    """The most likely roles with the given roles."""
    given = set(columns)
    every = (*text_sets.KINDS, text_sets.SCORED_TRIPLETS)
    kinds = (guess(table).kind, *every) if given != {"sentence"} else (text_sets.SENTENCES,)
    for kind in kinds:
        if given <= set(kind.roles):
            roles = guess(table, kind).corrected(columns)
            roles.check(table)
            return roles
    allowed = "; ".join(f"{kind}: {', '.join(kind.roles)}" for kind in every)
    raise WrongColumns(
        f"No kind of rows has the roles {', '.join(columns)}. There are {allowed}. Use roles of one kind."
    )


def _rows(
    table: Table, roles: ColumnRoles, wanted: Kind, keep_duplicates: bool, as_written: bool
) -> tuple[Columns, Report]:
    """A table as rows of the required kind: the first columns of a richer kind, or all its sentences."""
    if wanted.answer:
        pairs, report = text_rows.graded_pairs(table, roles)
        return _with_scores(pairs), report
    used = [(text, roles.column(text.role)) for text in roles.kind.texts]
    columns = [column for text, column in used if column is not None]
    if wanted == text_sets.SENTENCES:
        # the sentences of all columns in one; machine translations are near copies of the first column
        own = [column for text, column in used if column is not None and text.relation != "translated"]
        cells = tuple((cell,) for column in own for cell in table.column(column))
        stacked = replace(table, columns=("sentence",), rows=cells, lines=table.lines * len(own))
        roles = ColumnRoles.of(wanted, {"sentence": "sentence"})
        rows, report = text_rows.sentences(stacked, roles, keep_duplicates=keep_duplicates, as_written=as_written)
        return (rows.texts,), report
    needed = (text.role for text in wanted.texts)
    return text_rows.texts(table, ColumnRoles.of(wanted, dict(zip(needed, columns, strict=False))))


def _with_scores(pairs: GradedPairs) -> Columns:
    return pairs.first, pairs.second, scaled(pairs.gold)


def _report(columns: tuple[tuple[str, ...], ...], gold: tuple[float, ...] = ()) -> Report:
    """The report on rows that need no check."""
    rows = tuple(zip(*columns, *([gold] if gold else []), strict=True))
    nothing_dropped = Table("", columns=(), rows=(), lines=())
    return replace(report_on(nothing_dropped, (), rows, sum(columns, ()), gold), rows_read=len(rows))


def _refuse_if(lack: str, wanted: Kind, name: str) -> None:
    if lack:
        raise WrongColumns(f"{name} cannot give {wanted}: it {lack}. Choose other data, or another method.")


def _what_is_missing(kind: Kind, wanted: Kind) -> str:
    """The reason why a kind of data lacks what is needed, as the end of a sentence; "" if it does not."""
    if kind.gives(wanted):
        return ""
    if wanted == text_sets.BACK_TRANSLATIONS:
        named = "; if its pairs are back-translations, name their columns sentence=… and translated=…"
        how = named if kind == text_sets.PAIRS else ""
        return f"has no back-translations: make them with 'python -m explorer backtranslate'{how}"
    if wanted == text_sets.LABELLED_TEXTS:
        return training_rows.LACK
    if wanted == text_sets.SCORED_TRIPLETS:
        return "has no teacher scores: a file of triplets with score_positive and score_negative, or margin, is needed"
    if wanted == text_sets.DOCUMENTS:
        return "has no documents: a file with one text of many sentences per row is needed; name its column document=…"
    if wanted == text_sets.SCORED_PAIRS:
        return "has no scores: two columns of sentences and a column of numbers are needed"
    if kind in (text_sets.SENTENCES, text_sets.LABELLED_TEXTS):
        more = "a second column is" if wanted == text_sets.PAIRS else "two more columns are"
        return f"has one sentence per row: {more} needed"
    if wanted == text_sets.TRIPLETS:
        return "has two sentences per row and no contradiction: a third column is needed"
    return "has scored pairs, which may be unrelated: keep the pairs with the same meaning, without the score"
