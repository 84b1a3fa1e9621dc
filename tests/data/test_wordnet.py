import pytest

from explorer.data import wordnet
from explorer.errors import BadChoice, HubUnreachable
from tests import tiny_wordnet


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A machine without WordNet."""
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setattr(wordnet, "_nltk_folders", lambda: [tmp_path / "nltk_data"])
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "wordnet")
    wordnet.antonym.cache_clear()
    yield tmp_path
    wordnet.antonym.cache_clear()


@pytest.fixture
def tiny(nowhere):
    tiny_wordnet.write(nowhere / "nltk_data")
    return nowhere


@pytest.mark.parametrize(
    ("word", "opposite"),
    [("late", "early"), ("early", "late"), ("men", "woman"), ("ran", "walk"), ("Man", "woman"), ("guitar", None)],
)
def test_a_word_or_its_base_form_has_the_opposite_that_wordnet_gives(tiny, word, opposite):
    assert wordnet.antonym(word) == opposite


def test_of_several_opposites_that_of_the_most_common_use_is_taken(tiny):
    counts = {opposite: count for _, word, opposite, count in tiny_wordnet.OPPOSITES if word == "light"}
    assert counts == {"heavy": 3, "dark": 9}
    assert wordnet.antonym("light") == "dark"
    assert wordnet.antonym("red") == "not red"
    assert wordnet.WORDNET.there()
    wordnet.WORDNET.check()


def test_without_wordnet_one_is_told_what_to_run(nowhere):
    assert not wordnet.WORDNET.there()
    for ask in (wordnet.WORDNET.check, lambda: wordnet.antonym("late")):
        with pytest.raises(
            BadChoice, match=r"WordNet is not on this machine\. Run 'python -m nltk\.downloader wordnet'"
        ):
            ask()


def test_nothing_is_downloaded_unless_asked_for_and_a_download_that_fails_says_so(nowhere, monkeypatch):
    import nltk

    monkeypatch.setattr(nltk, "download", lambda *_, **__: pytest.fail("it went to the network"))
    assert not wordnet.there()
    with pytest.raises(BadChoice):
        wordnet.antonym("late")
    import nltk

    monkeypatch.setattr(nltk, "download", lambda name, quiet: False)
    with pytest.raises(HubUnreachable, match="WordNet could not be downloaded"):
        wordnet.WORDNET.fetch()


@pytest.mark.skipif(not (wordnet.DEBIAN / "data.adj").is_file(), reason="Debian's wordnet-base is not installed")
def test_debians_package_is_read_as_it_is(nowhere, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(wordnet, "_nltk_folders", list)
    wordnet.antonym.cache_clear()
    assert wordnet.place() == wordnet.DEBIAN
    found = {word: wordnet.antonym(word) for word in ("old", "good", "increase", "slept", "guitar", "is", "play")}
    assert found == {
        "old": "young",
        "good": "bad",
        "increase": "decrease",
        "slept": "wake",
        "guitar": None,
        "is": None,  # equal has an opposite, be has none
        "play": None,
    }
