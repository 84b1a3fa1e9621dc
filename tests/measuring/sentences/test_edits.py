"""Test that edits are the words that differ, and that their costs are Shapley values of the cosine."""

import itertools
import re
from collections import Counter

import numpy as np
import pytest

from explorer import in_words
from explorer.data import sample
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import OWN, parse
from explorer.measuring.sentences import edit_costs, edit_tables, edits
from explorer.measuring.sentences.edit_costs import EditCosts, apart_from, mean_costs, prefixes, sampled_orders, shapley
from explorer.measuring.sentences.edits import ADDED, EXCHANGED, MOVED, REMOVED, REPLACED, REWORDED, SPELLED, between
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.tiny_models import save_tiny

# pairs of "time order" that are worded anew: the aligned words are more than the words that differ
WORDED_ANEW = 5
MEAN = parse("mean of layer 2", 2)  # the model default of an encoder that declares none


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    found = of_folder("tiny", save_tiny("bert", tmp_path_factory.mktemp("tiny") / "bert"))
    return load(found, "float32", "cpu")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Only two lifeboats were lowered.", "Only seven lifeboats were lowered.", ["two → seven"]),
        ("A man is not playing.", "A man is playing.", ["“not” removed"]),
        ("There is milk in the fridge.", "There is no milk in the fridge.", ["“no” added"]),
        ("He has a licence.", "He hasn't got a licence.", ["has → hasn't got"]),
        ("The dog chased the cat.", "The cat chased the dog.", ["“dog” and “cat” exchanged"]),
        ("Dad blamed the builder.", "The builder blamed Dad.", ["“Dad” and “the builder” exchanged"]),
        ("Yesterday we left for Rome.", "We left for Rome yesterday.", ["“Yesterday” moved"]),
        ("We stayed at home.", "We stayed at home because it rained.", ["“because it rained” added"]),
        ("Let us eat, grandma.", "Let US eat grandma.", ["us eat, → US eat"]),
        ("A happy child laughs.", "A sad adult laughs.", ["happy → sad", "child → adult"]),
        ("The same words.", "The same words.", []),
        ("Yes.", "No.", ["Yes → No"]),
        ("I love my dog 🐶", "I love my dog 🐱", ["🐶 → 🐱"]),
        ("It costs $5.", "It costs €5.", ["$5 → €5"]),
        ("This is <b>bold</b>.", "This is <i>bold</i>.", ["<b>bold</b> → <i>bold</i>"]),
        ("He sold his car.", "The vehicle found another owner.", ["the whole sentence"]),
        (
            "Choclate mellts quikly.",
            "Chocolate melts quickly.",
            ["Choclate → Chocolate", "mellts → melts", "quikly → quickly"],
        ),
    ],
)
def test_the_edits_are_what_a_person_would_name(first, second, expected):
    found = between(first, second)
    assert [str(edit) for edit in found.edits] == expected
    assert (found.text(0), found.text(2 ** len(found.edits) - 1)) == (first, second)


def test_an_empty_sentence_and_sentences_that_differ_in_too_many_places_have_no_edits():
    assert between("", "We sing.") is None
    assert between("We sing.", " ") is None
    far = [" ".join(f"same{n} {side}{n}" for n in range(edits.MOST + 1)) for side in ("a", "b")]
    assert between(*far) is None


def test_each_edit_alone_changes_its_own_words():
    found = between("Two dogs saw a cat.", "Seven dogs saw a big cat.")
    assert [found.text(1 << number) for number in range(2)] == ["Seven dogs saw a cat.", "Two dogs saw a big cat."]
    dropped = between("No dogs bark.", "Dogs bark loudly.")
    assert sorted(dropped.text(1 << number) for number in range(2)) == ["Dogs bark.", "No dogs bark loudly."]


def words(text):
    return Counter(filter(None, (word.strip(".,;:!?\"'").casefold() for word in text.split())))


def test_the_edits_of_the_probe_packs_are_the_words_that_differ():
    """By counting words: what is removed or replaced is what the first has more of, and the other way round."""
    wrong, whole = Counter(), Counter()
    for pack in sample.probe_packs():
        for first, second in zip(pack.first, pack.second, strict=True):
            found = between(first, second)
            if found.edits[0].kind == REWORDED:
                assert len(found.edits) == 1
                both = words(first) & words(second)
                assert 4 * both.total() < words(first).total() + words(second).total(), "half of the words at most"
                whole[pack.name] += 1
            assert (found.text(0), found.text(2 ** len(found.edits) - 1)) == (first, second)
            apart = [one for one in found.edits if one.kind not in (MOVED, EXCHANGED)]
            before = sum((words(one.before) for one in apart if one.kind != ADDED), Counter())
            after = sum((words(one.after) for one in apart if one.kind != REMOVED), Counter())
            if found.edits[0].kind != REWORDED and (before, after) != (
                words(first) - words(second),
                words(second) - words(first),
            ):
                wrong[pack.name] += 1
    assert whole == {sample.PARAPHRASE: 58}
    assert wrong == {"time order": WORDED_ANEW}


def slow_costs(encoder, found, reading):
    """Every order of the edits in turn, each text encoded alone."""
    known = {}

    def cosine(applied):
        if applied not in known:
            pair = [found.first, found.text(applied)]
            one, other = (finish(of_reading(encoder, [text], reading))[0].astype(np.float64) for text in pair)
            known[applied] = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        return known[applied]

    costs, count = np.zeros(len(found.edits)), 0
    for order in itertools.permutations(range(len(found.edits))):
        applied = 0
        for number in order:
            costs[number] += cosine(applied) - cosine(applied | 1 << number)
            applied |= 1 << number
        count += 1
    return costs / count, 1 - cosine(2 ** len(found.edits) - 1)


@pytest.mark.parametrize("title", ["mean of layer 2", "cls of layer 1", "max of layer 2"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("the man plays a guitar", "the dog plays a guitar"),
        ("the man plays a guitar in the garden", "the dog is a playing guitar the garden"),
        ("one man plays two drums in a garden", "a dog plays no drums in the street"),
    ],
)
def test_costs_are_the_mean_over_all_orders_and_add_up_to_1_minus_the_cosine(encoder, title, first, second):
    reading = parse(title, 2)
    found = between(first, second)
    costs = finish(edit_costs.edit_costs(encoder, first, second, reading))
    slow, total = slow_costs(encoder, found, reading)
    assert costs.costs == pytest.approx(slow, abs=1e-6)
    assert costs.costs.sum() == pytest.approx(total, abs=1e-6)
    assert costs.errors is None
    for layer in range(3):
        slow, total = slow_costs(encoder, found, parse(f"{costs.pooling} of layer {layer}", 2))
        assert costs.by_layer[layer] == pytest.approx(slow, abs=1e-6)


def test_many_edits_are_sampled_with_their_error_and_add_up(encoder):
    names = ["man", "dog", "guitar", "garden", "plays", "big", "small", "street", "drums"]
    first = " the ".join(names)
    second = " the ".join(f"{name}s" for name in names)
    found = between(first, second)
    assert len(found.edits) == len(names) > edit_costs.EXACT
    costs = edit_costs.costs_of(encoder, found, OWN)
    costs = finish(costs)
    vectors = finish(of_reading(encoder, [first, second], MEAN)).astype(np.float64)
    one, other = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert costs.costs.sum() == pytest.approx(1 - one @ other, abs=1e-6)
    texts = [found.text(applied) for applied in range(2 ** len(names))]
    every = finish(of_reading(encoder, texts, MEAN)).astype(np.float64)
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    exact = shapley(1 - every @ every[0], len(names))
    assert np.all(np.abs(costs.costs - exact) < 5 * costs.errors + 1e-9)


def test_first_costs_of_many_edits_need_fewer_texts_and_state_their_error(encoder):
    names = ["man", "dog", "guitar", "garden", "plays", "big", "small", "street"]
    found = between(" the ".join(names), " the ".join(f"{name}s" for name in names))
    assert len(found.edits) == edit_costs.EXACT
    exact = finish(edit_costs.costs_of(encoder, found, MEAN))
    passes = edit_costs.first_passes(encoder, found)
    assert edit_costs.FEW <= passes <= edit_costs.MOST_FIRST < 2**edit_costs.EXACT
    first = finish(edit_costs.costs_of(encoder, found, MEAN, passes=passes))
    assert exact.errors is None
    assert first.total == pytest.approx(exact.total, abs=1e-6), "the total is exact"
    assert first.totals == pytest.approx(exact.totals, abs=1e-6)
    assert np.all(np.abs(first.costs - exact.costs) < 5 * first.errors + 1e-9)
    assert edit_tables.FIRST[:20] in " ".join(edit_tables.notes({"A": first}))
    assert edit_tables.FIRST[:20] not in " ".join(edit_tables.notes({"A": exact}))
    long = between(" ".join([*names * 40, "man"]), " ".join([*names * 40, "dog"]))
    assert edit_costs.first_passes(encoder, long) < edit_costs.MOST_FIRST, "of long sentences fewer"


def test_few_edits_are_exact_in_the_first_answer_too(encoder):
    found = between("the man plays a guitar", "the dog plays a drum")
    passes = edit_costs.first_passes(encoder, found)
    first, exact = (finish(edit_costs.costs_of(encoder, found, MEAN, passes=few)) for few in (passes, 256))
    assert first.errors is None
    assert np.array_equal(first.costs, exact.costs)


@pytest.mark.parametrize(("count", "passes"), [(5, 16), (8, 64), (17, 64), (edits.MOST, 16)])
def test_first_orders_keep_to_their_texts_but_for_two_draws_with_an_error(count, passes):
    orders = sampled_orders(count, passes)
    used = len({mask for order in orders for mask in prefixes(order)})
    assert len(orders) >= 2 * edit_costs.DRAWS
    assert used <= max(passes, 2 + 2 * edit_costs.DRAWS * (count - 1))


@pytest.mark.parametrize("count", [9, 12, 20, edits.MOST])
def test_sampled_orders_come_with_their_reverse_and_need_few_passes(count):
    orders = sampled_orders(count)
    assert orders == sampled_orders(count)
    assert len(orders) >= 4
    assert all(orders[at][::-1] == orders[at + 1] for at in range(0, len(orders), 2))
    assert len({mask for order in orders for mask in prefixes(order)}) <= edit_costs.PASSES


@pytest.mark.parametrize(
    ("gaps", "layer"),
    [((0.0, 0.1, 0.0, 0.2, 0.3), 3), ((0.1, -0.1), 1), ((0.1, 0.2), 0), ((0.1, 0.0), None), ((-0.1, 0.1, -0.2), 2)],
)
def test_a_change_is_noticed_from_the_layer_after_which_its_sign_stays(gaps, layer):
    assert apart_from(gaps) == layer


def made(costs, layers=3):
    named = tuple(edits.Edit(REPLACED, f"old{n}", f"new{n}") for n in range(len(costs)))
    return EditCosts(named, np.array(costs), np.tile(np.array(costs), (layers, 1)), "mean")


def test_costs_that_are_shown_add_up_to_1_minus_the_cosine_that_is_shown():
    draw = np.random.default_rng(0)
    for mean in [0.05] * 300 + [0.001] * 20:
        count = int(draw.integers(1, 12))
        one, other = (made(draw.normal(mean, mean, count)) for _ in "AB")
        text = edit_tables.summary({"A": one, "B": other})
        shown = re.findall(r"[−]?\d\.\d+", text)
        digits = len(shown[0].partition(".")[2])
        numbers = [float(number.replace("−", "-")) for number in shown]
        cost_a, cost_b, cosine_a, cosine_b, *parts = numbers
        assert round(1 - cosine_a, digits) == cost_a
        assert round(1 - cosine_b, digits) == cost_b
        if count > 1:
            assert round(sum(parts[::2]), digits) == cost_a
            assert round(sum(parts[1::2]), digits) == cost_b


def test_a_cosine_just_below_1_and_its_costs_have_the_digits_that_show_it():
    text = edit_tables.summary({"A": made([0.0025, 0.0012])})
    assert "differences cost 0.004, and the cosine is 0.996" in text
    assert "0.003" in text
    assert "0.001" in text


def test_the_mean_of_pairs_has_the_change_with_its_interval():
    draw = np.random.default_rng(1)
    one = [made([cost]) for cost in draw.normal(0.2, 0.05, 60)]
    other = [made([cost.total + gain]) for cost, gain in zip(one, draw.normal(0.3, 0.05, 60), strict=True)]
    found = mean_costs({"A": one, "B": other})
    assert found.sides["A"][0] == pytest.approx(np.mean([cost.total for cost in one]))
    mean, low, high = found.change
    assert mean == pytest.approx(np.mean([b.total - a.total for a, b in zip(one, other, strict=True)]))
    error = np.std([b.total - a.total for a, b in zip(one, other, strict=True)], ddof=1) / 60**0.5
    assert (low, high) == (
        pytest.approx(mean - 2 * error, abs=error / 3),
        pytest.approx(mean + 2 * error, abs=error / 3),
    )
    assert found.apart_from == 0, "made with the same costs in every layer"
    text = edit_tables.mean_text(found)
    assert in_words.ends(*found.change) in text


def test_sentences_that_share_few_words_have_one_cost_and_the_sentence_says_why(encoder):
    pair = "the man plays a guitar", "seven dogs sat outside of it"
    costs = finish(edit_costs.edit_costs(encoder, *pair, MEAN))
    one, other = (vector / np.linalg.norm(vector) for vector in finish(of_reading(encoder, pair, MEAN)))
    assert costs.costs == pytest.approx([1 - one @ other], abs=1e-6)
    for sides in ({"A": costs}, {"A": costs, "B": costs}):
        text = edit_tables.summary(sides)
        assert text.startswith(edit_tables.WHOLE[:40])
        assert in_words.number(costs.total) in text


def test_parts_that_are_shown_add_up_to_the_shown_total():
    assert in_words.adding_up([1 / 3, 1 / 3, 1 / 3], 1) == [0.34, 0.33, 0.33]
    assert in_words.adding_up([0.125, -0.061, 0.004], 0.068) == [0.13, -0.06, 0.0]
    assert str(in_words.adding_up([float("nan"), 0.1], 0.1)[1]) == "0.1"
    assert SPELLED == "spelled"
