"""The distinct sentences of a set, the sample or a file, as a corpus to search."""

from collections.abc import Sequence

from explorer.data import corpora
from explorer.data.graded import sets, sts
from explorer.data.tables.text_rows import AGAIN
from explorer.data.text_sets import SENTENCES, GradedPairs, Sentences

# 150 MB of vectors for each side of width 384, and as much again for its index
MOST = 100_000


def of_pairs(*several: GradedPairs, name: str = "") -> Sentences:
    """The sentences of scored pairs."""
    every = [sentence for pairs in several for sentence in (*pairs.first, *pairs.second)]
    return _each_once(name or several[0].name, every)


def of_documents(name: str, documents: Sequence[str]) -> Sentences:
    """The documents of a retrieval set."""
    return _each_once(name, documents)


def of_texts(name: str, texts: Sequence[str]) -> Sentences:
    """The texts of any other set."""
    return _each_once(name, texts)


def of_source(source: str, *, online: bool = False) -> Sentences:
    """The sentences of a source: "sample", a set with or without its split, or a path."""
    given = corpora.menu_set(source)
    if given is not None:
        return of_pairs(sets.load(given, online=online))
    if source in {known.name for known in sts.SETS}:
        return of_pairs(*(sets.load(split, online=online) for split in sets.published(source)), name=source)
    corpus, reports = corpora.corpus((source,), SENTENCES, online=online)
    again = sum(dropped.count for report in reports for dropped in report.dropped if dropped.reason == AGAIN)
    dropped = tuple(str(one) for report in reports for one in report.dropped if one.reason != AGAIN)
    return _each_once(corpus.name, corpus.texts[0], again, dropped)


def _each_once(name: str, texts: Sequence[str], again: int = 0, dropped: tuple[str, ...] = ()) -> Sentences:
    distinct = tuple(dict.fromkeys(texts))
    kept = distinct
    if len(distinct) > MOST:
        kept = tuple(distinct[place * len(distinct) // MOST] for place in range(MOST))
    repeats = again + len(texts) - len(distinct)
    return Sentences(name, kept, note=_note(name, len(kept), len(distinct), repeats), dropped=dropped)


def _note(name: str, kept: int, distinct: int, repeats: int) -> str:
    """The number of sentences and what was left out, in words."""
    text = f"{kept:,} sentence{'s' * (kept != 1)} of {name}"
    if kept < distinct:
        text += f", spread evenly over its {distinct:,} (of a text, {MOST:,} are searched at most; vectors on disk may "
        text += "be any number)"
    if repeats:
        text += f"; {repeats:,} repeated {'is' if repeats == 1 else 'are'} left out"
    return f"{text}."
