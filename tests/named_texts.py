"""The rows of texts that are given by their names, as a user types them."""

from explorer.data import corpora, sources


def corpus(named, *how, **options):
    """The rows of all texts in order, with a report on each of them."""
    return corpora.corpus(sources.texts(named), *how, **options)


def serves(named, *how):
    """For each kind of rows "" if the text has it, else the reason."""
    return corpora.serves(sources.text(named), *how)


def matching_sets(named, *how, **options):
    """The dev set and the test set that belong to texts; None if they have none."""
    return corpora.matching_sets(sources.texts(named), *how, **options)


def of_source(named, **options):
    """The sentences of a text to search."""
    return corpora.of_source(sources.text(named), **options)
