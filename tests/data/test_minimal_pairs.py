"""Test that the minimal pairs for training are varied, and share nothing with the test sets."""

from collections import Counter

import pytest

from explorer.data import sample
from explorer.data.corpora import corpus, serves
from explorer.data.tables.files import read_file
from explorer.data.text_sets import BACK_TRANSLATIONS, PAIRS, SENTENCES, TRIPLETS
from tests.data import held_out

BOTH = {sample.MINIMAL_PAIRS: sample.minimal_pairs(), sample.MORE_MINIMAL_PAIRS: sample.more_minimal_pairs()}
ROWS = tuple(row for of in BOTH.values() for row in zip(of.anchors, of.positives, of.negatives, strict=True))
TEXTS = tuple(sentence for row in ROWS for sentence in row)
DIFFERENT = tuple(pack for pack in sample.probe_packs() if not pack.same)
PROBES = tuple(sentence for pack in sample.probe_packs() for sentence in (*pack.first, *pack.second))
TEST = sample.test()
# with fewer words a frame such as "the _ is _" is grammar
TEMPLATE_WORDS = 3
RUN = 3


def kinds_of(name):
    """How each row's negative differs from its anchor."""
    return read_file(sample.FOLDER / f"{name.replace(' ', '_')}.tsv").column("kind")


def test_no_row_is_dropped_every_taught_difference_has_rows_and_some_protect_similarity():
    for name, triplets in BOTH.items():
        assert len(triplets) == len(kinds_of(name))
    assert len({held_out.words(text) for text in TEXTS}) == len(TEXTS)
    count, more = (Counter(kinds_of(name)) for name in BOTH)
    assert set(count) == {"negation", "antonym", "number", "paraphrase"}
    assert set(more) == {"role swap", "antonym", "detail"}
    assert min(*count.values(), *more.values()) >= 70
    assert count.total() >= 600


def test_no_probe_and_no_run_of_content_words_is_in_the_training_text():
    trained = {held_out.words(text) for text in TEXTS}
    assert not [one for one in (*PROBES, *sample.pairs().sentences) if held_out.words(one) in trained]
    trained = {run for text in TEXTS for run in held_out.runs(text, RUN)}
    for sentence in (*PROBES, *TEST.sentences):
        assert not held_out.runs(sentence, RUN) & trained, sentence


@pytest.mark.parametrize("pack", DIFFERENT, ids=lambda pack: pack.name)
def test_no_pair_of_swapped_words_of_a_probe_is_swapped_in_training(pack):
    trained = {swap for anchor, _, negative in ROWS for swap in held_out.swaps(anchor, negative)}
    for first, second in zip(pack.first, pack.second, strict=True):
        assert not held_out.swaps(first, second) & trained, (first, second)


def test_no_pair_of_swapped_words_of_the_test_half_is_swapped_in_training_whichever_comes_first():
    trained = {swap for anchor, _, negative in ROWS for swap in held_out.swaps(anchor, negative)}
    for first, second in zip(TEST.first, TEST.second, strict=True):
        assert not held_out.swaps(first, second) & trained, (first, second)
    assert held_out.swaps("It is rising.", "It is falling.") == held_out.swaps("The sun falls.", "The sun rises.")
    assert held_out.swaps("The dog saw the cat.", "The cat saw the dog.") == {frozenset(("dog", "cat"))}


def test_no_template_of_a_probe_or_a_test_pair_is_one_of_training():
    trained = {held_out.template(anchor, negative) for anchor, _, negative in ROWS}
    pairs = [pair for pack in DIFFERENT for pair in zip(pack.first, pack.second, strict=True)]
    for first, second in (*pairs, *zip(TEST.first, TEST.second, strict=True)):
        shared = held_out.template(first, second)
        assert sum(word != "_" for word in shared) < TEMPLATE_WORDS or shared not in trained, (first, second)


def test_no_row_teaches_a_quantifier_or_an_order_in_time():
    for anchor, _, negative in ROWS:
        assert not held_out.only(anchor, negative, held_out.QUANTIFIERS), (anchor, negative)
        assert not held_out.only_added_or_swapped(anchor, negative, held_out.TIME_WORDS), (anchor, negative)
        if sorted(held_out.words(anchor)) == sorted(held_out.words(negative)):
            assert not held_out.TIME_WORDS & set(held_out.words(anchor)), (anchor, negative)


def test_they_are_named_like_the_sample_and_serve_triplets_pairs_and_sentences():
    for name, of in BOTH.items():
        triplets, _ = corpus([name], TRIPLETS)
        assert triplets.columns == (of.anchors, of.positives, of.negatives)
        pairs, _ = corpus([name], PAIRS)
        assert pairs.columns == (of.anchors, of.positives)
    sentences, _ = corpus(list(BOTH), SENTENCES)
    assert sentences.columns == (TEXTS,)
    assert not any(serves("minimal pairs")[eats] for eats in (TRIPLETS, PAIRS, SENTENCES))
    assert serves("minimal pairs")[BACK_TRANSLATIONS]
