import dataclasses
import re
import shlex
from typing import Any

import pytest
import torch
import yaml

from explorer import typed_json
from explorer.data.sources import identity, shown, texts
from explorer.encoding.read.head import Dense, Head
from explorer.measuring.scores.judge import PackChange, PairChange, Share
from explorer.measuring.scores.verdict import RunVerdict, Verdict
from explorer.methods import cited
from explorer.training.loop.measured_facts import SeedScores
from explorer.training.record.model_card import CardFacts, MethodFacts, card
from explorer.training.record.model_code import ExportedFacts
from explorer.training.record.run_facts import RunFacts

DIGEST = "0123456789abcdef" * 4
SIMCSE = cited("gao-etal-2021-simcse")
METHOD = MethodFacts(
    name="simcse",
    title="SimCSE without labels: a sentence read under two dropout masks should find itself in the batch.",
    paper=SIMCSE,
    settings={"temperature": 0.1, "pooling": "cls", "projection": False, "steps": 0, "learning_rate": 3e-5},
    defaults={"temperature": 0.05, "pooling": "cls", "projection": True, "steps": 0, "learning_rate": 3e-5},
    as_published=True,
)
FACTS = CardFacts(
    run="bold-otter",
    facts=RunFacts(
        method="simcse",
        model="org/encoder@main",
        data=texts(["sample"]),
        dev=identity("STS-B dev"),
        test=identity("STS-B test"),
        rows=12345,
        default=Head(("mean",)).facts(),
        pairs={"dev": 1500, "test": 1379},
        measures={"dev": "Spearman", "test": "Spearman"},
    ),
    base_digest=DIGEST,
    base_revision="1110a243",
    methods=(METHOD,),
    data_digest=DIGEST[::-1],
    verdict=RunVerdict(
        test=Verdict(58.0, 56.5, 70.25, 12.25, 9.5, 15.0),
        dev=Verdict(60.125, 59.0, 72.5, 12.375, 9.0, 15.5),
    ),
    trained=Head(("cls",)).facts(),
    seeds=(SeedScores(1, steps=2000, best_step=1250, dev=72.5, test=70.25),),
    kept=1,
    seconds=754.2,
    exported=ExportedFacts(
        head=Head(("cls",)), prompt="", lower_case=False, max_length=256, dimension=384, auto_class="AutoModel"
    ),
    versions={"torch": "2.13.0", "transformers": "5.23.0"},
    command="python -m explorer train simcse --model org/encoder@main --data sample --set temperature=0.1",
)
THREE = (
    SeedScores(1, steps=2000, best_step=1250, dev=72.5, test=70.0),
    SeedScores(2, steps=2000, best_step=500, dev=73.5, test=72.0),
    SeedScores(3, steps=2000, best_step=750, dev=71.5, test=71.0),
)
# what a run, a file or a set may be called
STRANGE = "a \"b\" 'c': d\n---\n# e | <b>f</b> [g](h) `i` ``` * _j_ {k}, &amp; $l$ ~ \\ %m é 🦦 - ? !n @o"


def changed(**changes: Any) -> CardFacts:
    """What a card shows, with some of it changed, each in whichever part has a field of that name."""
    sets = {name: identity(changes[name]) for name in ("dev", "test") if changes.get(name)}
    changes |= sets | ({"data": texts(changes["data"])} if "data" in changes else {})
    facts, method, exported = (
        dataclasses.replace(one, **{name: changes.pop(name) for name in [*changes] if name in one.__dataclass_fields__})
        for one in (FACTS.facts, METHOD, FACTS.exported)
    )
    return dataclasses.replace(FACTS, facts=facts, methods=(method,), exported=exported, **changes)


def told(**changes: Any) -> str:
    return card(changed(**changes))


def parsed(text: str) -> tuple[dict[str, Any], str]:
    """The head as the hub reads it, and the rest."""
    match = re.fullmatch(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    assert match, "no head of YAML"
    return yaml.safe_load(match[1]), match[2]


def cells(body: str, row: str) -> list[str]:
    """The cells after the first of the table row that starts with a word; edges within cells are escaped."""
    (line,) = (line for line in body.splitlines() if line.startswith(f"| {row} |") or line.startswith(f"| {row} ("))
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[2:-1]]


def test_the_head_is_what_the_hub_reads_and_accepts():
    from huggingface_hub import ModelCard

    head, _ = parsed(told())
    assert head["library_name"] == "sentence-transformers"
    assert head["pipeline_tag"] == "sentence-similarity"
    assert head["base_model"] == "org/encoder"
    assert {"sentence-transformers", "sentence-similarity", "feature-extraction", "simcse"} <= set(head["tags"])
    (model,) = head["model-index"]
    assert model["name"] == "bold-otter"
    results = [("STS-B test", "test", "spearman_cosine", 0.7025), ("STS-B dev", "dev", "spearman_cosine", 0.725)]
    found = [(one["dataset"], one["metrics"]) for one in model["results"]]
    assert [(of["name"], of["split"], one["type"], one["value"]) for of, (one,) in found] == results
    accepted = [(one.dataset_name, one.metric_value) for one in ModelCard(told()).data.eval_results]
    assert accepted == [(name, value) for name, _, _, value in results]


@pytest.mark.parametrize(
    ("base", "revision", "expected"),
    [
        ("all-MiniLM-L6-v2", None, "sentence-transformers/all-MiniLM-L6-v2"),
        ("bert-base-uncased", "1110a243", "bert-base-uncased"),
        ("models/mine", None, None),
        ("/srv/somebody/models/mine", None, None),
    ],
)
def test_only_a_base_of_the_hub_is_linked(base, revision, expected):
    head, body = parsed(told(model=base, base_revision=revision))
    assert head.get("base_model") == expected
    assert ("huggingface.co" in body) == (expected is not None)
    assert base.rsplit("/", 1)[-1] in body
    assert "somebody" not in body


def test_before_and_after_stand_side_by_side_and_the_body_opens_with_what_was_learned():
    head, body = parsed(told())
    assert cells(body, "STS-B test") == ["58.00", "56.50", "70.25", "+12.25 (+9.50 to +15.00)"]
    assert cells(body, "STS-B dev") == ["60.12", "59.00", "72.50", "+12.38 (+9.00 to +15.50)"]
    assert "The step was chosen on the dev set" in body
    assert "±" not in body
    assert head["verdict"]["test"] == typed_json.written(FACTS.verdict.test)
    assert head["verdict"]["dev"]["difference"] == 12.375
    title, line, sure = body.strip().split("\n\n")[:3]
    assert title.startswith("# ")
    assert line == "Better: **general similarity** +12.2 (+9.5 to +15.0)."
    assert "1,379 pairs" in sure


def test_packs_are_named_in_bold_and_the_head_holds_no_sentence():
    packs = (PackChange("negation", 60, Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    pairs = (PairChange("negation", "It rains.", "It never rains.", 0.9, 0.2),)
    head, body = parsed(told(verdict=dataclasses.replace(FACTS.verdict, packs=packs, pairs=pairs)))
    assert "Learned to notice **negation** (10 → 70 % of cases; a coin: 50 %). Better: **general similarity**" in body
    assert head["verdict"]["packs"][0]["name"] == "negation"
    assert "pairs" not in head["verdict"]


def test_a_verdict_on_sentences_that_were_trained_on_is_optimistic_in_its_first_line():
    _, body = parsed(told(verdict=dataclasses.replace(FACTS.verdict, optimistic=True)))
    assert "optimistic" in body.strip().split("\n\n")[1]


def test_several_seeds_have_a_mean_and_the_score_of_the_weights_that_are_kept():
    of_second = RunVerdict(Verdict(58.0, 56.5, 72.0, 14.0, 9.5, 15.0), Verdict(60.125, 59.0, 73.5, 13.4, 9.0, 15.5))
    head, body = parsed(told(seeds=THREE, kept=2, verdict=of_second))
    assert cells(body, "STS-B test")[-3:] == ["72.00", "+14.00 (+9.50 to +15.00)", "71.00 ± 1.00"]
    assert cells(body, "STS-B dev")[-1] == "72.50 ± 1.00"
    assert "mean ± standard deviation of 3 seeds" in body
    assert cells(body, "Seeds") == ["1, 2, 3"]
    assert cells(body, "Seed of these weights") == ["2"]
    assert cells(body, "Best step") == ["500"]
    values = [one["metrics"][0]["value"] for one in head["model-index"][0]["results"]]
    assert values == [0.72, 0.735], "the card is of these weights, not of the mean"


def test_a_mean_over_seeds_that_were_not_all_measured_is_left_out():
    _, body = parsed(told(seeds=(*THREE[:2], dataclasses.replace(THREE[2], test=None))))
    assert cells(body, "STS-B test")[-1] == ""
    assert cells(body, "STS-B dev")[-1] == "72.50 ± 1.00"


@pytest.mark.parametrize("test_set", [None, "STS-B test"])
def test_without_test_scores_there_is_no_line_of_them(test_set):
    scores = (dataclasses.replace(FACTS.seeds[0], test=None),)
    head, body = parsed(told(test=test_set, verdict=dataclasses.replace(FACTS.verdict, test=None), seeds=scores))
    assert [one["dataset"]["name"] for one in head["model-index"][0]["results"]] == ["STS-B dev"]
    assert "(test" not in body
    assert cells(body, "STS-B dev")[:3] == ["60.12", "59.00", "72.50"]
    assert "dev set" in body.partition("## Results")[2].strip().splitlines()[0]


def test_what_was_not_measured_is_left_out_and_is_never_a_zero():
    head, body = parsed(told(seeds=(SeedScores(1),), verdict=RunVerdict(), seconds=None))
    assert "model-index" not in head
    assert "The model was not evaluated." in body
    assert not re.search(r"\| *(Steps|Best step|Time) ", body)
    assert not re.search(r"\b(0\.00|None|nan)\b", body)
    _, body = parsed(told(seeds=(), verdict=RunVerdict()))
    assert "Seeds" not in body


def test_what_the_method_noted_of_its_rows_is_told():
    _, body = parsed(told(seeds=(SeedScores(1, dev=70.0, remark="3 of 4 sentences had no antonym"),)))
    assert "| Remark | 3 of 4 sentences had no antonym |" in body
    assert "Remark" not in parsed(told())[1]


def test_a_measured_zero_is_a_number():
    zero = RunVerdict(Verdict(0.0, 0.0, -1.5, -1.5, -2.0, -1.0), Verdict(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    head, body = parsed(told(seeds=(SeedScores(1, dev=0.0, test=-1.5),), verdict=zero))
    assert cells(body, "STS-B dev")[:3] == ["0.00", "0.00", "0.00"]
    assert [one["metrics"][0]["value"] for one in head["model-index"][0]["results"]] == [-0.015, 0.0]


def test_every_setting_is_told_with_what_differs_from_paper_or_default_and_sources_and_data_by_name_and_digest():
    _, body = parsed(told())
    assert cells(body, "temperature") == ["**0.1**", "0.05"]
    assert cells(body, "projection") == ["**off**", "on"]
    assert cells(body, r"learning\_rate") == ["3e-05", ""]
    assert cells(body, "pooling") == ["cls", ""]
    assert cells(body, "steps") == ["0", ""]
    text = told(as_published=False)
    assert "the default" in text
    assert "the paper's" not in text
    assert cells(body, "torch") == ["2.13.0"]
    assert SIMCSE.bibtex in body
    assert f"[{SIMCSE.line}]({SIMCSE.link})" in body
    assert f"SHA-256 of the base: {DIGEST}" in body
    assert "revision 1110a243" in body
    _, body = parsed(told(data=("sample", "/srv/somebody/letters.txt")))
    assert cells(body, "Trained on") == ["sample + letters.txt, 12,345 rows"]
    assert cells(body, "SHA-256 of the training text") == [DIGEST[::-1]]
    assert "somebody" not in body


def test_there_is_no_field_that_sentences_could_come_in_by():
    fields = {
        field.name: str(field.type)
        for kind in (CardFacts, ExportedFacts, MethodFacts, RunFacts)
        for field in dataclasses.fields(kind)
    }
    loose = [name for name, kind in fields.items() if kind.startswith(("tuple", "Mapping", "Values", "list"))]
    names = ["data", "more_tests", "elsewhere"]  # of sets
    known = [
        "methods",
        "seeds",
        "versions",
        "settings",
        "defaults",
        "used",
        *names,
        "pairs",
        "measures",
        "items",
        "pools",
        "unscored",
        "watched",  # three pairs, for the page of the run alone: no card has them
    ]
    assert loose == known, "is one of them text to learn from?"
    assert (fields.pop("rows"), fields.pop("pairs")) == ("int | None", "Mapping[str, int] | None"), "numbers of them"
    assert not {"sentences", "texts", "pairs", "rows", "examples", "samples", "widget"} & fields.keys()


def test_what_repeats_the_run_is_told_without_the_paths_of_this_machine():
    words = ["python", "-m", "explorer", "train", "sg", "--model", "/srv/somebody/my model", "--data", "data/a b.txt"]
    _, body = parsed(told(command=shlex.join(words)))
    assert "python -m explorer train sg --model 'my model' --data 'data/a b.txt'" in body
    assert "somebody" not in body


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("org/name", "org/name"), ("data/mine.txt", "data/mine.txt"), ("/srv/somebody/mine.txt", "mine.txt"),
        ("/srv/somebody/mine/", "mine"), ("~/mine.txt", "mine.txt"), ("./mine.txt", "mine.txt"),
        ("..\\mine.txt", "mine.txt"), ("C:\\Users\\somebody\\mine.txt", "mine.txt"), ("STS-B dev", "STS-B dev"),
    ],
)  # fmt: skip
def test_of_a_path_only_its_end_is_told(source, name):
    assert shown(source) == name


@pytest.mark.parametrize("field", ["run", "model", "dev", "test", "title", "prompt", "method"])
def test_strange_names_break_neither_the_head_nor_the_body(field):
    ordinary, strange = told(), told(**{field: STRANGE, "base_revision": None})
    head, body = parsed(strange)
    one_line = " ".join(STRANGE.split())
    if field == "run":
        assert head["model-index"][0]["name"] == one_line
    if field == "test":
        assert head["model-index"][0]["results"][0]["dataset"]["name"] == one_line
    assert body.count("\n## ") == ordinary.count("\n## ") == 6, "a heading was made or lost"
    edges = [len(re.findall(r"(?<!\\)\|", line)) for line in body.splitlines() if line.startswith("| ")]
    assert set(edges) <= {3, 4, 6}, "a cell was made or lost"
    assert field == "prompt" or "<b>" not in body


def test_a_strange_file_name_stays_one_cell_and_one_word_of_the_command():
    _, body = parsed(told(data=(STRANGE,), command=shlex.join(["python", "--data", STRANGE])))
    assert cells(body, "Trained on")[0].endswith(", 12,345 rows")
    assert f"````sh\n{shlex.join(['python', '--data', STRANGE])}\n````" in body


@pytest.mark.parametrize(("seconds", "words"), [(59.6, "60 s"), (754.2, "13 min"), (7_300, "2 h 02 min")])
def test_time_is_told_in_words(seconds, words):
    _, body = parsed(told(seconds=seconds))
    assert cells(body, "Time") == [words]


def test_the_reading_is_told_as_elsewhere_in_the_program():
    head = Head(("mean",), (Dense(torch.eye(4), None, "Tanh"),), normalize=True)
    _, body = parsed(told(head=head, dimension=4, prompt="query: ", lower_case=True, max_length=64))
    assert cells(body, "Layer & pooling") == [head.describe()]
    assert cells(body, "Embedding dimension") == ["4"]
    assert cells(body, "Maximum length") == ["64 tokens (longer sentences are truncated)"]
    assert cells(body, "Prompt before each sentence") == ["'query: '"]
    assert cells(body, "Text") == ["lowercased"]
