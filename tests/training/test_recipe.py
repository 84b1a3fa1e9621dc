"""Test that a recipe is the same as file, command and object, invalid ones are refused, and YAML has one meaning."""

import json
import math
import shlex

import pytest
import yaml

from explorer import methods
from explorer.__main__ import _options
from explorer.commands.train import _recipe
from explorer.data import safe_yaml, sample
from explorer.data.corpora import SHIPPED, corpus
from explorer.data.graded import sets
from explorer.errors import BadChoice
from explorer.methods import QUICK, Schedule, knobs_of, paper_values, presets, released_values
from explorer.training.recipe import Recipe
from explorer.training.recipe_file import from_yaml, read
from explorer.training.text_defaults import demonstration

QUICK_BSL = {"predictors": 2, "predictor_width": 2, "steps": 100, "batch_size": 16}
FOUND = {"model_digest": "0" * 64, "data_rows": 3, "test_digest": None, "versions": {"torch": "2.13.0"}}
ODD = {
    "plain": Recipe("sg-opt"),
    "changed": Recipe("sg-opt", settings={"pull": 0.0, "projection": False, "steps": 7, "learning_rate": 3.5e-05}),
    "seeds": Recipe("simcse", seeds=(7, 0, 2**32 - 1)),
    "names that need quotes": Recipe(
        "bt", "my model's folder", ("a b.csv", 'c"d.tsv', "sample", "ü,é.csv", "$HOME `x` \\n.csv")
    ),
    "columns": Recipe("simcse-hard", columns={"anchor": "first = one", "negative": 'it\'s a "no"'}),
    "nothing to test on": Recipe("simcse-sup", dev="STS-B dev", test=None),
    "a place to run": Recipe("sg", precision="bfloat16", device="cpu", settings={"early_stop": "no new best"}),
    "below zero": Recipe("simcse-hard", settings={"weight": -1.5, "temperature": 1 / 3, "epsilon": 1e-12}),
    "found": Recipe("sg-opt", made_with=FOUND),
    "a corpus": Recipe("contrast", dev="held-out rows", test="held-out rows", corpus="my passages.txt"),
    "sets under other names": Recipe("simcse", dev="sample dev", test="sts-b TEST", elsewhere=("sample", "./a b.csv")),
    "what YAML takes for something else": Recipe("sg", "1e5", ("no", "2020-01-01", "null"), {"sentence": "~"}),
}
odd = pytest.mark.parametrize("recipe", ODD.values(), ids=ODD)


@odd
def test_a_recipe_comes_back_from_its_file_and_from_its_command(recipe, tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe.as_yaml(), encoding="utf-8")
    assert read(path) == recipe
    assert read(path).as_yaml() == recipe.as_yaml()
    words = shlex.split(recipe.command())
    assert words[:4] == ["python", "-m", "explorer", "train"]
    assert _recipe(_options(words[3:])) == Recipe(**{**vars(recipe), "made_with": {}})


def test_a_file_has_every_setting_of_the_method_and_its_schedule():
    for name in methods.names():
        kind = methods.load(name)
        changed = {"batch_size": kind.schedule.batch_size + 1, "temperature": 0.5, "window": 3, "dimensions": 7}
        changed = {knob: value for knob, value in changed.items() if knob in knobs_of(kind)}
        assert changed
        written = yaml.safe_load(Recipe(name, settings=changed).as_yaml())["settings"]
        scheduled = {
            name for name, one in Schedule.knobs.items() if one.rows in (None, kind.rows) and name not in kind.unused
        }
        assert written.keys() == {*kind.knobs, *(scheduled if kind.trains() else ())}
        assert not kind.trains() or {"steps", "accumulate", "early_stop"} <= written.keys()
        for knob, value in written.items():
            paper = getattr(kind.schedule, knob) if knob in Schedule.knobs else kind.knobs[knob].default
            assert value == changed.get(knob, paper), knob
            assert type(value) is type(paper), knob


def test_the_paper_s_values_are_no_changes_however_they_are_typed():
    recipe = Recipe("sg-opt", settings={"batch_size": "16", "pull": "0.1", "projection": "on", "steps": 12.0})
    assert recipe.settings == {"steps": 12}
    assert recipe.schedule().by_name() == methods.load("sg-opt").schedule.with_values({"steps": 12}).by_name()
    assert recipe.method_values() == {}
    assert knobs_of(recipe.kind)["warmup"].default == 0.1


@pytest.mark.parametrize(
    ("flags", "dev", "test"),
    [
        (["simcse"], sample.DEV, sample.TEST),
        (["cosent"], sample.DEV_PART, sample.TEST),
        (["cosent", "--dev", "STS-B dev"], "STS-B dev", sample.TEST),
        (["cosent", "--test", "none"], sample.DEV_PART, None),
        (["simcse", "--data", "sample train part"], sample.DEV_PART, sample.TEST),
    ],
)
def test_a_train_part_is_evaluated_on_what_belongs_to_it(flags, dev, test):
    found = _recipe(_options(["train", *flags]))
    assert [*map(str, (found.dev, *found.tests))] == [dev, *([test] if test else [])]


def test_a_set_is_the_same_under_every_name_and_files_and_commands_keep_the_one_that_was_given():
    given, usual = ODD["sets under other names"], Recipe("simcse", dev=sample.DEV, test="STS-B test")
    assert (given.dev, given.test) == (usual.dev, usual.test)
    named = {"dev": "sample dev", "test": "sts-b TEST", "elsewhere": ["sample", "./a b.csv"]}
    assert yaml.safe_load(given.as_yaml()).items() >= named.items()
    assert given.stated().items() >= named.items(), "also where the set is the usual one"
    assert Recipe("simcse", test="").tests == ()
    assert "--dev 'sample dev' --test 'sts-b TEST' --elsewhere sample --elsewhere './a b.csv' " in given.command()


def test_a_test_set_that_is_the_dev_set_is_refused_under_any_name_and_held_out_rows_are_others_each_time():
    with pytest.raises(BadChoice, match="cannot both be 'sample test'"):
        Recipe("simcse", dev=sample.TEST, test="sample test")
    assert Recipe("contrast", dev="held-out rows", test="held-out rows").tests == (sets.HELD_OUT,)


def test_the_values_of_the_released_code_are_allowed_and_differ_from_the_papers():
    for name in methods.names():
        kind = methods.load(name)
        for one, value in kind.released.items():
            assert knobs_of(kind)[one].checked(value) == value != paper_values(kind)[one]
        assert released_values(kind) == paper_values(kind) | kind.released


def test_presets_are_allowed_and_change_something():
    for name in methods.names():
        kind = methods.load(name)
        usual = {one: knob.default for one, knob in knobs_of(kind).items()}
        found = presets(kind)
        assert QUICK in found
        for values in (*found.values(), *kind.presets.values()):
            assert {one: knobs_of(kind)[one].checked(value) for one, value in values.items()} == values
            assert not values or {**usual, **values} != usual
        assert bool(found[QUICK]) == kind.trains()


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(BadChoice, match=r"no preset 'tunde'\. Choose one of tuned, quick"):
        _recipe(_options(["train", "consert", "--preset", "tunde"]))


def test_the_values_of_a_paper_are_allowed_and_of_every_setting():
    for name in methods.names():
        kind = methods.load(name)
        found = paper_values(kind)
        assert found.keys() == knobs_of(kind).keys()
        settings = Recipe(name, settings=found).settings
        assert settings == {one: value for one, value in found.items() if value != knobs_of(kind)[one].default}
        apart = {
            "pooling", "scale", "guided", "activation", "normaliser", "relu", "reads", "whole_window", "batch_size",
            "keep_base", "learning_rate", "margin", "distance", "similarity",
        }  # fmt: skip
        assert settings.keys() <= apart


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        (["simcse"], methods.few_rows(methods.load("simcse"), 1280)),
        (["simcse", "--as-in-paper"], {"pooling": "cls"}),
        (["simcse", "--as-in-paper", "--set", "pooling=max", "--steps", "3"], {"pooling": "max", "steps": 3}),
        (["contrast", "--as-in-paper"], {}),
        (["sg", "--as-released"], {"pooling": "cls", "view_pooling": "mean", "guide_dropout": True}),
        (["bt", "--as-in-paper"], {"pooling": "cls", "guided": True}),
        (
            ["bt-sg-opt", "--as-released"],
            {"pooling": "cls", "view_pooling": "mean", "guide_dropout": True, "original_views": True},
        ),
        (["flow", "--as-in-paper"], {"reads": "mean of the last two layers"}),
        (["flow", "--as-released"], {"dropout": True, "optimizer": "as released"}),
        (["wk", "--as-in-paper"], {"whole_window": True}),
        (["cosine-regression", "--as-in-paper"], {"pooling": "mean", "batch_size": 16}),
        (["layer-attention", "--as-in-paper"], {"activation": "none", "normaliser": "literal"}),
        (["layer-attention-hard", "--as-released"], {"weight": 1.0}),
        (["contrast", "--as-released"], {}),
        (["simcse", "--preset", "quick"], {"steps": 100, "batch_size": 16}),
        (["tsdae", "--preset", "quick"], {"steps": 100}),
        (["wk", "--preset", "quick"], {}),
        (["bsl", "--preset", "quick", "--set", "predictors=2"], QUICK_BSL),
        (["consert", "--preset", "tuned"], {"learning_rate": 2e-5, "temperature": 0.05}),
        (["declutr", "--preset", "short text"], {"anchors": 1, "shortest_span": 8, "longest_span": 32}),
    ],
)
def test_a_flag_sets_every_setting_to_the_papers_and_others_change_single_ones(flags, settings):
    assert _recipe(_options(["train", *flags])).settings == settings | best_of_trained(flags)


def best_of_trained(flags):
    """The papers' code has no step 0 among the checkpoints."""
    kind = methods.load(flags[0])
    published = kind.trains() and kind.as_published and bool({"--as-in-paper", "--as-released"} & {*flags})
    return {"keep_base": False} if published else {}


FEW = methods.few_rows(methods.load("conisi-s"), 1280)  # of the sample


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        (["conisi-s"], {"share": 0.1} | FEW),
        (["conisi-s", "--set", "share=0.5"], {"share": 0.5} | FEW),
        (["conisi-s", "--set", "share=0.8"], FEW),
        (["conisi-s", "--as-in-paper"], {"share": 0.1, "pooling": "cls"}),
        (["layer-attention-hard", "--as-released"], {"learning_rate": 3e-5, "weight": 1.0}),
        (["simcse-sup"], methods.few_rows(methods.load("simcse-sup"), 160)),
    ],
)
def test_a_setting_is_the_papers_for_the_family_of_the_encoder_unless_it_is_given(tmp_path, flags, settings):
    config = {"model_type": "roberta", "num_hidden_layers": 12, "hidden_size": 768}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    found = _recipe(_options(["train", *flags, "--model", str(tmp_path)]))
    assert found.settings == settings | best_of_trained(flags)
    assert yaml.safe_load(found.as_yaml())["settings"].items() >= settings.items()
    assert _recipe(_options(shlex.split(found.command())[3:])) == found, "the command of the default value says so"
    assert from_yaml(found.as_yaml(), "recipe.yaml") == found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "sg-ot"}, "no method 'sg-ot'. Did you mean 'sg-opt'"),
        ({"settings": {"temperture": 1}}, "no setting 'temperture'. Did you mean 'temperature'"),
        ({"settings": {"weight": 1}}, "no setting 'weight'"),  # one of another method
        ({"settings": {"temperature": 2}}, "temperature cannot be 2. Choose a number from 0.001 to 1"),
        ({"settings": {"temperature": float("nan")}}, "temperature cannot be nan"),
        ({"settings": {"learning_rate": "fast"}}, "learning_rate cannot be 'fast'"),
        ({"settings": {"batch_size": 2.5}}, "batch_size cannot be 2.5. Choose a whole number"),
        ({"settings": {"batch_size": True}}, "batch_size cannot be True"),
        ({"settings": {"projection": "perhaps"}}, "projection cannot be 'perhaps'. Choose on or off"),
        ({"settings": {"early_stop": "soon"}}, "early_stop cannot be 'soon'. Choose one of none, drops"),
        ({"precision": "int8"}, "precision cannot be 'int8'. Choose one of"),
        ({"device": "tpu"}, "device cannot be 'tpu'. Choose one of"),
        ({"data": ()}, r"data cannot be \[\]\. Choose names .*, 1 or more"),
        ({"seeds": ()}, r"seeds cannot be \[\]\. Choose whole numbers"),
        ({"seeds": (1, 2, 1)}, r"seeds cannot be \[1, 2, 1\]\. Choose .* of them, each once"),
        ({"seeds": (-1,)}, r"seeds cannot be \[-1\].*from 0 to 4294967295"),
        ({"seeds": (2**32,)}, r"seeds cannot be \[4294967296\]"),
        ({"seeds": (1.5,)}, r"seeds cannot be \[1\.5\]"),
        ({"seeds": (True,)}, r"seeds cannot be \[True\]"),
        ({"model": 5}, "model cannot be 5"),
        ({"columns": {"sentence": 1}}, "columns cannot be {'sentence': 1}. Choose a text for each name"),
        ({"stages": ("tsdae",)}, r"stages cannot be \['tsdae'\]"),
        ({"more_tests": tuple(f"set {number}" for number in range(20))}, "more_tests cannot be"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_is_not_allowed_is_named(changes, message):
    with pytest.raises(BadChoice, match=message):
        Recipe(**({"method": "sg-opt"} | changes))


def bomb(levels: int = 9) -> str:
    """A few lines that stand for ten to the power of the levels."""
    lines = ["a0: &a0 [1]", *(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, levels + 1))]
    return "\n".join(["method: sg", "made_with:", *(f"  {line}" for line in lines)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.yaml is no YAML mapping, whose lines are 'name: value'. Give a recipe.yaml.$"),
        ("method: [sg-opt", "is not YAML.*Give a recipe.yaml"),
        ("\tmethod: sg", "is not YAML"),
        ("method: sg\nmethod", "is not YAML"),
        ("[" * 5000, "is not YAML"),
        ("- method: sg", "mine.yaml is no YAML mapping"),
        ("sg-opt", "mine.yaml is no YAML mapping"),
        (
            "sentence1,sentence2,score\nA girl is styling her hair.,A girl brushes it.,0.5\n" * 9,
            "is no YAML mapping, whose",
        ),
        ("model: x", "mine.yaml: method is missing. There are: method, model"),
        ("method: sg\nsteps: 3", "mine.yaml: There is no setting 'steps'.* There are: .*settings"),
        ("method: sg\n1: 3", "mine.yaml: There is no setting '1'"),
        ("method: sg\nsettings: [1]", r"settings cannot be \[1\]\. Choose a number, a text, on or off for each name"),
        ("method: sg\nmade_with: yes", "made_with cannot be True. Choose a value for each name"),
        (
            "method: sg\nmade_with: {threads: two}",
            "made_with: threads cannot be 'two'; it must be a whole number from 1",
        ),
        ("method: sg\nmade_with: {threads: 0}", "made_with: threads cannot be 0"),
        ("method: sg\nmade_with: {threads: 5000}", "made_with: threads cannot be 5000.* to 1,024"),
        ("method: sg\nmade_with: {processor: 5}", "made_with: processor cannot be 5; it must be text"),
        ("method: sg\ncolumns: a", "columns cannot be 'a'. Choose a text for each name"),
        ("method: 5", "method cannot be 5. Choose a name"),
        ("method: null", "method cannot be None. Choose a name"),
        ("method: sg\nmodel: 5", "model cannot be 5. Choose a name"),
        ("method: sg\nmodel: null", "model cannot be None. Choose a name"),
        ("method: sg\ndev: [a]", r"dev cannot be \['a'\]\. Choose a name"),
        ("method: sg\ntest: 3", "test cannot be 3. Choose a name"),
        ("method: sg\ndata: [a, 1e3]", r"data cannot be \['a', 1000\.0\]\. Choose names"),
        ("method: sg\ncolumns: {sentence: 1}", "columns cannot be {'sentence': 1}. Choose a text for each name"),
        ("method: sg\ncolumns: {1: a}", "columns cannot be {1: 'a'}"),
        ("method: sg\ndata: []", "mine.yaml: data cannot be"),
        ("method: sg\nseeds: [one]", r"mine.yaml: seeds cannot be \['one'\]"),
        ("method: sg\nseeds: [[1]]", "seeds cannot be"),
        ("method: sg\nstages: [{method: tsdae, steps: 1}]", "mine.yaml, stage 1: There is no setting 'steps'"),
        ("method: sg\nstages: [{data: [sample]}]", "mine.yaml, stage 1: method is missing"),
        ("method: sg\nstages: 3", "mine.yaml, stage 1 cannot be 3. Give any of method, data"),
        ("method: sg\nsettings: {steps: many}", "steps cannot be 'many'"),
        ("method: sg\nsettings: {steps: null}", "settings cannot be {'steps': None}"),
        ("method: sg\nsettings: {5: 5}", "settings cannot be {5: 5}"),
        ("method: sgg", "Did you mean 'sg'"),
        ("method: sg\nsettings: {steps: 1}\nsettings: {steps: 2}", "'settings' on line 2 and 'settings' on line 3"),
        # what would grow without end is refused at once
        (bomb(), "no aliases"),
        ("method: sg\nmade_with: &again\n  itself: *again\n", "no aliases"),
        ("method: sg\nseeds: &s [1, 2]\ndata: *s\n", "no aliases"),
        (f"method: simcse\nseeds: {list(range(5_000))}\n", r"seeds cannot be \[0, 1, .* 1 to 100 of them, each once"),
    ],
    ids=lambda given: given[:30],
)
def test_a_file_that_is_no_recipe_is_refused_with_a_next_step(text, message):
    with pytest.raises(BadChoice, match=message):
        from_yaml(text, "mine.yaml")


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.mkdir [{}]", "!!python/object/new:os.mkdir [{}]", "!!python/name:os.mkdir"]
)
@pytest.mark.parametrize("field", ["method", "model", "made_with"])
def test_a_file_runs_no_code(tmp_path, tag, field):
    marker = tmp_path / "made"
    given = {"method": "sg", field: tag.format(marker)}
    with pytest.raises(BadChoice, match=r"is not YAML .*no tags"):
        from_yaml("\n".join(f"{name}: {value}" for name, value in given.items()), "mine.yaml")
    assert not marker.exists()
    if "{" in tag:
        yaml.unsafe_load(f"a: {tag.format(marker)}")
        assert marker.exists(), "otherwise it is no danger"


def test_a_file_that_is_not_there_or_no_text_or_too_large_is_refused(tmp_path):
    with pytest.raises(BadChoice, match=r"missing.yaml cannot be read .*Give the recipe.yaml of a run"):
        read(tmp_path / "missing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"method: \xff\xfe")
    with pytest.raises(BadChoice, match="cannot be read"):
        read(tmp_path / "binary.yaml")
    with pytest.raises(BadChoice, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "large.yaml").write_text("method: sg\n" + "# a comment\n" * 100_000, encoding="utf-8")
    with pytest.raises(BadChoice, match=r"larger than 100 KB"):
        read(tmp_path / "large.yaml")


def test_the_demonstration_is_a_whole_recipe_that_goes_through_shipped_text_half_to_three_times():
    recipe = demonstration()
    assert recipe == Recipe.read(recipe.stated())
    assert {*map(str, recipe.data)} <= set(SHIPPED)
    assert (str(recipe.dev), str(recipe.test)) == (sample.DEV, sample.TEST)
    assert from_yaml(recipe.as_yaml(), "a run").settings == recipe.settings
    rows, schedule = corpus(recipe.data, recipe.kind.rows)[0], recipe.schedule()
    assert 0.5 <= schedule.updates(len(rows)) * schedule.batch_size / len(rows) <= 3


def parsed(text, **same):
    return safe_yaml.parsed(text, "a.yaml", "Give a recipe.", same)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a: 1\nb: 2\na: 3\n", "'a' on line 1 and 'a' on line 3"),
        ("a: 1\n'a': 1\n", "'a' on line 1 and 'a' on line 2"),
        ("a:\n  b:\n    - {c: 1, d: 2,\n       c: 3}\n", "'c' on line 3 and 'c' on line 4"),
        ("? a\n: 1\n? a\n: 2\n", "'a' on line 1 and 'a' on line 3"),
        ('{"a": {"b": 1, "b": 2}}', "'b' on line 1 and 'b' on line 1"),
        ("a:\n  1: x\n  true: y\n", "1 on line 2 and True on line 3"),
        ("models: [x]\nother: 1\nmodel: y\n", "'models' on line 1 and 'model' on line 3"),
    ],
)
def test_a_name_that_is_stated_twice_is_refused_with_both_lines(text, named):
    with pytest.raises(BadChoice) as caught:
        parsed(text, model="models")
    assert str(caught.value) == f"a.yaml has {named}. Keep one of them."


def test_names_that_mean_the_same_do_so_at_the_top_only():
    assert parsed("a: {model: 1, models: 2}\n", model="models") == {"a": {"model": 1, "models": 2}}


@pytest.mark.parametrize(
    "number",
    ["010", "-010", "08", "1:30", "1:30:05.5", "1_000", "1_0.5", "0x10", "0b11", "0o10", "9" * 301, "-" + "9" * 900],
)
@pytest.mark.parametrize("text", ["\na: {}", "\na: [1, {}]", "\n{}: 1"])
def test_a_number_that_programs_read_differently_is_refused_with_its_line(text, number):
    with pytest.raises(BadChoice, match=rf"a\.yaml, line 2: {number[:40]}.*Write .*in quotes"):
        parsed(text.format(number))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10), ("-3", -3), ("0", 0), ("+7", 7), ("0.5", 0.5), (".5", 0.5), ("5.", 5.0), ("00.5", 0.5),
        ("1e3", 1000.0), ("1E-5", 1e-5), ("5.0e-05", 5e-5), ("1e999", math.inf), (".inf", math.inf),
        ("-.inf", -math.inf), ("on", True), ("off", False), ("yes", True), ("no", False), ("true", True),
        ("null", None), ("~", None), ("", None),
        ("2020-01-01", "2020-01-01"), ("2020-99-99", "2020-99-99"), ("12:75", "12:75"), ("1.2.3", "1.2.3"),
        ("1,000", "1,000"), ("٣", "٣"), ("'010'", "010"), ('"1:30"', "1:30"), ("<<", "<<"), ("=", "="), ("~/x", "~/x"),
    ],
)  # fmt: skip
def test_a_value_has_one_meaning_and_is_written_so_that_it_keeps_it(text, value):
    found = parsed(f"a: {text}")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)
    assert parsed(safe_yaml.written(found)) == found


def test_text_stays_text_when_it_is_written_and_no_number_no_number():
    for text in ["010", "1:30", "1_000", "0o10", "1e3", "on", "null", "2020-01-01", "a\nb", "\N{OTTER}", "é\\\ud800"]:
        written = safe_yaml.card_head({text: [text]})
        assert written == yaml.safe_dump({text: [text]}, sort_keys=False, allow_unicode=True), "as PyYAML has it"
        if "\ud800" not in text:
            assert parsed(safe_yaml.written({text: [text]})) == {text: [text]}
    assert math.isnan(parsed("a: .nan")["a"])


@pytest.mark.parametrize(
    "text", ["a: !!int 010", "a: !!float 1:30", "a: !!python/name:os.mkdir", "a: ! b", "!!set {a}"]
)
def test_tags_are_refused(text):
    with pytest.raises(BadChoice, match="no tags"):
        parsed(text)


def test_half_of_a_surrogate_pair_is_refused():
    for text in [r'a: "\udcff"', r'"\ud800": 1', r'a: ["x\ud83d"]']:
        with pytest.raises(BadChoice, match="half of a surrogate pair"):
            parsed(text)
