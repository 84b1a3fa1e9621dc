"""Test the evaluate command: results, tables, and tasks whose files are not there or not whole."""

import csv
import io
import json
import signal
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sentence_transformers import SentenceTransformer
from transformers import AutoTokenizer

from explorer import in_words
from explorer.data import sample
from explorer.data.tables import files
from explorer.encoding.locate.model_names import find
from explorer.evaluating.results import result_files
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import retrieval, tasks_of, transfer
from explorer.measuring.neighbours import rankings
from explorer.measuring.scores.metrics import measure_in_words
from explorer.studies.size import static_folder
from explorer.studies.size.static_encoder import StaticOptions
from tests.evaluating.results_by_hand import write_set
from tests.processes import ended, two
from tests.tiny_models import save_tiny
from tests.trainings import command


@pytest.fixture
def desk(tmp_path, monkeypatch):
    for name, kind in (("one", "bert"), ("other", "roberta")):
        save_tiny(kind, tmp_path / name)
    write_set(tmp_path / "data", "STS17_en/test.tsv", 250)
    write_set(tmp_path / "data", "STS17_es_es/test.tsv", 250, "uno {}")
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    for module in ("probes", "probes.logistic"):  # what is fitted in ten folds is told, not how well
        monkeypatch.setattr(f"explorer.evaluating.{module}.FOLDS", 3)
    return tmp_path


@pytest.fixture
def evaluate(desk, said):
    """Evaluate models of the desk; what is said on standard output and on the other."""

    def run(*flags, models=("one",), code=0):
        paths = (desk / name if (desk / name).exists() else name for name in models)
        ended, out, err = said("evaluate", *paths, "--data", desk / "data", *flags)
        assert ended == code, err
        return out, err

    return run


def rows_of(out):
    """The numbers of a CSV by column, with a row for each model."""
    rows = {}
    for line in csv.DictReader(io.StringIO(out)):
        rows.setdefault(line["model"], line)[line["column"]] = line["mean"]
    return list(rows.values())


def test_each_result_is_a_file_and_a_row(desk, evaluate):
    rows = rows_of(evaluate("--task", "STS17", "--task", "STS17-es-es", "--csv", models=("one", "other"))[0])
    results = result_files.read_all(desk / "results")[0]
    assert len(results) == 4
    assert {row["model"] for row in rows} == {"one", "other"}
    for result in results:
        (row,) = [row for row in rows if row["model"] == result.model.name]
        assert float(row[result.task.name]) == pytest.approx(result.measured.score(), abs=5.1e-5)
        assert (row["measure"], row["n"]) == ("Spearman", "1")
    for row in rows:
        assert float(row["average of 2"]) == pytest.approx(
            (float(row["STS17"]) + float(row["STS17-es-es"])) / 2, abs=0.011
        )
        assert row["rank group (these tasks)"]


@pytest.mark.parametrize("home", ["data", "."])
@pytest.mark.parametrize("name", ["STS17_en", "sts17en", "STS17_es_es", "STS17"])
def test_a_published_task_has_each_of_its_names_also_where_a_folder_has_one_of_them(
    desk, evaluate, monkeypatch, home, name
):
    monkeypatch.chdir(desk / home)
    task = "STS17-es-es" if "es" in name else "STS17"
    (row,) = rows_of(evaluate("--task", name, "--csv")[0])
    assert row == rows_of(evaluate("--task", task, "--csv")[0])[0]
    assert row["column"] == task
    assert float(row["low"]) < float(row["mean"]) < float(row["high"])


@pytest.mark.parametrize("path", ["{}", "./STS17_en"])
def test_a_folder_of_scored_pairs_is_said_to_be_none_of_labelled_texts(desk, refused, monkeypatch, path):
    monkeypatch.chdir(desk / "data")
    told = refused("evaluate", desk / "one", "--task", path.format(desk / "data" / "STS17_en"))
    assert "The folder STS17_en has scored pairs in test.tsv" in told
    assert f"Give that file: {Path(path.format(desk / 'data' / 'STS17_en'), 'test.tsv')}" in told
    assert "has no train file" not in told


def test_the_static_encoder_of_a_model_is_made_once_and_scored_as_by_its_library(desk, evaluate, monkeypatch):
    rows = rows_of(evaluate("--task", "STS17", "--csv", models=("one", f"static:{desk / 'one'}"))[0])
    scores = {row["model"]: float(row["STS17"]) for row in rows}
    model = SentenceTransformer(str(static_folder.place(find(str(desk / "one")), StaticOptions())), device="cpu")
    gold, *sides = zip(*csv.reader((desk / "data/STS17_en/test.tsv").open(), delimiter="\t"), strict=True)
    first, second = (model.encode(list(side[1:])).astype(np.float64) for side in sides)
    expected = 100 * spearmanr([float(one) for one in gold[1:]], (first * second).sum(1)).statistic
    assert scores["one, static"] == pytest.approx(expected, abs=0.01)
    assert scores.keys() == {"one, static", "one"}
    monkeypatch.setattr(static_folder, "export", None)
    evaluate("--task", "STS17", models=(f"static:{desk / 'one'}",))


def test_json_has_every_layer_and_pooling(evaluate):
    (found,) = json.loads(evaluate("--task", "STS17", "--json")[0])
    assert found["task"] == "STS17"
    assert len(found["scores"]) > 9
    assert set(found["scores"]["model default"]) == {"spearman", "pearson"}


def test_a_task_that_is_not_there_is_named_and_there_is_no_average(evaluate):
    out, err = evaluate("--task", "STS17", "--task", "STS15", "--csv", code=2)
    (row,) = rows_of(out)
    assert row["STS17"]
    assert not {"STS15", "average of 2"} & set(row)
    assert "STS15" in err


def test_a_set_without_a_part_of_its_pairs_or_with_too_few_rows_for_the_folds_has_no_score(desk, evaluate):
    write_set(desk / "data", "STS17_es_es/test.tsv", 200)
    assert "200 pairs here, but 250" in evaluate("--task", "STS17-es-es", code=1)[1]
    assert result_files.read_all(desk / "results")[0] == ()
    assert "8" in evaluate("--task", write_labelled(desk / "own", 8), code=1)[1]
    assert result_files.read_all(desk / "results")[0] == ()


def test_nothing_that_can_be_scored_is_an_error(desk, refused):
    told = refused("evaluate", desk / "one", "--data", desk / "nowhere")
    assert all(task in told for task in tasks_of("sts"))


@pytest.mark.parametrize(
    ("flags", "named"),
    [(("--task", "STS99"), "STS99"), (("--suite", "nonsense"), "nonsense"), (("--seeds", "1,x"), "1,x")],
)
def test_what_is_not_there_is_refused_before_anything_is_measured(desk, evaluate, flags, named):
    assert named in evaluate(*flags, code=1)[1]
    assert not (desk / "results").exists()


FEW = ("--reading", "mean of layer 1")


def write_labelled(folder, count=120):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "moods.csv"
    rows = (f"{('glad', 'sad')[row % 2]},{('a good day', 'a bad night')[row % 2]} {row}" for row in range(count))
    path.write_text("\n".join(["label,text", *rows]) + "\n", encoding="utf-8")
    return path


def test_labelled_texts_and_scored_pairs_of_a_user_are_tasks(desk, evaluate):
    chosen = (*FEW, "--reading", "cls of layer 2", "--seeds", "1,2")
    (found,) = json.loads(evaluate("--task", write_labelled(desk / "own"), *chosen, "--json")[0])
    assert found["task"] == "moods.csv"
    assert found["seeds"] == [1, 2]
    assert all(set(scores) == {"accuracy", "macro F1"} for scores in found["scores"].values())
    assert set(found["scores"]) == {"mean of layer 1", "cls of layer 2", "model default"}
    write_set(desk / "own", "pairs.tsv", 60)
    (found,) = json.loads(evaluate("--task", desk / "own/pairs.tsv", "--json")[0])
    assert found["task"] == "pairs.tsv"
    assert "spearman" in found["scores"]["model default"]


def test_models_without_a_transformer_are_rows_too(desk, evaluate):
    (desk / "glove.txt").write_text("the 1 0 0\na 0 1 0\nman 0 0 1\nis 1 1 0\nof 0 1 1\n", encoding="utf-8")
    tasks = ("--task", "STS17", "--task", write_labelled(desk / "own"))
    out, err = evaluate(*tasks, *FEW, "--csv", models=("one", "bag-of-words", "glove.txt"), code=2)
    rows = {row["model"]: row for row in rows_of(out)}
    assert set(rows) == {"one", "bag-of-words", "glove.txt"}
    assert all(row["STS17"] for row in rows.values())
    assert rows["one"]["moods.csv"]
    assert "moods.csv" not in rows["bag-of-words"]
    assert "average of 2" not in rows["one"], "Spearman and accuracy have no average"
    assert "STS sets, pair classification and files of scored pairs only" in err


def test_searches_are_a_task(desk, evaluate):
    path = desk / "data/QQP/dev.tsv"
    path.parent.mkdir(parents=True)
    pairs = sample.pairs()
    rows = (f"{row % 2}\t{pairs.first[row]}\t{pairs.second[row]}" for row in range(60))
    path.write_text("\n".join(["label\tsentence1\tsentence2", *rows]) + "\n", encoding="utf-8")
    (found,) = json.loads(evaluate("--suite", "search", "--json")[0])
    assert found["scores"]["model default"]["MRR@10"] > 0
    assert len(found["scores"]) > 9


def test_the_layer_that_half_of_the_queries_choose_stands_below_the_table(desk, evaluate):
    path = desk / "questions.csv"
    pairs = sample.pairs()
    rows = dict(zip(pairs.first, pairs.second, strict=True))
    path.write_text("\n".join(["query,passage", *(f'"{one}","{other}"' for one, other in list(rows.items())[:40])]))
    out, _ = evaluate("--task", path)
    (found,) = result_files.read_all(desk / "results")[0]
    intervals = found.measured.intervals
    assert intervals.choice.title in found.measured.titles
    assert f"questions.csv, one, {retrieval.choice_text(intervals.choice)}" in out
    assert "Chosen on half" not in evaluate("--task", path, "--csv")[0]


def slow_ends(score, count, seed):
    """The middle 95 % of a score on resamples, drawn one by one."""
    drawn = np.random.default_rng(seed)
    scores = [score(drawn.integers(0, count, count)) for _ in range(1000)]
    return np.nanquantile(scores, (0.025, 0.975))


def test_each_measure_has_its_own_interval_which_is_that_of_a_slow_bootstrap(desk, evaluate):
    """Of scored pairs by scipy on the stored cosines, and of queries by the mean of what each gets."""
    scored, searched = desk / "scored.csv", desk / "searched.csv"
    pairs = sample.pairs()
    rows = [f'{gold},"{one}","{other}"' for gold, one, other in zip(pairs.gold, pairs.first, pairs.second, strict=True)]
    scored.write_text("\n".join(["score,sentence1,sentence2", *rows]))
    unique = dict(zip(pairs.first, pairs.second, strict=True))
    searched.write_text("\n".join(["query,passage", *(f'"{one}","{other}"' for one, other in unique.items())]))
    evaluate("--task", scored, "--task", searched)
    for found in result_files.read_all(desk / "results")[0]:
        measured, items = found.measured, found.measured.items
        for measure in measured.measures:
            low, high = measured.ends[measure]
            assert low <= measured.score(measure=measure) <= high
            out, _ = evaluate("--task", scored, "--task", searched, "--measure", measure, code=0)
            begins = f"{found.task.name}, one, {measure_in_words(measure)}: 95 % CI"
            line = next(one for one in out.splitlines() if one.startswith(begins))
            assert line.endswith(in_words.interval(low, high))
        if items.gold is None:
            ends = slow_ends(lambda rows, values=items.values: 100 * values[rows].mean(), len(items.values), 1)
            assert measured.ends["nDCG@10"] == pytest.approx(ends, abs=0.1 * (ends[1] - ends[0]))
            continue
        for measure, by in (("spearman", spearmanr), ("pearson", pearsonr)):
            ends = slow_ends(
                lambda rows, by=by, items=items: 100 * by(items.values[rows], items.gold[rows]).statistic,
                len(items.values),
                2,
            )
            assert measured.ends[measure] == pytest.approx(ends, abs=0.1 * (ends[1] - ends[0]))


def test_an_estimate_scores_nothing(desk, evaluate):
    probe = ("--probe", "senteval", "--seeds", "1,2", "--estimate")
    told, _ = evaluate("--task", write_labelled(desk / "own"), *probe)
    assert "one, moods.csv (SentEval's MLP): about" in told
    assert "120 texts, 220 trainings" in told  # two seeds, ten folds, each with ten inner ones and a refit
    assert result_files.read_all(desk / "results")[0] == ()


def counting(arguments, told, environment):
    """The command line, in a process that also notes each result that it writes."""
    real = result_files.write

    def write(result):
        with told.with_suffix(".written").open("a", encoding="utf-8") as file:
            file.write(f"{result.model.name} {result.task.name} {environment['RANK']}\n")
        return real(result)

    result_files.write = write
    command(arguments, told, environment)


def test_two_processes_share_the_cells_and_one_prints_the_table_of_all(desk, said):
    chosen = ("--task", "STS17", "--task", "STS17-es-es", "--task", "STS15")
    models = [str(desk / name) for name in ("one", "other")]
    words = ["evaluate", *models, "--data", str(desk / "data"), *chosen, "--precision", "float32", "--csv"]
    both = two(counting, lambda rank: (words, desk / f"told.{rank}"))
    assert ended(both) == (0, 0), (desk / "told.0").read_text()
    written = (desk / "told.written").read_text().splitlines()
    assert sorted(written) == ["one STS17 0", "one STS17-es-es 1", "other STS17 1", "other STS17-es-es 0"]
    told = [(desk / f"told.{rank}").read_text() for rank in "01"]
    assert told[1] == "", "one of them talks"
    code, alone, _ = said(*words, "--again")
    assert code == 2, "a task has no data"
    assert alone in told[0]
    assert "STS15" in told[0].replace(alone, ""), "the task without data is named"


def test_every_task_is_estimated_that_is_not_saved_and_again_measures_what_is(desk, evaluate):
    evaluate("--task", "STS17")
    tasks = ("--task", "STS17", "--task", "STS17-es-es", "--task", write_labelled(desk / "own"), *FEW)
    told, _ = evaluate(*tasks, "--estimate")
    assert "one, STS17:" not in told
    assert "1 more is saved" in told
    assert all(f"one, {task}: about" in told for task in ("STS17-es-es", "moods.csv"))
    (before,) = result_files.read_all(desk / "results")[0]
    assert "not measured again" not in evaluate("--task", "STS17", "--again")[1]
    (after,) = result_files.read_all(desk / "results")[0]
    assert after.measured.seconds != before.measured.seconds
    assert after.measured.score() == before.measured.score()


def test_texts_that_are_longer_than_is_read_are_said_before_the_start_and_in_the_json_of_each_task(desk, evaluate):
    tokenizer = AutoTokenizer.from_pretrained(str(desk / "one"))
    pairs = files.read_file(desk / "data" / "STS17_en" / "test.tsv")
    texts = {" ".join(text.split()) for name in ("sentence1", "sentence2") for text in pairs.column(name)}
    tokens = [len(tokenizer(text)["input_ids"]) for text in texts]
    limit = sorted(tokens)[len(tokens) // 2]
    task, limits = ("--task", "STS17"), ("--max-length", limit)
    told, _ = evaluate(*task, *limits, "--estimate")
    longer = sum(one > limit for one in tokens)
    assert 0 < longer < len(texts)
    said = f"{longer} of {len(texts)} texts are longer than the {limit} tokens"
    assert said in told
    out, err = evaluate(*task, *limits, "--json")
    assert f"STS17, one: {said}" in err
    (row,) = json.loads(out)
    cut = {name: row["cut"][name] for name in ("of", "used", "used_limit", "read_limit")}
    assert cut == {"of": len(texts), "used": longer, "used_limit": limit, "read_limit": tokenizer.model_max_length}
    again, err = evaluate(*task, *limits, "--json")
    assert json.loads(again)[0]["cut"] == row["cut"], "a saved result has it, too"


def test_what_is_saved_is_not_measured_again(desk, evaluate, monkeypatch):
    tasks = ("--task", "STS17", "--task", write_labelled(desk / "own"), *FEW, "--json")
    first, err = evaluate(*tasks)
    assert "not measured again" not in err
    monkeypatch.setattr("explorer.encoding.load.loading.load", None)  # no model can be loaded
    second, err = evaluate(*tasks)
    assert second == first
    (line,) = err.splitlines()
    assert line.endswith("one: STS17, moods.csv")


def test_a_model_that_fails_does_not_keep_others_from_being_scored(desk, evaluate):
    (desk / "one/model.safetensors").write_bytes(b"no weights")
    out, err = evaluate("--task", "STS17", "--task", "STS17-es-es", "--csv", models=("one", "other"), code=1)
    (row,) = rows_of(out)
    assert row["model"] == "other"
    assert row["STS17"]
    assert row["STS17-es-es"]
    assert err.count("one: ") == 1, "the error of a model is told once"


def test_the_names_of_choices_are_those_of_the_tasks():
    assert tuple(transfer.PROBES) == Options.knobs["probe"].choices
    assert Options.knobs["index"].choices == rankings.INDEXES


def test_a_signal_keeps_what_was_measured_and_the_same_command_goes_on(desk, evaluate, monkeypatch):
    write = result_files.write

    def signalled(result, *more):
        write(result, *more)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(result_files, "write", signalled)
    tasks = ("--task", "STS17", "--task", "STS17-es-es")
    _, err = evaluate(*tasks, code=143)
    assert err.splitlines()[-1] == "Stopped. What was measured is saved; the same command goes on from there."
    (first,) = result_files.read_all(desk / "results")[0]
    monkeypatch.setattr(result_files, "write", write)
    assert f"not measured again (--again does): {first.model.name}: {first.task.name}" in evaluate(*tasks)[1]
