"""Test that `compare` on several sets is a gate: what fails, what is not measured, its exit codes, JSON and JUnit."""

import json
import random
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import norm, spearmanr, ttest_1samp
from sentence_transformers import SentenceTransformer

from explorer.commands.parts import output
from explorer.data import sample
from explorer.evaluating.kinds.probe_pairs import ProbeJudge
from explorer.measuring.scores.verdict import Verdict
from explorer.progress import Progress
from explorer.studies.gate import Average
from tests.trainings import WORDS, labelled_splits

PAIRS = 60


@pytest.fixture(scope="module")
def sets(place, other, tmp_path_factory):
    """Scored pairs whose scores are the cosines of one of both encoders, and others that are drawn."""
    folder, drawn = tmp_path_factory.mktemp("sets"), random.Random(3)
    rows = [[" ".join(drawn.choices(WORDS, k=6)) for _ in range(2)] for _ in range(PAIRS)]
    found = {"random": [drawn.random() for _ in rows]}
    for name, model in (("of A", place.model), ("of B", other)):
        encoder = SentenceTransformer(str(model), device="cpu")
        one, two = (encoder.encode(list(column), normalize_embeddings=True) for column in zip(*rows, strict=True))
        found[name] = (one * two).sum(axis=1).tolist()
    for name, scores in found.items():
        lines = [f"{score:.6f}\t{one}\t{two}" for score, (one, two) in zip(scores, rows, strict=True)]
        (folder / f"{name}.tsv").write_text("\n".join(["score\tsentence1\tsentence2", *lines]))
    return {name: folder / f"{name}.tsv" for name in found}


def gated(said, place, other, *words):
    return said("compare", place.model, other, *words, "--fail-if-worse")


def test_the_exit_code_says_worse_missing_or_passed(said, place, other, sets):
    better, worse = ("--on", sets["of B"]), ("--on", sets["of A"])
    for words, code in (
        (better, 0),
        (worse, 1),
        ((*better, *worse), 1),
        (("--on", "no such set"), 2),
        ((*better, "--on", "no such set"), 2),
        ((*worse, "--on", "no such set"), 1),
    ):
        found, out, err = gated(said, place, other, *words)
        assert found == code, (words, out, err)
    found, out, _ = said("compare", place.model, other, *better, *worse)
    assert found == 0, "without --fail-if-worse nothing fails"
    assert len([line for line in out.splitlines() if line.startswith(("passed: ", "failed: "))]) == 2
    for further in (better, worse):
        found, out, _ = said("compare", place.model, other, *further, "--on", "no such set", "--json")
        assert found == json.loads(out)["exit_code"] == 2, "what was not measured is never passed over"


def test_a_model_that_is_not_there_is_not_measured(said, place, other, sets):
    code, out, err = said("compare", place.model, "nowhere/such", "--on", sets["of A"], "--fail-if-worse")
    assert (code, out) == (2, "")
    assert "nowhere/such" in err


def test_a_set_without_a_score_is_not_measured(said, place, other, tmp_path):
    few = tmp_path / "few.tsv"
    few.write_text("score\tsentence1\tsentence2\n1\tthe dog\tthe cat\n2\tthe man\tthe dog\n")
    code, out, _ = gated(said, place, other, "--on", few)
    assert code == 2
    assert out.startswith("not measured: ")


def test_a_loss_that_could_be_chance_fails_beyond_the_points_that_are_allowed(said, place, other, sets):
    """By scipy: the difference on pairs with drawn scores, and the points just above and below it."""
    scores = []
    table = [line.split("\t") for line in sets["random"].read_text().splitlines()[1:]]
    gold, *columns = zip(*table, strict=True)
    for model in (place.model, other):
        encoder = SentenceTransformer(str(model), device="cpu")
        one, two = (encoder.encode(list(column), normalize_embeddings=True) for column in columns)
        scores.append(100 * spearmanr((one * two).sum(axis=1), np.array(gold, float)).statistic)
    models = (place.model, other) if scores[1] < scores[0] else (other, place.model)
    lost = abs(scores[1] - scores[0])
    words = ("compare", *models, "--on", sets["random"], "--fail-if-worse")
    assert said(*words)[0] == 0, "the premise: it could be chance"
    assert said(*words, "--by", f"{lost + 0.1:.2f}")[0] == 0
    assert said(*words, "--by", f"{lost - 0.1:.2f}")[0] == 1


def test_a_junit_file_that_cannot_be_written_is_refused_before_the_work(said, tmp_path):
    words = ("compare", "./no", "./no", "--junit", tmp_path)
    for more, due in (((), 1), (("--fail-if-worse",), 2)):
        code, out, err = said(*words, *more)
        assert (code, out) == (due, "")
        assert f"'{tmp_path}' is a folder. Give the path of a file in it" in err


def test_json_and_junit_hold_what_the_lines_say(said, place, other, sets, tmp_path):
    words = ("--on", sets["of A"], "--on", sets["of B"], "--on", "no such set")
    junit = tmp_path / "junit.xml"
    code, out, _ = gated(said, place, other, *words, "--json", "--junit", junit)
    found = json.loads(out)
    assert found["exit_code"] == code == 1
    assert [one["state"] for one in found["sets"]] == ["failed", "passed", "not measured"]
    average, scores = found["average"], [one["verdict"] for one in found["sets"][:2]]
    before, after = (sum(one[side]["score"] for one in scores) / 2 for side in ("before", "after"))
    assert average["difference"] == pytest.approx(after - before, abs=0.011)
    assert (average["sets"], average["measure"], average["on_like"]) == (2, "Spearman", None)
    worse = found["sets"][0]
    assert (worse["items"], worse["measure"]) == (PAIRS, "Spearman")
    assert worse["verdict"]["high"] < 0
    suite = ElementTree.parse(junit).getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("testsuite", "3", "1", "1")
    kinds = [[child.tag for child in case] for case in suite]
    assert kinds == [["failure"], ["system-out"], ["error"]]
    assert suite[0][0].get("message") == worse["text"]


@pytest.mark.parametrize(
    ("gains", "on_these", "on_like"),
    [
        ((3, 4, 5, 4), "better", "better"),
        ((-3, -4, -5, -4), "worse", "worse"),
        ((-1, 9, 0, 8), "better", "could be chance"),
        ((0.1, -0.2, 0.3, 0), "could be chance", "could be chance"),
        ((3, 4), "better", "not measured, since 2 models need at least 3 sets"),
    ],
)
def test_several_sets_have_a_verdict_on_their_average_on_these_sets_and_on_sets_like_these(gains, on_these, on_like):
    """A gain counts on these sets by the errors of each set, and on sets like these by a paired t-test over them."""
    verdicts = [Verdict(70, None, 70 + gain, gain, gain - 1.5, gain + 1.5) for gain in gains]
    error = 1.5 / norm.ppf(0.975) / np.sqrt(len(gains))
    assert (abs(np.mean(gains)) > 1.96 * error) == (on_these != "could be chance"), "the premise"
    assert len(gains) < 3 or (ttest_1samp(gains, 0).pvalue < 0.05) == (on_like != "could be chance"), "the premise"
    sentence = Average.of("Spearman", verdicts).sentence
    assert sentence == (
        f"On average over {len(gains)} sets, B − A is {np.mean(gains):+.2f} (Spearman). ".replace("-", "−")
        + f"On these sets: {on_these}. On sets like these: {on_like}."
    )


def test_a_name_that_xml_cannot_hold_makes_no_broken_file(said, place, other, tmp_path):
    junit = tmp_path / "junit.xml"
    gated(said, place, other, "--on", "a \x01 <set> & more", "--junit", junit)
    (case,) = ElementTree.parse(junit).getroot()
    assert case.get("name") == "a \ufffd <set> & more"


def test_every_kind_of_data_is_compared_with_its_own_measure(said, place, other, tmp_path):
    drawn = random.Random(5)
    texts = [" ".join(drawn.choices(WORDS, k=5)) for _ in range(120)]
    kinds = {
        "queries": ("query\tpassage", [f"{texts[at]}\t{texts[at + 1]}" for at in range(0, 120, 2)], "nDCG@10"),
        "triplets": (
            "anchor\tpositive\tnegative",
            ["\t".join(texts[at : at + 3]) for at in range(0, 60, 3)],
            "accuracy",
        ),
        "labels": ("label\ttext", [f"{'ab'[at % 2]}\t{texts[at]}" for at in range(120)], "accuracy"),
    }
    words = []
    for name, (head, lines, _) in kinds.items():
        path = tmp_path / f"{name}.tsv"
        if name == "labels":
            labelled_splits(path, lines)
        else:
            path.write_text("\n".join([head, *lines, ""]))
        words += ["--on", path]
        code, out, err = said("compare", place.model, other, "--on", path)
        assert code == 0, err
        assert "B - A" in out
    _, out, _ = said("compare", place.model, other, *words, "--json")
    found = json.loads(out)["sets"]
    assert [one["measure"] for one in found] == [measure for _, _, measure in kinds.values()]
    assert found[0]["passages"] == len({line.split("\t")[1] for line in kinds["queries"][1]})


def test_probe_packs_are_compared_by_the_share_of_couples_that_a_run_is_judged_by(place, other, answered):
    """Not by the mean of cosines; the interval is that of the judge of runs, from sentence-transformers' vectors."""
    judge, items = ProbeJudge(sample.probe_pairs()), []
    for model in (place.model, other):
        encoder = SentenceTransformer(str(model), device="cpu")
        items.append(judge.items(encoder.encode(list(judge.texts), convert_to_tensor=True)))
    found = answered("compare", place.model, other, "--on", sample.PROBE_PACKS, "--json")["verdict"]
    gap = judge.difference(*items)
    wanted = [*map(judge.score, items), *map(float, (gap.difference, gap.low, gap.high))]
    got = [found["before"]["score"], found["after"]["score"], *(found[name] for name in ("difference", "low", "high"))]
    assert got == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--by", "1"), "--by needs --fail-if-worse"),
        (("--by", "-1", "--fail-if-worse"), "--by"),
        (("--fail-if-worse", "--geometry"), "--geometry is for one set"),
    ],
)
def test_what_has_no_effect_is_refused(said, place, other, sets, words, why):
    code, out, err = said("compare", place.model, other, "--on", sets["of A"], *words)
    assert code in (1, 2)
    assert out == ""
    assert why in err


@pytest.mark.parametrize("every", [10.0, 25.0])
def test_without_a_terminal_progress_is_a_line_each_time_so_many_seconds_are_over(monkeypatch, capsys, every):
    clock = [0.0]
    monkeypatch.setattr(output, "LOGGED", every)
    monkeypatch.setattr(output.time, "monotonic", lambda: clock[0])

    def work():
        for done in range(100):
            clock[0] += 1.0
            yield Progress("scoring", done, 100)

    output.shown(work())
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == [str(at - 1) for at in range(int(every), 101, int(every))]


def test_a_set_without_the_metric_says_by_which_one_it_is_judged(said, place, other, sets, tmp_path):
    queries, junit = tmp_path / "queries.tsv", tmp_path / "junit.xml"
    lines = [line.split("\t")[1:] for line in sets["random"].read_text().splitlines()[1:]]
    queries.write_text("\n".join(["query\tpassage", *map("\t".join, lines), ""]))
    words = ("compare", place.model, other, "--on", sets["random"], "--on", queries)
    for metric, main, place_of in (("pearson", "nDCG@10", 1), ("mrr@10", "Spearman", 0)):
        found = json.loads(said(*words, "--metric", metric, "--json", "--junit", junit)[1])["sets"]
        name = {"pearson": "Pearson", "mrr@10": "MRR@10"}[metric]
        assert (found[place_of]["measure"], found[1 - place_of]["measure"]) == (main, name)
        assert found[place_of]["text"].endswith(f" By {main}: the set has no {name}.")
        assert "the set has no" not in found[1 - place_of]["text"]
        assert f"By {main}: the set has no {name}." in junit.read_text()
        line = said(*words, "--metric", metric)[1].splitlines()[place_of]
        assert line.endswith(f"By {main}: the set has no {name}.")
    assert "the set has no" not in said(*words)[1]
