"""Test the transfer task: encoded once, scored under every layer & pooling, with what each item contributed."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.text_sets import Labelled
from explorer.errors import BadChoice, TooFewRows
from explorer.evaluating.encoded import Encoded, encoded, titles_of
from explorer.evaluating.probes import ProbeData, Rows, logistic, senteval
from explorer.evaluating.probes.senteval import Network
from explorer.evaluating.tasks import transfer as module
from explorer.evaluating.tasks.transfer import SEEDS, TASKS, estimate, pair_features, transfer
from explorer.progress import finish

DEFAULT = ("model default",)
NOUNS = ("man", "dog", "train", "city", "guitar", "ball")


def _labelled(count: int, seed: int = 0, pairs: bool = False) -> Labelled:
    """Rows whose class is "no" where they say no, save for some that are drawn."""
    random = np.random.default_rng(seed)
    said, wrong = random.random(count) < 0.4, random.random(count) < 0.15
    labels = tuple("no" if one else "yes" for one in said != wrong)
    texts = tuple(f"{'no ' * int(no)}{' '.join(random.choice(NOUNS, random.integers(1, 5)))}" for no in said)
    return Labelled("mine", texts, labels, tuple(f"the {word}" for word in random.choice(NOUNS, count)) * pairs)


WHOLE = LabelledSet("whole", _labelled(120))
TESTED = LabelledSet("tested", _labelled(110), test=_labelled(41, 1))
SPLIT = LabelledSet("split", _labelled(60), _labelled(31, 1), _labelled(41, 2))
PAIRED = LabelledSet("paired", *(_labelled(count, seed, pairs=True) for seed, count in enumerate((60, 30, 40))))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """SentEval's classifier with few passes."""
    network = Network(hidden=4, rate=1e-2, epoch_size=1, max_epoch=1)
    quick = lambda data, seed: senteval.predictions(data, seed, network)  # noqa: E731
    monkeypatch.setitem(module.PROBES, "senteval", quick)


@pytest.fixture
def encodings(tiny_encoder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each call of the encoder had."""
    calls: list[int] = []
    real = type(tiny_encoder).views_of
    monkeypatch.setattr(type(tiny_encoder), "views_of", lambda self, ids, *_: calls.append(len(ids)) or real(self, ids))
    return calls


def test_every_layer_and_pooling_is_scored_from_one_encoding(tiny_encoder, encodings):
    found = finish(transfer(tiny_encoder, SPLIT))
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


@pytest.mark.parametrize("task", [WHOLE, TESTED, SPLIT, PAIRED], ids=lambda task: task.name)
def test_scores_and_items_are_those_of_the_probe_on_these_vectors(tiny_encoder, task):
    found = finish(transfer(tiny_encoder, task, titles=DEFAULT, seeds=(3,)))
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


def test_senteval_scores_the_model_default_unless_titles_are_given_and_the_setting_says_how(tiny_encoder):
    assert finish(transfer(tiny_encoder, SPLIT, probe="senteval")).titles == DEFAULT
    more = finish(transfer(tiny_encoder, SPLIT, probe="senteval", titles=("max of layer 2", "cls of layer 1")))
    assert more.titles == ("cls of layer 1", "max of layer 2", "model default")
    plain = finish(transfer(tiny_encoder, WHOLE, titles=DEFAULT, max_length=8)).setting
    assert plain["probe"] == "logistic"
    assert (plain["C"], plain["folds"], plain["standardised"]) == ("0.001, 0.01, 0.1, 1", "nested 10", True)
    assert (plain["max_length"], plain["precision"]) == (8, "float32")
    mlp = finish(transfer(tiny_encoder, TESTED, probe="senteval")).setting
    assert mlp["seeds"] == "1"
    assert (mlp["l2"], mlp["folds"], mlp["hidden"], mlp["batch"]) == ("1e-05, 0.0001, 0.001, 0.01", "10", 50, 64)
    assert finish(transfer(tiny_encoder, SPLIT, titles=DEFAULT)).setting["folds"] == "none"


def test_vectors_that_are_no_numbers_have_no_score(tiny_encoder, monkeypatch):
    real = Encoded.of
    broken = lambda self, title: real(self, title) * (np.nan if title == "cls of layer 1" else 1)  # noqa: E731
    monkeypatch.setattr(Encoded, "of", broken)
    found = finish(transfer(tiny_encoder, SPLIT, titles=("cls of layer 1",)))
    assert np.isnan(found.score("cls of layer 1"))
    assert found.score() > 50
    monkeypatch.setattr(Encoded, "of", lambda self, title: real(self, title) * np.nan)
    missing = finish(transfer(tiny_encoder, SPLIT, titles=DEFAULT))
    assert missing.items is not None
    assert np.isnan(missing.score())
    assert np.isnan(missing.items.values).all(), "missing is not wrong"


def test_a_file_of_the_user_is_scored_and_progress_counts_all_fits(tiny_encoder, tmp_path):
    told = []
    finish(transfer(tiny_encoder, TESTED, titles=("cls of layer 1",), seeds=(1, 2)), told.append)
    assert [(one.done, one.total) for one in told if one.stage.startswith("logistic")] == [(at, 44) for at in range(44)]
    rows = _labelled(120)
    lines = [f"{label}\t{text}" for label, text in zip(rows.labels, rows.texts, strict=True)]
    (tmp_path / "mine.tsv").write_text("\n".join(["label\ttext", *lines]), encoding="utf-8")
    task, _ = labelled_sets.load(str(tmp_path / "mine.tsv"))
    found = finish(transfer(tiny_encoder, task, titles=DEFAULT))
    assert found.split == "all"
    assert found.items is not None
    assert len(found.items.values) == 120


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ({"probe": "svm"}, r"no probe 'svm'\. Choose one of logistic, senteval"),
        ({"seeds": ()}, "seeds are none. Give at least one"),
        ({"seeds": (1, 1)}, "seeds are 1, 1. Give at least one, each once"),
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
