"""Test that a setting of one line, of a recipe, an evaluation, a plan, its budget or a map, is found everywhere."""

from pathlib import Path
from unittest import mock

from tests import copies

LINE = '    heat: int = knob(3, low=1, high=9, title="Heat of it", help="Made up.")\n'
HOMES = (  # file, and the line that it is put in before
    ("explorer/training/recipe.py", "    made_with: Mapping[str, Any] = knob({}, item=object"),
    ("explorer/evaluating/results/scored_task.py", "    again: bool = knob(\n"),
    ("explorer/studies/plans/plan.py", "    steps: int | None = knob(\n"),
    ("explorer/studies/plans/plan.py", "    precision: str = knob("),
    ("explorer/measuring/maps/projection.py", "    seed: int = knob(0, low=0"),
)
REFUSED = "heat cannot be {}. Choose a whole number from 1 to 9 (default 3). Made up."


def in_a_copy(folder: Path) -> None:
    """Look for the settings in the copy of the program, and state values that are allowed and one that is not."""
    import shlex
    from dataclasses import replace

    from streamlit.testing.v1 import AppTest

    from explorer.__main__ import _options
    from explorer.commands.train import _recipe
    from explorer.errors import BadChoice
    from explorer.evaluating.results import scored_task
    from explorer.measuring.maps import projection
    from explorer.measuring.scores.measure import Settings
    from explorer.studies.plans import plan, plan_file
    from explorer.training import recipe_file
    from explorer.training.recipe import Recipe
    from explorer.ui.plans import plan_form
    from explorer.ui.results import evaluate_form
    from explorer.ui.runs import training_queue
    from explorer.ui.widgets import controls
    from tests import flags_page
    from tests.visits import opened

    def refused(value, do):
        try:
            do()
        except BadChoice as error:
            return str(error).endswith(REFUSED.format(repr(value)).partition("heat")[2])
        return False

    # a recipe: flag, YAML, JSON, command, help and docs
    recipe = Recipe("sg", heat=7)
    for text in (recipe.as_yaml(), "{method: sg, heat: 7, elsewhere: at hand}"):
        assert recipe_file.from_yaml(text, "r.yaml").heat == 7
    assert recipe.stated()["heat"] == 7
    assert Recipe.read(recipe.stated()) == recipe
    words = shlex.split(recipe.command())
    assert words[words.index("--heat") + 1] == "7"
    assert _recipe(_options(words[3:])).heat == 7
    assert "--heat" not in Recipe("sg").command()
    docs = flags_page.page()
    assert docs.count("| `--heat N` | Heat of it. Made up (default: 3) |") == 2, "of train and of evaluate"
    doors = (
        lambda: Recipe("sg", heat=99),
        lambda: recipe_file.from_yaml("method: sg\nheat: 99\n", "r.yaml"),
        lambda: Recipe.read({"method": "sg", "heat": 99}, "a form"),
        lambda: scored_task.Options(heat=99),
        lambda: scored_task.Options.read({"heat": 99}),
        lambda: plan.Plan("hot", heat=99),
        lambda: plan.Plan.read({"name": "hot", "heat": 99}),
        lambda: plan_file.from_yaml("methods: sg\nheat: 99\n", "p.yaml"),
        lambda: plan.PlanBudget(heat=99),
        lambda: projection.MapSettings(heat=99),
        lambda: plan_file.from_yaml("method: sg\nbudget: {heat: 99}\n", "p.yaml"),
    )
    assert [refused(99, door) for door in doors] == [True] * len(doors)
    for verb in (["train", "sg"], ["evaluate", "all-MiniLM-L6-v2"]):
        assert refused("99", lambda verb=verb: _options([*verb, "--heat", "99"])), verb
    # an evaluation: field, and key of its results
    hot = scored_task.Options(heat=7)
    assert scored_task.stated(hot, Settings())["heat"] == 7
    assert scored_task.Options.read(hot.stated()) == hot
    app = AppTest.from_file(str(folder / "app.py"), default_timeout=120)
    opened(app, "results", tab="Evaluate models")
    (field,) = [one for one in app.number_input if one.key == controls.key_of(evaluate_form.FORM, "heat")]
    assert (field.label, field.value, field.min, field.max, field.help) == ("Heat of it", 3, 1, 9, "Made up.")
    # a page: field, address, and the settings of what is computed
    with mock.patch.object(projection, "maps", wraps=projection.maps) as made:
        opened(app, "map", heat="7", projection="PCA")
    assert [call.args[3] for call in made.call_args_list] == [projection.MapSettings("PCA", heat=7)]
    (field,) = [one for one in app.number_input if one.key == "heat"]
    assert (field.label, field.value, field.min, field.max, field.help) == ("Heat of it", 7, 1, 9, "Made up.")
    # a plan and its budget: the file, the field, the plan of the form, docs, and the key of its estimate
    whole = plan.Plan("hot", ("sg",), heat=7, budget=plan.PlanBudget(heat=7))
    assert (whole.stated()["heat"], plan.Plan.read(whole.stated())) == (7, whole)
    assert plan_file.from_yaml(plan_file.as_yaml(whole), "p.yaml", "hot") == whole
    assert "heat" not in plan_file.as_yaml(plan.Plan("hot"))
    assert training_queue.estimate_key(whole) != training_queue.estimate_key(replace(whole, heat=3))
    for written in ("heat: N", "budget: {heat: N}"):
        assert docs.count(f"| `{written}` | Heat of it. Made up (default: 3) |") == 1, written
    made, form = [], plan_form.plan
    with mock.patch.object(plan_form, "plan", lambda name: made.append(form(name)) or made[-1]):
        app = AppTest.from_file(str(folder / "app.py"), default_timeout=120)
        opened(app, "plans")
        (field,) = [one for one in app.number_input if one.key == controls.key_of("plan", "heat")]
        assert (field.label, field.value, field.min, field.max, field.help) == ("Heat of it", 3, 1, 9, "Made up.")
        field.set_value(7).run()
    heats = [one.heat for one in made if one is not None]  # there is none while the model is loaded
    assert (heats[0], heats[-1]) == (3, 7)


def test_it_is_flag_field_yaml_json_command_help_docs_and_key_and_every_door_refuses_it_alike(tmp_path):
    copies.planted(tmp_path, [(home, before, LINE) for home, before in HOMES])
    copies.run_in(tmp_path, in_a_copy)
