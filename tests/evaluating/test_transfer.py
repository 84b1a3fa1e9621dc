"""Test the transfer task, encoded once, and its probes, logistic regression and SentEval's, against plain loops."""

from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.text_sets import Labelled
from explorer.errors import BadChoice, TooFewRows
from explorer.evaluating.encoded import Encoded, encoded, titles_of
from explorer.evaluating.probes import ProbeData, Rows, folds, logistic, pair_features, senteval
from explorer.evaluating.probes.senteval import Network, TrainedNetwork, first_weights, trained
from explorer.evaluating.tasks import transfer as module
from explorer.evaluating.tasks.transfer import SEEDS, TASKS, estimate, transfer
from explorer.progress import Progress, finish
from tests.independent import senteval_loops

DEFAULT = ("model default",)
ROUGH = 1e-3  # a tolerance of fits that are compared with each other
NOUNS = ("man", "dog", "train", "city", "guitar", "ball")


def _labelled(count: int, seed: int = 0, pairs: bool = False) -> Labelled:
    """Rows whose class is "no" where they say no, save for some that are drawn."""
    random = np.random.default_rng(seed)
    said, wrong = random.random(count) < 0.4, random.random(count) < 0.15
    labels = tuple("no" if one else "yes" for one in said != wrong)
    texts = tuple(f"{'no ' * int(no)}{' '.join(random.choice(NOUNS, random.integers(1, 5)))}" for no in said)
    return Labelled("mine", texts, labels, tuple(f"the {word}" for word in random.choice(NOUNS, count)) * pairs)


WHOLE = LabelledSet("whole", _labelled(100))
TESTED = LabelledSet("tested", _labelled(110), test=_labelled(41, 1))
SPLIT = LabelledSet("split", _labelled(60), _labelled(31, 1), _labelled(41, 2))
PAIRED = LabelledSet("paired", *(_labelled(count, seed, pairs=True) for seed, count in enumerate((60, 30, 40))))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """SentEval's classifier with few passes."""
    network = Network(hidden=4, rate=1e-2, epoch_size=1, max_epoch=1)
    monkeypatch.setitem(module.PROBES, "senteval", lambda data, seed: senteval.predictions(data, seed, network))


@pytest.fixture
def encodings(tiny_encoder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each call of the encoder had."""
    calls: list[int] = []
    real = type(tiny_encoder).under_readings

    def counted(self, parts, readings):
        every = [*parts]
        calls.append(sum(len(tokens.ids) for _, tokens in every))
        return real(self, (part for part in every), readings)

    monkeypatch.setattr(type(tiny_encoder), "under_readings", counted)
    return calls


def test_every_layer_and_pooling_is_scored_from_one_encoding(tiny_encoder, encodings):
    assert finish(transfer(tiny_encoder, SPLIT)).titles == DEFAULT, "a classifier for each takes its time"
    encodings.clear()
    found = finish(transfer(tiny_encoder, SPLIT, titles=titles_of(tiny_encoder)))
    assert encodings == [len({*SPLIT.train.texts, *SPLIT.dev.texts, *SPLIT.test.texts})]
    assert found.titles == titles_of(tiny_encoder)
    assert (found.split, found.measures) == ("test", ("accuracy", "macro F1"))
    assert found.table.shape == (len(found.titles), 2, 1)
    assert found.score("cls of layer 0") == pytest.approx(100 * np.mean([word == "yes" for word in SPLIT.test.labels]))
    assert found.score("mean of layer 1") > found.score("cls of layer 0") + 10, "the constant [CLS] tells nothing"
    assert found.seconds > 0


@pytest.mark.parametrize("probe", ["logistic", "senteval"])
@pytest.mark.parametrize("task", [TESTED, SPLIT], ids=lambda task: task.name)
def test_a_second_seed_encodes_nothing(tiny_encoder, encodings, probe, task):
    one = finish(transfer(tiny_encoder, task, probe=probe, titles=DEFAULT))
    calls = list(encodings)
    two = finish(transfer(tiny_encoder, task, probe=probe, titles=DEFAULT, seeds=(1, 2)))
    assert encodings == calls * 2
    assert (two.seeds, two.table.shape) == ((1, 2), (1, 2, 2))
    assert np.array_equal(two.table[..., 0], one.table[..., 0])
    assert two.items is not None
    assert two.items.values.mean() * 100 == pytest.approx(two.score()), "the mean over seeds"


@pytest.fixture(scope="module")
def of_whole(tiny_encoder):
    """Scores of the set without splits, whose texts have fewer than eight tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logistic, "TOLERANCE", ROUGH)
        return finish(transfer(tiny_encoder, WHOLE, titles=DEFAULT, seeds=(3,), max_length=8))


@pytest.mark.parametrize("task", [WHOLE, TESTED, SPLIT, PAIRED], ids=lambda task: task.name)
def test_scores_and_items_are_those_of_the_probe_on_these_vectors(tiny_encoder, of_whole, task, monkeypatch):
    monkeypatch.setattr(logistic, "TOLERANCE", ROUGH)
    found = of_whole if task is WHOLE else finish(transfer(tiny_encoder, task, titles=DEFAULT, seeds=(3,)))
    vectors = {}
    for split, rows in task.splits.items():
        one = finish(encoded(tiny_encoder, rows.texts)).of("model default")
        if rows.second:
            other = finish(encoded(tiny_encoder, rows.second)).of("model default")
            one = np.c_[np.abs(one - other), one * other]
        # SentEval sorts by the number of words, those of the second sentence, and the class
        words = [(len(text.split()), len(more.split()), label) for text, more, label in
                 zip(rows.texts, rows.second or [""] * len(rows), rows.labels, strict=True)]  # fmt: skip
        order = sorted(range(len(rows)), key=words.__getitem__)
        y = np.array([("no", "yes").index(label) for label in rows.labels])
        vectors[split] = Rows(one[order], y[order]), np.array(order)
    data = [vectors.get(split, (None,))[0] for split in ("dev", "test")]
    guess = finish(logistic.predictions(ProbeData(vectors["all" if task is WHOLE else "train"][0], *data, 2), 3))
    gold, order = vectors[task.split]
    assert found.score() == pytest.approx(100 * np.mean(guess == gold.y))
    assert found.score(measure="macro F1") == pytest.approx(100 * f1_score(gold.y, guess, average="macro"))
    assert found.items is not None
    assert np.array_equal(found.items.values[order], guess == gold.y), "in the order of the set"
    assert found.items.digest == task.digest
    assert 50 < found.score() < 100


def test_tasks_are_the_published_sets_and_features_of_a_pair_the_difference_and_the_product():
    first, second = np.array([[1.0, -2.0]], dtype=np.float32), np.array([[3.0, 1.0]], dtype=np.float32)
    assert pair_features(first, second).tolist() == [[2.0, 3.0, 3.0, -2.0]]
    assert TASKS == ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC")
    assert SEEDS == (1, 2, 3, 4, 1234, 2345, 3456, 7890)


def test_senteval_scores_the_model_default_unless_titles_are_given_and_the_setting_says_how(tiny_encoder, of_whole):
    assert finish(transfer(tiny_encoder, SPLIT, probe="senteval")).titles == DEFAULT
    more = finish(transfer(tiny_encoder, SPLIT, probe="senteval", titles=("max of layer 2", "cls of layer 1")))
    assert more.titles == ("cls of layer 1", "max of layer 2", "model default")
    plain = of_whole.setting
    assert plain["probe"] == "logistic"
    assert (plain["C"], plain["folds"], plain["standardised"]) == ("0.001, 0.01, 0.1, 1", "nested 10", True)
    assert (plain["max_length"], plain["precision"]) == (8, "float32")
    mlp = finish(transfer(tiny_encoder, TESTED, probe="senteval")).setting
    assert mlp["seeds"] == "1"
    assert (mlp["l2"], mlp["folds"], mlp["hidden"], mlp["batch"]) == ("1e-05, 0.0001, 0.001, 0.01", "10", 50, 64)
    assert finish(transfer(tiny_encoder, SPLIT, titles=DEFAULT)).setting["folds"] == "none"


def test_vectors_that_are_no_numbers_have_no_score(tiny_encoder, monkeypatch):
    real = Encoded.of

    def broken(self, title):
        return real(self, title) * (np.nan if title == "cls of layer 1" else 1)

    monkeypatch.setattr(Encoded, "of", broken)
    found = finish(transfer(tiny_encoder, SPLIT, titles=("cls of layer 1",)))
    assert np.isnan(found.score("cls of layer 1"))
    assert found.score() > 50
    monkeypatch.setattr(Encoded, "of", lambda self, title: real(self, title) * np.nan)
    missing = finish(transfer(tiny_encoder, SPLIT, titles=DEFAULT))
    assert missing.items is not None
    assert np.isnan(missing.score())
    assert np.isnan(missing.items.values).all(), "missing is not wrong"


def test_a_file_of_the_user_is_scored_and_progress_counts_all_fits(tiny_encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(logistic, "TOLERANCE", 1e6)  # how often it fits, not how well
    told = []
    finish(transfer(tiny_encoder, TESTED, titles=("cls of layer 1",), seeds=(1, 2)), told.append)
    assert [(one.done, one.total) for one in told if one.stage.startswith("logistic")] == [(at, 44) for at in range(44)]
    rows = _labelled(120)
    lines = [f"{label}\t{text}" for label, text in zip(rows.labels, rows.texts, strict=True)]
    (tmp_path / "mine.tsv").write_text("\n".join(["label\ttext", *lines]), encoding="utf-8")
    task, _ = labelled_sets.load(str(tmp_path / "mine.tsv"))
    found = finish(transfer(tiny_encoder, task, titles=DEFAULT, probe="senteval"))
    assert found.split == "all"
    assert found.items is not None
    assert len(found.items.values) == 120


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ({"probe": "svm"}, r"probe cannot be 'svm'\. Choose one of logistic, senteval"),
        ({"seeds": ()}, r"seeds cannot be \[\]\. Choose whole numbers .*, 1 or more, each once"),
        ({"seeds": (1, 1)}, r"seeds cannot be \[1, 1\]\. "),
        ({"seeds": (-1,)}, "from 0 to 4294967295"),
        ({"titles": ("mean",)}, "no layer & pooling 'mean'"),
        ({"max_length": 1}, "maximum length of 1"),
    ],
)
def test_a_wrong_choice_is_refused_before_anything_is_encoded(tiny_encoder, encodings, choice, why):
    with pytest.raises(BadChoice, match=why):
        finish(transfer(tiny_encoder, SPLIT, **choice))
    assert encodings == []


def test_a_set_that_cannot_be_scored_is_refused(tiny_encoder, encodings):
    with pytest.raises(TooFewRows, match="10 folds need at least 100"):
        finish(transfer(tiny_encoder, LabelledSet("few", _labelled(50))))
    assert encodings == []


@pytest.mark.parametrize("probe", ["logistic", "senteval"])
@pytest.mark.parametrize(("task", "fits"), [(WHOLE, (55, 110)), (TESTED, (11, 11)), (SPLIT, (1, 1))])
def test_the_cost_is_known_before(tiny_encoder, probe, task, fits):
    titles = ("cls of layer 1", "model default")
    cost = finish(estimate(tiny_encoder, task, probe=probe, titles=titles, seeds=(1, 2)))
    assert cost.fits == 4 * fits[probe == "senteval"]
    assert cost.texts == len({text for rows in task.splits.values() for text in rows.texts})
    assert cost.disk == cost.texts * 2 * 32 * 4
    assert 0 < cost.probing <= cost.probing_at_most
    assert (cost.probing == cost.probing_at_most) == (probe == "logistic")
    assert cost.seconds == cost.encoding + cost.probing > 0


def _rows(count: int, classes: int = 2, seed: int = 0, noise: float = 3.0) -> Rows:
    random = np.random.default_rng(seed)
    y = np.arange(count) % classes
    x = random.normal(size=(count, 12)) * noise
    x[:, :classes] += np.eye(classes)[y] * 4
    return Rows((x * 100 + 7).astype(np.float32), y.astype(np.intp))


def _accuracy(train: Rows, places, held, strength: float) -> int:
    return (_predicted(train, places, train.x[held], strength) == train.y[held]).sum()


def _predicted(train: Rows, places, x, strength: float):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=5000))
    return model.fit(train.x[places], train.y[places]).predict(x)


def test_a_class_with_few_rows_is_predicted_from_rows_of_other_folds_and_a_single_row_never_is():
    rows = _rows(103, noise=0.1)
    y = rows.y.copy()
    y[:3], y[3] = 2, 3
    x = rows.x + 500 * np.eye(12)[y].astype(np.float32)
    few = Rows(x, y)
    right = finish(logistic.predictions(ProbeData(few, None, None, 4), 1)) == y
    assert right[4:].mean() > 0.9
    assert not right[3]
    assert (
        len(finish(senteval.predictions(ProbeData(few, None, None, 4), 1, Network(epoch_size=1, max_epoch=0)))) == 103
    )
    assert logistic.strength(ProbeData(few, None, None, 4), 1) in logistic.STRENGTHS
    held = [out for _, out in folds(y, 1)]
    assert sorted(np.concatenate(held)) == list(range(103))
    assert max(np.isin(out, [0, 1, 2]).sum() for out in held) == 1, "each row of a class is in another fold"


def test_without_a_class_of_ten_rows_there_are_as_many_folds_as_the_largest_has():
    y = np.arange(120) % 15
    y[:1] = 1
    parts = [out for _, out in folds(y, 1)]
    assert len(parts) == 9
    assert len(finish(logistic.predictions(ProbeData(Rows(_rows(120, 12).x, y), None, None, 15), 1))) == 120
    assert len(folds(np.arange(120) % 2, 1)) == 10


def test_nested_folds_equal_plain_loops_over_all_pairs_of_folds():
    rows = _rows(120)
    parts = [test for _, test in StratifiedKFold(10, shuffle=True, random_state=5).split(rows.x, rows.y)]

    @cache  # a pair of folds is left out twice: once for each of them
    def guesses(left_out: frozenset[int], strength: float):
        rest = np.concatenate([part for at, part in enumerate(parts) if at not in left_out])
        return _predicted(rows, np.sort(rest), rows.x, strength)

    wanted, chosen = np.empty(120, dtype=int), []
    for outer in range(10):
        right = []
        for strength in logistic.STRENGTHS:
            inner = 0
            for other in range(10):
                if other != outer:
                    guess = guesses(frozenset((outer, other)), strength)
                    inner += (guess == rows.y)[parts[other]].sum()
            right.append(inner)
        chosen.append(logistic.STRENGTHS[int(np.argmax(right))])
        wanted[parts[outer]] = guesses(frozenset((outer,)), chosen[-1])[parts[outer]]
    found = finish(logistic.predictions(ProbeData(rows, None, None, 2), 5))
    assert len(set(chosen)) > 1, "the folds should not agree on C, else the test cannot fail"
    assert np.array_equal(found, wanted)


def test_folds_over_train_choose_c_for_the_test_split():
    train, test = _rows(100, 3), _rows(60, 3, seed=1)
    right = [
        sum(
            _accuracy(train, inner, held, strength)
            for inner, held in StratifiedKFold(10, shuffle=True, random_state=2).split(train.x, train.y)
        )
        for strength in logistic.STRENGTHS
    ]
    best = logistic.STRENGTHS[int(np.argmax(right))]
    found = finish(logistic.predictions(ProbeData(train, None, test, 3), 2))
    assert np.array_equal(found, _predicted(train, np.arange(100), test.x, best))


def test_a_dev_split_chooses_c_and_of_equally_good_values_the_smallest():
    train, dev, test = _rows(60), _rows(60, seed=1), _rows(200, seed=2)
    right = [(_predicted(train, np.arange(60), dev.x, c) == dev.y).sum() for c in logistic.STRENGTHS]
    best = int(np.argmax(right))
    assert len(set(right)) > 1
    found = finish(logistic.predictions(ProbeData(train, dev, test, 2), 1))
    assert np.array_equal(found, _predicted(train, np.arange(60), test.x, logistic.STRENGTHS[best]))
    train = _rows(60, noise=0.01)
    on_train = [guess for (guess,) in logistic.path(train, [train.x])]
    assert all(np.array_equal(guess, train.y) for guess in on_train)
    assert logistic._best([60, 60, 60, 59]) == 0


def _fixed(rows: Rows):
    return finish(logistic.predictions(ProbeData(rows, rows, rows, 2), 1))


def test_small_differences_and_small_dimensions_count_and_a_scale_does_not():
    y = np.repeat([0, 0, 1], 40)
    x = np.full((120, 4), 0.3, dtype=np.float32) + (1e-5 * y[:, None]).astype(np.float32)
    assert np.array_equal(_fixed(Rows(x, y)), y)
    y = np.arange(120) % 2
    x = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    x[:, 0] = 1e-9 * (y - 0.5)
    assert np.array_equal(_fixed(Rows(x, y)), y)
    rows = _rows(100)
    assert (_fixed(rows) == _fixed(Rows(rows.x * np.float32(1e-4), rows.y))).mean() >= 0.98


@pytest.mark.parametrize("spread", [0.0, 2e-8])
def test_vectors_that_differ_by_rounding_alone_tell_nothing(spread):
    y = np.repeat([0, 0, 1], 40)
    x = np.full((120, 4), 0.3, dtype=np.float32) + (spread * y[:, None]).astype(np.float32)
    assert (np.ptp(x) > 0) == (spread > 0)
    assert (_fixed(Rows(x, y)) == 0).all(), "the larger class"


TOLD = Progress("training", 0, 1)
# few passes and a small layer, so that the slow reference takes seconds
QUICK = Network(hidden=4, rate=1e-2, batch=64, tenacity=1, epoch_size=1, max_epoch=1)
SLOW = asdict(QUICK)


def _made(count: int, classes: int = 2, seed: int = 0, width: int = 8) -> Rows:
    """Classes that overlap, in float64, so that both implementations take the same decisions."""
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, count)
    x = random.normal(size=(count, width))
    x[:, :classes] += 1.5 * np.eye(classes)[y]
    return Rows(x, y)


def _evaluations(accuracies) -> tuple[int, int]:
    """How many evaluations and passes a training has whose dev accuracies are these."""
    rule, network, passes = TrainedNetwork(5), Network(), 0
    for accuracy in accuracies:
        if rule.stopped or passes > network.max_epoch:
            break
        passes += network.epoch_size
        rule.improved(accuracy)
    return rule.evaluations, passes


def test_a_training_stops_after_evaluations_without_improvement_or_after_200_passes():
    assert _evaluations([0.5] * 99) == (7, 28)
    assert _evaluations([at / 99 for at in range(99)]) == (51, 204)
    falls_then_rises = [at / 99 - (at % 2) / 33 for at in range(99)]  # every second one is worse
    assert _evaluations(falls_then_rises) == (12, 48)


@pytest.mark.parametrize(("improves", "evaluations"), [(False, 7), (True, 51)])
def test_a_training_follows_the_rule(improves, evaluations, monkeypatch):
    told, steps = [], []
    given = iter(range(99))

    def accuracies(weights, *_):
        return [next(given) / 99 if improves else 0.5] * len(weights[0])

    monkeypatch.setattr(senteval, "_accuracies", accuracies)
    monkeypatch.setattr(senteval._Group, "update", lambda *_: steps.append(1))
    found = finish(trained(_made(20), _made(20), 2, (1e-5, 1e-2), 1, TOLD), told.append)
    assert [one.evaluations for one in found] == [evaluations] * 2
    assert (len(told), len(steps)) == (evaluations, 4 * evaluations)


def test_networks_that_are_trained_together_equal_those_of_plain_loops():
    rows, dev, test = _made(150, 3), _made(60, 3, seed=1), _made(90, 3, seed=2)
    found = finish(trained(rows, dev, 3, senteval.DECAYS, 7890, TOLD, network=Network(rate=1e-2)))
    for decay, one in zip(senteval.DECAYS, found, strict=True):
        slow = senteval_loops.Classifier(8, 3, decay, 7890, rate=1e-2)
        best = slow.fit(rows.x, rows.y, (dev.x, dev.y))
        assert (one.evaluations, one.accuracy) == (slow.evaluations, best)
        weights = [slow.model[0].weight, slow.model[0].bias, slow.model[3].weight, slow.model[3].bias]
        for mine, wanted in zip(one.weights, weights, strict=True):
            torch.testing.assert_close(mine, wanted.detach(), rtol=1e-6, atol=1e-8)
        assert np.array_equal(one.predict(test.x), slow.predict(test.x))
    assert len({one.evaluations for one in found}) > 1, "some stop before others"


def test_first_weights_are_those_of_two_linear_layers_after_the_seed():
    before = torch.random.get_rng_state()
    found = first_weights(8, 3, 2, 1234, Network())
    assert torch.equal(before, torch.random.get_rng_state()), "the global generator is untouched"
    with torch.random.fork_rng():
        torch.manual_seed(1234)
        one, two = nn.Linear(8, 50), nn.Linear(50, 3)
    for mine, wanted in zip(found, (one.weight, one.bias, two.weight, two.bias), strict=True):
        for network in range(2):
            torch.testing.assert_close(mine[network], wanted, rtol=1e-6, atol=0)


def test_with_a_dev_split_there_are_no_folds_and_without_splits_nested_ones(monkeypatch):
    rows, decays = _made(100), senteval.DECAYS[::3]
    with monkeypatch.context() as patch:
        for probe in (senteval, senteval_loops):  # two decays to choose from: the loops train 210 networks, not 410
            patch.setattr(probe, "DECAYS", decays)
        found = finish(senteval.predictions(ProbeData(rows, None, None, 2), 3, QUICK))
        assert np.array_equal(found, senteval_loops.nested(rows.x, rows.y, 2, 3, **SLOW))
    train, dev, test = _made(100), _made(50, seed=1), _made(200, seed=2)
    found = finish(senteval.predictions(ProbeData(train, dev, test, 2), 4, QUICK))
    assert np.array_equal(found, senteval_loops.fixed_split(train.x, train.y, (dev.x, dev.y), test.x, 2, 4, **SLOW))


@pytest.mark.parametrize("seed", [1, 2])
def test_with_a_test_split_folds_over_train_choose_the_decay(seed):
    train, test = _made(110, 3), _made(200, 3, seed=1)
    found = finish(senteval.predictions(ProbeData(train, None, test, 3), seed, QUICK))
    assert np.array_equal(found, senteval_loops.train_and_test(train.x, train.y, test.x, 3, seed, **SLOW))


def test_mean_accuracies_are_compared_after_rounding_to_two_decimals():
    assert senteval._best([0.812341, 0.812344, 0.8, 0.7]) == 0
    assert senteval._best([0.8123, 0.8124, 0.8, 0.7]) == 1


FITS = [(logistic, "path", _rows, ()), (senteval, "trained", _made, (Network(hidden=2, epoch_size=1, max_epoch=0),))]


@pytest.mark.parametrize(("probe", "fit", "made", "network"), FITS, ids=["logistic", "senteval"])
@pytest.mark.parametrize(("test", "dev"), [(False, False), (True, False), (True, True)])
def test_the_number_of_fits_is_known_before(probe, fit, made, network, test, dev, monkeypatch):
    monkeypatch.setattr(logistic, "TOLERANCE", 1e6)  # how often it fits, not how well
    rows, told, fits, real = made(100), [], [], getattr(probe, fit)
    monkeypatch.setattr(probe, fit, lambda *given, **named: fits.append(1) or real(*given, **named))
    data = ProbeData(rows, rows if dev else None, rows if test else None, 2)
    finish(probe.predictions(data, 1, *network), told.append)
    assert len(fits) == probe.fits(test, dev) == told[-1].total == told[-1].done + 1
