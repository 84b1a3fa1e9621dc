"""Clusters of a map are named by their typical terms."""

import numpy as np
import pytest

from explorer.measuring.maps.cluster_names import A_CLUSTER, clusters, typical_terms

SUBJECTS = {
    "boats": ("boat", "harbour", "sail"),
    "bread": ("bread", "oven", "flour"),
    "rain": ("rain", "cloud", "storm"),
}


def test_regions_are_named_by_what_only_they_talk_about():
    draw = np.random.default_rng(0)
    texts, places = [], []
    for number, words in enumerate(SUBJECTS.values()):
        for _ in range(A_CLUSTER):
            texts.append(" ".join((*draw.permutation(words), "yesterday")))
            places.append((10 * number, 0) + draw.normal(size=2) * 0.1)
    found = clusters(texts, np.array(places))
    assert {frozenset(one.name.split(", ")) for one in found} == {frozenset(words) for words in SUBJECTS.values()}
    for one in found:
        assert len(one.members) == A_CLUSTER
        x, y = one.middle(np.array(places))
        assert x == pytest.approx(round(x / 10) * 10, abs=0.2)
        assert y == pytest.approx(0, abs=0.2)


def test_a_term_weighs_its_frequency_by_how_rare_it_is_elsewhere():
    names = typical_terms(["apple apple common", "pear common common common"])
    mean, frequency = 7 / 2, {"apple": 2, "pear": 1, "common": 4}
    for name, counts in zip(names, ({"apple": 2, "common": 1}, {"pear": 1, "common": 3}), strict=True):
        weight = {word: count * np.log1p(mean / frequency[word]) for word, count in counts.items()}
        assert name == ", ".join(sorted(weight, key=lambda word: -weight[word]))


def test_places_that_are_all_alike_and_text_without_words_have_no_names():
    assert clusters(["a b"] * 80, np.zeros((80, 2))) == ()
    assert typical_terms(["12 34", "the of"]) == ["", ""]
