"""Test that `compare` and `explain` report the differences of two encoders, and what each word adds to a cosine."""

import json
import os
import signal
from dataclasses import replace
from html import unescape

import pytest

from explorer.measuring.scores.judge import PackChange, PairChange, Share
from explorer.measuring.scores.layer_scores import for_people
from explorer.measuring.sentences import word_pairs
from explorer.training.record import status as statuses
from tests.html_tables import tables
from tests.html_tables import told as shown
from tests.spoiling import configure
from tests.tiny_models import save_tiny
from tests.trainings import new, train

BOTH = ("all-MiniLM-L6-v2",) * 2


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", name="tuned", settings={"steps": 2}))


def test_a_run_is_compared_with_its_base_by_name(place, run, done, answered):
    out, _ = done("compare", place.model, "run:tuned", "--sts", place.test, "--reading", "cls of layer 2")
    assert "cls of layer 2 of run:tuned" in out
    assert "B - A" in out
    found = answered("compare", place.model, "run:tuned", "--sts", place.test, "--json")
    scores = answered("score", run.model, "--sts", place.test, "--json", "--precision", "float32")
    readings = {row["reading"]: row["spearman"] for row in scores["readings"]}
    for cell in found["cells"]:
        assert cell["B"] == pytest.approx(readings[cell["layer & pooling"]], abs=1e-3)
    assert found["chosen"]["layer & pooling A"] == "mean of layer 2"


def test_an_encoder_beside_itself_differs_by_nothing(place, answered):
    cells = answered("compare", place.model, place.model, "--sts", place.test, "--json")["cells"]
    names = ("difference", "low", "high", "significant")
    found = {tuple(cell[name] for name in names) for cell in cells if cell["difference"] is not None}
    assert found == {(0, 0, 0, False)}


def test_a_run_is_judged_against_its_base_as_people_use_both(place, run, said, answered):
    words = ("compare", place.model, "run:tuned", "--sts", place.test)
    numbers = answered(*words, "--json")
    verdict = numbers["verdict"]
    scores = {}
    for model in (place.model, run.model):
        rows = answered("score", model, "--sts", place.test, "--json", "--precision", "float32")["readings"]
        scores[model] = {row["reading"]: row["spearman"] for row in rows}
    assert "model default" not in scores[place.model], "the premise: it declares nothing"
    assert verdict["declared_base"] == pytest.approx(scores[place.model]["mean of layer 2"], abs=1e-3)
    assert verdict["exported"] == pytest.approx(scores[run.model]["model default"], abs=1e-3)
    assert verdict["difference"] == pytest.approx(verdict["exported"] - verdict["declared_base"], abs=1e-3)
    assert verdict["same_reading_base"] is None or verdict["same_reading_base"] in scores[place.model].values()
    assert (numbers["chosen"]["A"], numbers["chosen"]["B"]) == (verdict["declared_base"], verdict["exported"])
    assert said(*words)[1].splitlines()[0] == numbers["learned"]["text"]
    cells = answered(*words, "--json", "--reading", "cls of layer 1")
    assert cells["verdict"] == verdict, "whatever else is looked at"
    back = answered("compare", "run:tuned", place.model, "--sts", place.test, "--json")["verdict"]
    assert (back["difference"], back["kind"]) == (verdict["difference"], verdict["kind"]), "also the other way round"


def test_one_layer_and_pooling_for_both_is_the_default_of_a(place, run, answered):
    words = ("compare", place.model, "run:tuned", "--sts", place.test, "--json")
    chosen = answered(*words, "--same")["chosen"]
    assert (chosen["layer & pooling A"], chosen["layer & pooling B"]) == ("mean of layer 2", "mean of layer 2")
    chosen = answered(*words)["chosen"]
    assert (chosen["layer & pooling A"], chosen["layer & pooling B"]) == ("mean of layer 2", "model default")
    chosen = answered(*words, "--reading", "max of layer 1")["chosen"]
    assert (chosen["layer & pooling A"], chosen["layer & pooling B"]) == ("max of layer 1", "max of layer 1")


def test_readings_picked_on_development_pairs_are_reported_on_the_others(place, run, said, answered, tmp_path):
    words = ("compare", place.model, "run:tuned", "--sts", place.test, "--dev", place.dev)
    file = tmp_path / "out.html"
    found = answered(*words, "--json", "--report", file)
    for side, model in (("A", place.model), ("B", run.model)):
        numbers = {}
        for pairs in (place.dev, place.test):
            scores = answered("score", model, "--sts", pairs, "--json", "--precision", "float32")
            numbers[pairs] = {row["reading"]: row["spearman"] for row in scores["readings"]}
            numbers[pairs].pop("model default", None)
        best = max(numbers[place.dev], key=lambda reading: numbers[place.dev][reading] or -100)
        assert found["chosen"][f"layer & pooling {side}"] == best
        assert found["chosen"][side] == pytest.approx(numbers[place.test][best], abs=1e-3)
        assert found["picked"]["scores"][side] == pytest.approx(numbers[place.dev][best], abs=1e-3)
    assert f"is the best on {found['picked']['on']}" in said(*words)[1]
    assert "is the best on" in file.read_text(encoding="utf-8")


def test_an_encoder_of_another_depth_is_compared_by_its_reading(place, tmp_path, done):

    other = save_tiny("bert", tmp_path / "other")
    configure(other / "config.json", num_hidden_layers=1)
    out, _ = done("compare", place.model, other, "--sts", place.test)
    assert "A has 2 layers and B 1: cell by cell they cannot be compared." in out


@pytest.fixture
def learned(run):
    """Until the test ends, the run has learned what one of its pairs shows."""
    status = run.status()
    sides = Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8)
    pack = PackChange("negation", 60, *sides, 0.4, 0.8)
    texts = ("The door is open.", "The door is not open."), ("He left at six.", "At six he went away.")
    pairs = PairChange("negation", *texts[0], 0.9, 0.2), PairChange("paraphrase", *texts[1], 0.7, 0.7)
    statuses.write(run.folder, replace(status, verdict=replace(status.verdict, packs=(pack,), pairs=pairs)))
    yield run
    statuses.write(run.folder, status)


def test_the_report_holds_the_numbers_of_the_json(place, learned, done, answered, tmp_path):
    file = tmp_path / "new folder" / "out.html"
    words = ("compare", place.model, "run:tuned", "--sts", place.test, "--reading", "cls of layer 2", "--pooling=max")
    out, err = done(*words, "--json", "--report", file)
    numbers = json.loads(out)
    page = file.read_text(encoding="utf-8")
    found = tables(page)
    pairs = numbers["learned"]["pairs"]
    assert page.count("What each word adds to the cosine, A and B</h3>") == len(pairs) == 1, "the one that shows it"
    assert all(f"{one['first']} / {one['second']}" in unescape(page) for one in pairs)
    assert found[0] == numbers["cosines_by_grade"]
    assert found[1] == for_people(numbers["geometry"]["layers"])
    assert numbers["geometry"]["layers"][0]["layer & pooling"] == "max of layer 0"
    assert numbers["geometry"]["layers"][-1]["layer & pooling"] == "chosen: cls of layer 2"
    assert found[2] == for_people(numbers["geometry"]["drift"])
    assert found[-3] == shown(for_people(numbers["cells"]))
    assert [path.name for path in file.parent.iterdir()] == ["out.html"]
    assert str(file) in err
    assert answered(*words, "--json", "--geometry") == numbers


def test_a_report_that_cannot_be_written_says_so_and_leaves_nothing(place, run, said, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = said("compare", place.model, "run:tuned", "--sts", place.test, "--report", tmp_path / "file" / "out")
    assert code == 1
    assert f"cannot be written, since {tmp_path / 'file'} is no folder. Choose another path." in err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((*BOTH, "--dev", "sample dev", "--reading", "mean"), "--reading has no effect with --dev."),
        ((*BOTH, "--dev", "sample dev", "--same"), "--same has no effect with --dev."),
        ((*BOTH, "--reading", "mean of layer 1", "--same"), "--reading has no effect with --same."),
        (("all-MiniLM-L6-v2", "run:nobody"), "No run 'nobody' has a model"),
        (("run:../x", "all-MiniLM-L6-v2"), "No run '../x' has a model"),
        ((*BOTH, "--metric", "kendall"), "There is no metric 'kendall'"),
        ((*BOTH, "--reading", "mean of layer 99"), "There is no layer & pooling"),
        ((*BOTH, "--pooling", "sum"), "There is no pooling 'sum'"),
    ],
)
def test_what_cannot_be_is_refused(place, refused, given, message):
    assert message in refused("compare", *given)


PAIR = "a man is playing the guitar", "a dog is playing"


def test_the_words_of_two_models_add_up_to_their_cosines(place, answered):
    told = answered("explain", *PAIR, place.model, place.model, "--other-reading", "max of layer 1", "--json")
    for side in "AB":
        assert sum(row["contribution"] for row in told[side]["matrix"]) == pytest.approx(told[side]["cosine"], abs=0.01)
        assert [row["word"] for row in told[side]["words"] if row["sentence"] == 1][:-1] == PAIR[0].split()
    assert {row["word"] for row in told["changes"]} == {*PAIR[0].split(), *PAIR[1].split()}
    assert told["A"]["reading"] != told["B"]["reading"]


def test_the_text_says_it_first(place, done):
    out, _ = done("explain", *PAIR, place.model, "--reference", "mean embedding", "--max-length", 6)
    assert out.splitlines()[0].endswith(".")
    assert "differences cost" in out.splitlines()[0]
    assert "adds most to the cosine" in out
    assert "guitar" not in out.split(PAIR[0])[-1], "it was cut"


def test_a_model_that_is_not_there_and_a_reference_that_is_none_are_refused(place, refused):
    assert "nowhere/model" in refused("explain", *PAIR, "nowhere/model")
    assert "[MASK]" in refused("explain", *PAIR, place.model, "--reference", "nothing")


def test_a_file_of_pairs_is_explained_pair_by_pair_and_shown_in_a_report(place, done, answered, tmp_path):
    file, report = tmp_path / "pairs.csv", tmp_path / "words.html"
    file.write_text(f"first,second\n{PAIR[0]},{PAIR[1]}\n<b>a dog</b>,a dog\n,empty\n", encoding="utf-8")
    out, err = done("explain", "--pairs", file, place.model, place.model, "--html", report, "--json")
    assert "1 dropped: empty sentence (line 4)" in err
    content = json.loads(out)
    found, mean = content["pairs"], content["mean cost"]
    assert [one["sentences"] for one in found] == [list(PAIR), ["<b>a dog</b>", "a dog"]]
    costs = [sum(edit["A"] for edit in one["edits"]) for one in found]
    assert mean["A"]["mean"] == pytest.approx(sum(costs) / len(costs), abs=1e-4)
    assert mean["A"]["low"] <= mean["A"]["mean"] <= mean["A"]["high"]
    assert mean["change"] == {"mean": 0.0, "low": 0.0, "high": 0.0}, "of a model with itself"
    last = [row for row in mean["by layer"] if row["side"] == "A"][-1]
    by_layer = [
        sum(row["cost"] for row in one["A"]["edits by layer"] if row["layer"] == last["layer"]) for one in found
    ]
    assert last["cost"] == pytest.approx(sum(by_layer) / len(by_layer), abs=1e-4)
    assert mean["told"] in unescape(report.read_text(encoding="utf-8"))
    assert answered("explain", *PAIR, place.model, place.model, "--json") == found[0], "as without a file"
    page = report.read_text(encoding="utf-8")
    for one in found:
        assert one["told"] in unescape(page)
    assert "<b>a dog" not in page
    (first, second, *_) = tables(page)
    assert [row["A"] for row in first] == [row["contribution"] for row in found[0]["A"]["words"]]
    assert {row["change"] for row in second} == {0.0}
    assert page.count('aria-label="What each word adds') == page.count('aria-label="A: pairs of words') == 2


def test_what_is_done_is_printed_when_a_signal_stops_the_next_pair(place, said, tmp_path, monkeypatch):
    file = tmp_path / "pairs.tsv"
    file.write_text(f"first\tsecond\na dog is here\ta dog is there\n{PAIR[0]}\t{PAIR[1]}\n", encoding="utf-8")

    computed = word_pairs.word_pair

    def stopped(encoder, first, *others, **settings):
        if first == PAIR[0]:
            os.kill(os.getpid(), signal.SIGTERM)
        return computed(encoder, first, *others, **settings)

    monkeypatch.setattr(word_pairs, "word_pair", stopped)
    code, out, err = said("explain", "--pairs", file, place.model, "--json", "--max-length", 7)
    assert code == 128 + signal.SIGTERM
    printed = json.loads(out)
    assert [one["sentences"][0] for one in printed["pairs"]] == ["a dog is here"]
    assert printed["mean cost"] is None, "of one pair there is none"
    assert "Stopped after 1 of 2 pairs" in err


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "No sentences were given; two are needed"),
        (("a dog",), "One sentence was given"),
        (("--pairs", "pairs.csv", *PAIR), f"Both --pairs pairs.csv and '{PAIR[0]}' were given"),
        (("--pairs", "pairs.csv", "a", "b", "c"), "Both --pairs pairs.csv and two sentences were given"),
    ],
)
def test_both_or_neither_of_two_sentences_and_a_file_are_refused(refused, words, fault):
    err = refused("explain", *words)
    assert fault in err
    assert "explain --pairs FILE A B" in err


def test_a_file_without_two_columns_names_what_it_has(refused, tmp_path):
    (tmp_path / "one.txt").write_text("a dog\na cat\n", encoding="utf-8")
    err = refused("explain", "--pairs", tmp_path / "one.txt")
    assert "one.txt has no column for second, which pairs of sentences need" in err


def test_pairs_of_every_kind_are_explained(place, answered, tmp_path):
    """Of a triplet the anchor with its positive, and with its negative; of a query each passage relevant to it."""
    short = ("--max-length", 6)
    kinds = {
        "queries": (("query", "passage"), ("a dog", "a man"), [("a dog", "a man")]),
        "triplets": (
            ("anchor", "positive", "negative"),
            ("a dog", "a man", "a cat"),
            [("a dog", "a man"), ("a dog", "a cat")],
        ),
        "texts": (("first", "second"), ("a dog", "a man"), [("a dog", "a man")]),
    }
    for name, (head, row, pairs) in kinds.items():
        file = tmp_path / f"{name}.tsv"
        file.write_text("\n".join(map("\t".join, (head, row))) + "\n", encoding="utf-8")
        found = answered("explain", "--pairs", file, place.model, "--json", *short)["pairs"]
        assert [tuple(one["sentences"]) for one in found] == pairs
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    lines = {"corpus": ("a man", "a cat", "the guitar"), "queries": ("a dog",)}
    for name, texts in lines.items():
        rows = [json.dumps({"_id": f"{name}{at}", "text": text}) for at, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows))
    qrels = ("query-id\tcorpus-id\tscore", "queries0\tcorpus1\t1", "queries0\tcorpus2\t1")
    (folder / "qrels" / "test.tsv").write_text("\n".join(qrels))
    found = answered("explain", "--pairs", folder, place.model, "--json", *short)["pairs"]
    assert [tuple(one["sentences"]) for one in found] == [("a dog", "a cat"), ("a dog", "the guitar")]


def test_texts_with_labels_are_no_pairs_and_the_error_names_what_takes_them(refused, tmp_path):
    file = tmp_path / "labels.tsv"
    file.write_text("\n".join(["label\ttext", *(f"{at % 2}\ta dog is number {at}" for at in range(200))]))
    err = refused("explain", "--pairs", file)
    assert "--pairs is for pairs of sentences, and labels.tsv has texts with labels." in err
    assert "score MODEL --on labels.tsv" in err
