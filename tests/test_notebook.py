"""Test docs/notebook.md: all of its code runs, and agrees with other libraries and with the commands."""

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

import strata
from explorer.__main__ import main
from explorer.data import sample
from explorer.encoding.locate.model_names import find
from explorer.errors import StrataError
from explorer.measuring.sentences.word_pairs import Explained
from explorer.measuring.sentences.word_tables import content
from explorer.training.record import runs
from tests import trainings
from tests.live import ROOT

FAR = 101  # the rank of a passage that is not among the first 100
ROWS = 45  # of the files of the user, in which something changes


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The names of the page's snippet, after it has run where the files that it names are."""
    folder, pairs = tmp_path_factory.mktemp("files"), sample.test()
    rows = zip(pairs.first[:ROWS], pairs.second, pairs.first[1:], strict=False)
    lines = ["anchor\tpositive\tnegative", *("\t".join(row) for row in rows)]
    (folder / "my-triplets.tsv").write_text("\n".join(lines), encoding="utf-8")
    labelled = zip(pairs.parts[:ROWS], pairs.first[:ROWS], strict=True)
    trainings.labelled_splits(folder / "my-labels.tsv", [*map("\t".join, labelled)])
    place = trainings.furnish(folder)
    for path, name in (
        ("model", "my-encoder"),
        ("text", "my-sentences.csv"),
        ("dev", "my-dev.csv"),
        ("test", "my-test.csv"),
    ):
        getattr(place, path).rename(folder / name)
    text = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch, trainings.in_no_time():
        patch.setenv("STRATA_RUNS", str(folder / "runs"))
        first, *others = re.findall(r"```python\n(.*?)```", text, re.S)
        exec(first, names)
        with trainings.few_probes():
            for snippet in others:
                exec(snippet, names)
        yield names


@pytest.fixture(scope="module")
def theirs():
    """The model of the page in sentence-transformers."""
    return SentenceTransformer(str(find("all-MiniLM-L6-v2").folder), device="cpu")


def test_vectors_are_those_of_sentence_transformers(shown, theirs):
    assert np.allclose(shown["vectors"], theirs.encode(["The kettle boils.", "Water is hot."]), atol=1e-5)
    assert shown["layer_4"].shape == shown["vectors"].shape
    assert not np.allclose(shown["layer_4"], shown["vectors"], atol=1e-2)


def test_scores_are_a_table_of_all_layers_and_poolings_and_a_comparison_says_what_the_run_says(shown, theirs):
    table = shown["table"].set_index("layer & pooling")
    assert len(table) == 31
    half = sample.test()
    cosines = (theirs.encode(half.first) * theirs.encode(half.second)).sum(axis=1)  # their length is 1
    wanted = 100 * spearmanr(half.gold, cosines).statistic
    assert table.loc["model default", "spearman"] == pytest.approx(wanted, abs=0.01)
    assert shown["scores"].default == table.loc["model default", "spearman"]
    assert shown["scores"].score("model default", "pearson") == table.loc["model default", "pearson"]
    assert table.loc[shown["scores"].best, "spearman"] == table["spearman"].max()
    verdict = shown["verdict"]
    assert verdict.before.score == pytest.approx(wanted, abs=0.01)
    assert verdict.difference == pytest.approx(verdict.after.score - verdict.before.score, abs=0.01)
    assert verdict.low < verdict.difference < verdict.high
    assert f"{verdict.after.score:.2f}" in verdict.text


def test_scores_and_the_verdict_are_those_of_the_commands(shown, capsys):
    assert main(["score", "all-MiniLM-L6-v2", "--on", "sample test", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["readings"]
    rows = shown["table"].rename(columns={"layer & pooling": "reading"}).astype(object)
    assert rows.where(rows.notna(), None).to_dict("records") == told
    assert main(["compare", "all-MiniLM-L6-v2", "run:example", "--on", "sample test", "--json"]) == 0
    told, verdict = json.loads(capsys.readouterr().out)["verdict"], shown["verdict"]
    assert (verdict.kind, verdict.text, verdict.items_needed) == (told["kind"], told["text"], told["items_needed"])
    for name in ("difference", "low", "high", "smallest_gain"):
        assert getattr(verdict, name) == told[name]


def test_the_changes_of_queries_are_those_that_the_page_of_notebooks_shows(shown):
    text, asked = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8"), shown["asked"]
    for query, before, after in asked[["query", "rank before", "rank after"]].head(3).itertuples(index=False):
        assert re.search(rf"improved +{query} +{before} +{after}\n", text)
    assert f"\n{shown['packs']!r}\n" in text
    assert "rose from 85.03 to 100" in text
    assert asked.loc[2, ["nDCG@10 before", "nDCG@10 after"]].tolist() == [85.03, 100.0]


def ranked(task, model):
    """By plain loops: the rank of the first relevant passage by query, and the mean nDCG@10 from the ranking."""
    found = model.encode(list(task.documents), normalize_embeddings=True)
    table = model.encode(list(task.queries), normalize_embeddings=True) @ found.T
    gains, ranks = [], {}
    for query, row, judged in zip(task.queries, table, task.judgements, strict=True):
        order = np.argsort(-row).tolist()
        ranks[query] = 1 + min(order.index(place) for place in judged)
        gained = sum(judged.get(place, 0) / np.log2(at + 2) for at, place in enumerate(order[:10]))
        best = sorted(judged.values(), reverse=True)[:10]
        gains.append(gained / sum(grade / np.log2(at + 2) for at, grade in enumerate(best)))
    return ranks, 100 * np.mean(gains)


def test_queries_have_the_ranks_and_scores_of_sentence_transformers(shown):
    sides = strata.load("my-encoder"), shown["run"].model
    (before, score), (after, tuned) = (
        ranked(sample.search(), SentenceTransformer(str(one.found.folder), device="cpu")) for one in sides
    )
    found = strata.compare(*sides, "Sample search")
    assert (found.before.score, found.after.score) == pytest.approx((score, tuned), abs=0.01)
    rows = found.changes()[["query", "rank before", "rank after"]].fillna(FAR).to_numpy().tolist()
    assert len(rows) > 3, "the premise"
    assert rows == [[query, min(before[query], FAR), min(after[query], FAR)] for query, *_ in rows]


def test_queries_are_compared_by_the_metric_that_is_named(shown):
    small = strata.load("my-encoder")
    scores = strata.score(small, "Sample search")
    by_rank = strata.compare(small, small, "Sample search", metric="mrr@10", layer_and_pooling_b="max of layer 1")
    assert by_rank.before.score == pytest.approx(scores.score("model default", "mrr@10"), abs=0.01)
    assert by_rank.after.score == pytest.approx(scores.score("max of layer 1", "mrr@10"), abs=0.01)
    with pytest.raises(StrataError, match=r"no metric .F1. of Sample search"):
        strata.compare(small, small, "Sample search", metric="F1")


def test_every_kind_has_its_changes_and_they_add_up_to_the_difference(shown):
    for name, file in (("order", "my-triplets.tsv"), ("classes", "my-labels.tsv")):
        rows, scores = shown[name], shown["triplets" if name == "order" else "labels"]
        scores = scores.to_frame().set_index("layer & pooling")
        assert set(rows["change"]) <= {"improved", "got worse"}
        assert len(rows), f"the premise, of {file}"
        after = {"improved": 100.0, "got worse": 0.0}
        assert rows["accuracy after"].tolist() == [after[change] for change in rows["change"]]
        assert 0 < scores.loc["model default", "accuracy"] < 100
    assert set(shown["pairs"]["change"]) == {"improved", "got worse", "still wrong"}


def test_words_are_those_that_the_page_of_notebooks_shows_and_add_up_to_the_cosine(shown):
    why, text = shown["why"], (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
    assert f"\n{why!r}\n" in text
    printed = re.search(r"```\n( sentence .*?)\n```", text, re.S)[1].splitlines()[1:]
    for line, row in zip(printed, why.words.itertuples(index=False), strict=True):
        assert [float(value) for value in line.split()[-3:]] == pytest.approx(row[-3:], abs=0.01)
        assert f" {row.word} " in line
    for side in "AB":
        assert why.words.groupby("sentence")[side].sum().to_numpy() == pytest.approx(why.cosine[side], abs=0.01)
        assert why.pairs[side].to_numpy().sum() == pytest.approx(why.cosine[side], abs=0.01)
        assert why.pairs[side].loc["not"].sum() == pytest.approx(why.words.set_index("word")[side]["not"], abs=1e-5)
    with pytest.raises(StrataError, match=r"'nothing' replaces no words. Choose one of \[PAD\]"):
        strata.explain(shown["model"], "a", "b", reference="nothing")


def test_the_demonstrations_model_counts_a_negation_against_a_pair(shown):
    pair, found = ("A man is not playing a guitar.", "A man is playing a guitar."), shown["why"].of
    assert all(one.missed < 0.01 for one in found.values())
    by_side = {side: dict(zip(one.words[0], one.contributions[0], strict=True)) for side, one in found.items()}
    assert found["A"].cosine == pytest.approx(0.701, abs=0.001)
    assert by_side["A"]["not"] == pytest.approx(-0.04, abs=0.02)
    assert by_side["B"]["not"] < -0.4
    told = json.loads(json.dumps(content(Explained(pair, found), "[PAD]", {side: {} for side in "AB"})))
    assert told["changes"][0]["word"] == "not"
    assert sum(row["contribution"] for row in told["A"]["matrix"]) == pytest.approx(told["A"]["sums"][0], abs=1e-4)


def test_a_run_of_a_notebook_is_a_run_as_any_other(shown, capsys):
    run = shown["run"]
    assert [one.name for one in runs.every()] == ["mine"]
    status = runs.find("mine").status()
    assert (run.state, run.recipe.settings["steps"], run.recipe.settings["batch_size"]) == ("finished", 20, 8)
    assert run.recipe.command() == runs.find("mine").recipe().command()
    frame = run.to_frame()
    assert frame["dev"].tolist() == [one.dev for one in runs.find("mine").metrics() if hasattr(one, "dev")]
    assert frame["step"].iloc[-1] == len(run.steps()) == 20
    test = status.verdict.test
    assert shown["tuned"].before.score == pytest.approx(test.before, abs=1e-3)
    assert shown["tuned"].after.score == pytest.approx(test.after, abs=1e-3)
    assert run.model.name == "run:mine"


def test_a_blend_has_the_mean_of_the_weights(shown):
    from safetensors.torch import load_file

    mix, run = shown["mix"], shown["run"]
    assert mix.curve.shares == (0.0, 0.25, 0.5, 0.75, 1.0)
    half = strata.blend(run.base, run.model, 0.25, dev="my-dev.csv", tests="my-test.csv", points=2)
    assert half.alpha == 0.25
    base, tuned, made = (load_file(one.found.folder / "model.safetensors") for one in (run.base, run.model, half.model))
    for name, weight in made.items():
        assert weight.numpy() == pytest.approx((0.75 * base[name] + 0.25 * tuned[name]).numpy(), abs=1e-6)
    dev = [name for name in mix.to_frame() if "dev" in name]
    of_run = mix.to_frame().set_index("α").loc[0.25, dev[0]]
    of_two = half.to_frame().set_index("α").loc[0.25, next(name for name in half.to_frame() if "dev" in name)]
    assert of_run == pytest.approx(of_two, abs=1e-3)


def test_an_evaluation_has_scipys_scores(shown):
    results = shown["results"].to_frame().set_index("model")
    tuned = "simcse on my-encoder"  # as Results calls the row of a run
    for model, name in (("my-encoder", "my-encoder"), (shown["run"].model, tuned)):
        for file in ("my-dev.csv", "my-test.csv"):
            _, *rows = (line.split(",") for line in Path(file).read_text(encoding="utf-8").splitlines())
            sides = [strata.encode(model, [row[side] for row in rows]).astype(np.float64) for side in (1, 2)]
            one, other = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
            wanted = 100 * spearmanr([float(row[0]) for row in rows], (one * other).sum(axis=1)).statistic
            assert results.loc[name, file] == pytest.approx(wanted, abs=0.01)


def test_every_result_has_a_table_a_figure_and_escaped_html(shown):
    for name in ("scores", "verdict", "packs", "search", "why", "run", "tuned", "mix", "results"):
        one = shown[name]
        assert len(one.to_frame()), name
        assert one.figure().data, name
        assert type(one).__dataclass_params__.frozen, name
    hurt = strata.explain("my-encoder", "a <script>man</script> plays", "a man & plays")
    assert "<script>" not in hurt._repr_html_()
    assert "&amp;" in hurt._repr_html_()
    columns = {name: [*shown[name].to_frame()] for name in ("verdict", "packs", "tuned")}
    assert columns["verdict"] == columns["packs"] == columns["tuned"]
