"""Test rank groups against slow code and by simulation, and that tasks are the same exactly if their scores compare."""

import random
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import false_discovery_control, norm, spearmanr, t, ttest_rel

from benchmarks import groups
from explorer.data.graded import sts
from explorer.evaluating.results.rank_groups import (
    ERROR,
    THESE,
    both_claims,
    difference_variances,
    fewest_tasks,
    holm,
    letters_of,
    p_values,
    ranking,
)
from explorer.evaluating.results.scored_task import (
    CLUSTERING,
    EVALUATED,
    FINE_TUNING,
    PAIR_CLASSIFICATION,
    RETRIEVAL,
    RUN_TEST,
    SEARCH,
    STS,
    TRANSFER,
    Items,
    Measured,
    Options,
    described,
    labels,
    varying,
)
from explorer.evaluating.tasks import kinds
from explorer.measuring.scores.bootstrap import MANY, difference, resampled
from explorer.measuring.scores.measure import Settings
from tests.evaluating.results_by_hand import measured, task


def correlated(gold, cosines, parts=(), digest="d"):
    score = 100 * spearmanr(gold, cosines).statistic
    items = Items(np.asarray(cosines), np.asarray(gold), tuple(parts), digest)
    return Measured("test", ("model default",), ("spearman",), np.array([[[score]]]), items=items)


def noisy(random, gold, noise):
    return gold + noise * random.normal(size=len(gold))


def test_holm_is_the_textbook_procedure():
    p = np.array([[np.nan, 0.01, 0.04], [0.01, np.nan, 0.03], [0.04, 0.03, np.nan]])
    corrected = holm(p)
    assert corrected[0, 1] == pytest.approx(0.03)  # 3 × 0.01
    assert corrected[1, 2] == pytest.approx(0.06)  # 2 × 0.03
    assert corrected[0, 2] == pytest.approx(0.06)  # 1 × 0.04, but not below the one before
    assert np.isnan(np.diagonal(corrected)).all()
    assert (corrected[~np.eye(3, dtype=bool)] >= p[~np.eye(3, dtype=bool)]).all()


def test_holm_is_never_above_bonferroni_and_never_below_benjamini_and_hochberg():
    random = np.random.default_rng(0)
    for _ in range(20):
        values = random.uniform(size=15) ** 2
        p = np.full((6, 6), np.nan)
        for (one, other), value in zip(combinations(range(6), 2), values, strict=True):
            p[one, other] = p[other, one] = value
        found = holm(p)[np.triu_indices(6, 1)]
        assert (found <= np.minimum(15 * values, 1) + 1e-12).all()
        assert (found >= false_discovery_control(values) - 1e-12).all()


def test_two_models_share_a_letter_exactly_if_they_do_not_differ_and_the_best_is_in_the_first_group():
    for seed in range(30):
        random = np.random.default_rng(seed)
        count = int(random.integers(2, 8))
        differ = np.triu(random.uniform(size=(count, count)) < random.uniform(), 1)
        differ |= differ.T
        letters = letters_of(differ)
        for one, other in combinations(range(count), 2):
            assert (not set(letters[one]) & set(letters[other])) == differ[one, other]
        assert all(letters)
    assert letters_of(np.array([[False, True], [True, False]])) == ("a", "b")
    assert letters_of(np.zeros((3, 3), dtype=bool)) == ("a", "a", "a")


def test_resamples_are_those_of_the_interval():
    random = np.random.default_rng(1)
    gold = random.uniform(0, 5, MANY)
    one, other = noisy(random, gold, 1.0), noisy(random, gold, 2.0)
    parts = ("x",) * 200 + ("y",) * (MANY - 200)
    for aggregate in ("all", "mean", "wmean"):
        draws = resampled(gold, np.stack([one, other]), parts, aggregate=aggregate, seed=3)
        interval = difference(gold, one, other, parts, aggregate=aggregate, seed=3)
        edges = [float(interval.low), float(interval.high)]
        assert np.quantile(draws[1] - draws[0], [0.025, 0.975]) == pytest.approx(edges)


def test_a_p_value_is_that_of_the_difference_in_its_standard_errors():
    random = np.random.default_rng(2)
    draws = np.stack([random.normal(70, 1, 5000), random.normal(68, 2, 5000)])
    scores, variance = np.array([70.0, 68.0]), np.var(draws[0] - draws[1], ddof=1)
    for freedom, wanted in ((np.inf, norm.sf(2 / np.sqrt(variance))), (4, t.sf(2 / np.sqrt(variance), 4))):
        found = p_values(scores, difference_variances(draws), freedom)
        assert found[0, 1] == found[1, 0] == pytest.approx(2 * wanted)
        assert np.isnan(np.diagonal(found)).all()


def test_models_that_are_equal_to_the_item_do_not_differ_and_other_items_are_not_compared():
    same = [1.0] * 40 + [0.0] * 10
    found = ranking({name: [[measured(80, items=same)]] for name in ("one", "other")})
    assert (found.on_these.letters, found.on_these.p[0, 1]) == (("a", "a"), 1)
    one, other = measured(80, items=[1, 0, 1]), measured(70, items=[1, 0, 0], digest="other")
    assert ranking({"one": [[one]], "other": [[other]]}) is None
    assert ranking({"one": [[one]], "other": [[measured(70)]]}) is None
    assert ranking({"one": [[one]]}) is None


def test_models_are_ranked_by_their_mean_over_tasks_and_seeds():
    random = np.random.default_rng(3)

    def run(share):
        return tuple(
            measured(100 * np.mean(right), items=right)
            for _ in ("MR", "CR")
            for right in [random.uniform(size=2000) < share]
        )

    low, high = (run(0.7), run(0.72)), (run(0.9),)
    found = ranking({"low": low, "high": high})
    assert found.names == ("high", "low")
    assert found.scores[1] == pytest.approx(np.mean([[one.score() for one in seed] for seed in low]))
    assert found.letters == {THESE: {"high": "a", "low": "b"}}, "of two tasks there is one claim"


def test_the_spread_of_seeds_counts():
    random = np.random.default_rng(4)
    right = random.uniform(size=4000) < 0.8
    worse = right & (random.uniform(size=4000) < 0.97)

    def runs(scores, items):
        return [[measured(score, items=items)] for score in scores]

    steady = ranking({"one": runs((80, 80, 80), right), "other": runs((77.6, 77.6, 77.6), worse)})
    spread = ranking({"one": runs((90, 80, 70), right), "other": runs((87.6, 77.6, 67.6), worse)})
    assert steady.on_these.letters == ("a", "b")
    assert spread.on_these.letters == ("a", "a")


def test_on_tasks_like_these_a_p_value_is_that_of_a_paired_t_test_but_never_below_that_on_these_tasks():
    random = np.random.default_rng(7)
    for tasks in (3, 4, 12):
        scores = random.normal(0, 3, (3, tasks)) + np.array([[4], [1], [0]])
        by_items = random.uniform(0.1, 4, (3, 3))
        by_items += by_items.T
        pairs = list(combinations(range(3), 2))
        p = np.full((2, 3, 3), np.nan)
        for one, other in pairs:
            gap = abs(scores[one].mean() - scores[other].mean())
            on_these = 2 * norm.sf(gap / np.sqrt(by_items[one, other]))
            p[:, one, other] = p[:, other, one] = on_these, max(on_these, ttest_rel(scores[one], scores[other]).pvalue)
        on_these, on_like = both_claims(scores, by_items, np.zeros(3))
        assert on_these.p == pytest.approx(holm(p[0]), nan_ok=True)
        assert on_like.p == pytest.approx(holm(p[1]), nan_ok=True)
        assert all(on_like.p[pair] >= on_these.p[pair] for pair in pairs)
        of_seeds = both_claims(scores, by_items, np.array([50.0, 0, 0]))
        assert all(of_seeds[1].p[0][1:] > on_like.p[0][1:]), "the spread of seeds counts here too"


@pytest.mark.parametrize("models", [2, 3, 5, 20])
def test_models_are_compared_on_tasks_like_these_if_ten_standard_errors_are_enough(models):
    fewest = fewest_tasks(models)
    pairs = models * (models - 1) / 2
    assert 2 * t.sf(10, fewest - 1) <= ERROR / pairs < 2 * t.sf(10, fewest - 2)
    scores = np.random.default_rng(8).normal(size=(models, fewest))
    no_noise = np.zeros((models, models)), np.zeros(models)
    assert both_claims(scores, *no_noise)[1] is not None
    assert both_claims(scores[:, 1:], *no_noise)[1] is None


def test_equal_models_are_rarely_called_different_by_either_claim_where_a_bootstrap_over_tasks_often_does():
    samples, tasks = 120, groups.Tasks(models=5, tasks=4, spread=3)
    most = ERROR + 2 * np.sqrt(ERROR * (1 - ERROR) / samples)  # 5 % of the samples, and chance
    found, exact = (
        {name: pairs.any(axis=1).mean() for name, pairs in groups.different(tasks, samples, exact=exact).items()}
        for exact in (False, True)
    )
    assert found[groups.ON_LIKE] < most
    assert exact[groups.ON_THESE] < most
    assert found[groups.BOOTSTRAP] > 2 * ERROR
    assert found[groups.ON_THESE] > 0.5, "which is true of these tasks, and of no others"
    better = groups.different(replace(tasks, gain=15), 40)
    assert better[groups.ON_LIKE][:, 0].mean() > 0.5, "and a large difference is found"


def wrongly_apart(random, models=5, pairs=150):
    """Whether any two of some models that are equally good are called different."""
    gold = random.uniform(0, 5, pairs)
    shared = random.normal(size=pairs)
    runs = {str(at): [[correlated(gold, gold + shared + noisy(random, np.zeros(pairs), 1))]] for at in range(models)}
    found = ranking(runs, resamples=200, seed=int(random.integers(2**31)))
    return bool((found.on_these.p[np.triu_indices(models, 1)] <= ERROR).any())


def test_a_real_difference_is_found_and_equal_models_are_rarely_called_different():
    random = np.random.default_rng(5)
    false = sum(wrongly_apart(random) for _ in range(100))
    assert false <= 10  # 5 % are 5 of 100; more than 10 would happen in 1 % of cases at 5 %
    random = np.random.default_rng(6)
    gold = random.uniform(0, 5, 1000)
    better, worse = (correlated(gold, noisy(random, gold, noise)) for noise in (1.0, 1.6))
    found = ranking({"worse": [[worse]], "better": [[better]]})
    assert (found.names, found.on_these.letters) == (("better", "worse"), ("a", "b"))
    assert found.on_these.best_is_clear


CPU = replace(EVALUATED, device="cpu")
KINDS = {one.kind: one for one in kinds()}


def of(kind, name="t", data="d", folder="", settings=CPU, **options):
    found = KINDS[kind](name, SimpleNamespace(digest=data)).key(Options(**options), settings)
    return replace(found, name=name, folder=folder)


OTHER_OPTIONS = {
    "text": sts.SENTEVAL, "probe": "senteval", "seeds": (1, 2), "index": "ivf", "query_prompt": "q: ",
    "document_prompt": "d: ",
}  # fmt: skip
MATTERS = {
    STS: {"text"},
    TRANSFER: {"probe", "seeds"},
    RETRIEVAL: {"query_prompt", "document_prompt"},
    SEARCH: {"index"},
    CLUSTERING: set(),
    PAIR_CLASSIFICATION: set(),
    "items": set(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", OTHER_OPTIONS)
def test_an_option_makes_another_task_of_the_kinds_it_matters_to(kind, option):
    other = of(kind, **{option: OTHER_OPTIONS[option]})
    assert (other.digest != of(kind).digest) == (option in MATTERS[kind])
    assert (other != of(kind)) == (option in MATTERS[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changed", [{"precision": "bfloat16"}, {"max_length": 4}])
def test_how_a_model_encodes_makes_another_task(kind, changed):
    assert of(kind, settings=replace(CPU, **changed)).digest != of(kind).digest


def test_name_and_folder_are_labels_only_and_what_auto_stands_for_is_its_name():
    assert of(STS, "a", folder="x/y") == of(STS, "b", folder="z")
    assert of(STS, "a", data="one").digest != of(STS, "a", data="two").digest
    assert of(STS).key("model") != of(STS).key("other model")
    automatic = of(STS, settings=Settings("float32", "auto")).settings
    assert automatic == of(STS, settings=Settings("float32", automatic["device"])).settings


def told(*tasks):
    found = labels(tasks)
    return [found[one.digest] for one in tasks]


def test_a_name_alone_is_enough_where_nothing_is_unusual_and_what_is_unusual_is_always_told():
    assert told(of(STS, "STS12"), of(STS, "test.tsv", "e", "my/data")) == ["STS12", "test.tsv"]
    assert told(of(STS, text=sts.SENTEVAL)) == ["t (SentEval's text)"]
    assert told(of(TRANSFER, probe="senteval")) == ["t (SentEval's MLP)"]
    assert told(of(SEARCH, index="ivf")) == ["t (IVF index)"]
    assert told(of(RETRIEVAL, query_prompt="q: ", document_prompt="d: ")) == ["t (other prompts)"]
    assert told(of(STS, settings=Settings("bfloat16", "cpu", 4))) == ["t (maximum length 4, bfloat16)"]
    assert told(task("MR", kind=FINE_TUNING)) == ["MR (fine-tuned)"]


def test_files_of_one_name_have_their_folders_before_it_or_the_digests_of_their_data():
    one, other = of(STS, "test.tsv", "1", "sets/a"), of(STS, "test.tsv", "2", "sets/b")
    assert told(one, other, of(STS, "dev.tsv", "3", "sets/a")) == ["a/test.tsv", "b/test.tsv", "dev.tsv"]
    deeper = of(STS, "test.tsv", "4", "others/a")
    assert told(one, other, deeper) == ["sets/a/test.tsv", "b/test.tsv", "others/a/test.tsv"]
    one, other = (of(STS, "test.tsv", data * 64, "sets/a") for data in "12")
    assert told(one, other) == ["test.tsv (11111111)", "test.tsv (22222222)"]


def test_settings_are_told_where_two_would_be_alike_and_all_of_them_in_the_tooltip():
    few, many = of(TRANSFER, "MR"), of(TRANSFER, "MR", seeds=(1, 2, 3))
    assert told(few, many, of(TRANSFER, "CR", "e")) == ["MR (seeds 1)", "MR (seeds 1, 2, 3)", "CR"]
    one, other = of(RETRIEVAL, query_prompt="a"), of(RETRIEVAL, document_prompt="b")
    assert told(one, other) == [
        "t (other prompts, query prompt 'a', the model's document prompt)",
        "t (other prompts, the model's query prompt, document prompt 'b')",
    ]
    assert told(of(STS), task("t", kind=RUN_TEST)) == ["t", "t (as scored by runs)"]
    words = described(of(TRANSFER, "moods.csv", "e" * 64, "my/data"))
    for word in ("my/data/moods.csv", "logistic regression", "seeds 1", "float32", "cpu", "eeeeeeee"):
        assert word in words


def any_task(draw):
    name, data = draw.choice(["t", "u", "t (seeds 1)"]), "".join(draw.choices("ab", k=9))
    folder, kind = draw.choice(["", "a", "x/a", "y/a"]), draw.choice([STS, TRANSFER, RUN_TEST, FINE_TUNING])
    settings = {setting: draw.choice(["1", "2", None]) for setting in ("seeds", "max_length", "query_prompt")}
    return task(name, data=data, folder=folder, kind=kind, **settings)


def test_no_two_tasks_have_one_label():
    draw = random.Random(0)
    for _ in range(300):
        tasks = [any_task(draw) for _ in range(draw.randrange(9))]
        found = labels(tasks)
        assert set(found) == {one.digest for one in tasks}
        assert len(set(found.values())) == len(found), tasks


def test_tasks_of_a_kind_say_in_which_settings_they_differ():
    tasks = [of(STS, "a", "1"), of(STS, "b", "2"), of(STS, "a", "1", settings=replace(CPU, max_length=4))]
    tasks += [of(TRANSFER, "c", "3"), task("d", kind=RUN_TEST, measure="x"), task("e", kind=RUN_TEST, measure="y")]
    usual, cut = "the model's maximum length", "maximum length 4"
    assert list(varying(tasks).values()) == [usual, usual, cut, "", "", ""]
    assert len({one.digest for one in tasks}) == len(tasks)
    assert all(one != other for one, other in combinations(tasks, 2))
