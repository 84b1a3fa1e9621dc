"""Test that the words behind a cosine come back from the disk as they were computed, and only for their own key."""

import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.readings import MASK, OWN, parse
from explorer.errors import UnsupportedModel
from explorer.measuring.sentences import word_store
from explorer.measuring.sentences.word_pair import word_pair
from explorer.progress import finish
from tests.tiny_models import save_tiny

PAIR = "a man is playing the guitar", "a dog is playing"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    save_tiny("bert", folder)
    found = of_folder("tiny", folder)
    return found, load(found, "float32", "cpu", EAGER)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    return tmp_path


def never():
    raise AssertionError("the encoder was loaded again")


def test_what_was_computed_is_read_to_the_bit_without_loading_the_encoder(model):
    found, encoder = model
    cut = {"max_length": 6}
    first = finish(word_store.measured(found, PAIR, OWN, lambda: encoder, **cut))
    again = finish(word_store.measured(found, PAIR, OWN, never, **cut))
    computed = finish(word_pair(encoder, *PAIR, OWN, **cut))
    assert computed.cuts == ((6, 8), None)
    for one in (first, again):
        assert facts(one) == facts(computed)


def facts(pair):
    """All that a pair holds, for an equality to the bit."""
    arrays = *pair.contributions, *(() if pair.matrix is None else (pair.matrix,))
    return pair.words, pair.rests, pair.cosine, pair.points, pair.cuts, *(array.tolist() for array in arrays)


def test_a_matrix_is_added_to_what_is_stored_and_serves_both(model):
    found, encoder = model
    assert finish(word_store.measured(found, PAIR, OWN, lambda: encoder)).matrix is None
    whole = finish(word_store.measured(found, PAIR, OWN, lambda: encoder, matrix=True))
    assert whole.matrix is not None
    for matrix in (False, True):
        assert facts(finish(word_store.measured(found, PAIR, OWN, never, matrix=matrix))) == facts(whole)


@pytest.mark.parametrize(
    ("sentences", "settings"), [((PAIR[0], "a cat"), {}), (PAIR, {"reference": MASK}), (PAIR, {"max_length": 4})]
)
def test_another_pair_and_another_setting_are_computed(model, sentences, settings):
    found, encoder = model
    finish(word_store.measured(found, PAIR, OWN, lambda: encoder))
    with pytest.raises(AssertionError, match="loaded again"):
        finish(word_store.measured(found, sentences, OWN, never, **settings))


def test_pairs_are_explained_under_both_sides_and_a_refused_model_is_a_reason(model):
    found, encoder = model
    sides = {"A": (found, OWN), "B": (found, parse("max of layer 1", 2))}
    given = [PAIR, ("a cat", "a dog")]
    told = finish(word_store.of_pairs(sides, given, lambda _: encoder))
    assert [one.sentences for one in told.pairs] == given
    for side, (_, reading) in sides.items():
        assert told.pairs[1].pairs[side].cosine == finish(word_pair(encoder, *given[1], reading)).cosine

    def refuse(_):
        raise UnsupportedModel("It cannot be weighed.")

    assert finish(word_store.of_pairs(sides, given, refuse)).pairs, "they are stored"
    refused = finish(word_store.of_pairs(sides, [*given, ("a", "b")], refuse))
    assert (refused.pairs, refused.why_none) == ((), "It cannot be weighed.")


def test_a_broken_file_is_computed_again_and_not_shown(model, own_cache):
    found, encoder = model
    first = finish(word_store.measured(found, PAIR, OWN, lambda: encoder))
    (file,) = own_cache.rglob("*.npz")
    whole = file.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert word_store.kept(file.stem) is None
    assert facts(finish(word_store.measured(found, PAIR, OWN, lambda: encoder))) == facts(first)
    assert word_store.kept(file.stem) is not None


def test_what_ships_with_the_examples_is_found(model, monkeypatch, tmp_path):
    found, encoder = model
    computed = finish(word_pair(encoder, *PAIR, OWN))
    monkeypatch.setattr(word_store, "examples_folder", lambda: tmp_path / "examples")
    name = word_store.key(found.digest, PAIR, OWN.title)
    word_store.keep(name, computed, tmp_path / "examples" / word_store.WORDS)
    assert facts(finish(word_store.measured(found, PAIR, OWN, never))) == facts(computed)


def test_a_pair_that_cannot_be_stored_is_not_lost(model, tmp_path, monkeypatch, caplog):
    found, encoder = model
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    assert finish(word_store.measured(found, PAIR, OWN, lambda: encoder)).words[1] == ("a", "dog", "is", "playing")
    assert "not stored" in caplog.text
