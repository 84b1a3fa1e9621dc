"""Test the Compare page and the two sides of the sidebar, without a browser."""

import io
import json
import random
import re
from contextlib import redirect_stdout
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from explorer.__main__ import main
from explorer.data import sample
from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.set_items import all_of
from explorer.data.sources import HELD_OUT
from explorer.encoding.locate.model_names import find
from explorer.errors import DataError
from explorer.evaluating.kinds import judged
from explorer.measuring.comparing.comparison import Comparison, as_used, default_reading
from explorer.measuring.comparing.comparison_verdict import BASE, BASE_AS_TRAINED, TUNED
from explorer.measuring.comparing.pair_changes import KINDS, traits
from explorer.measuring.geometry.layer_geometry import MEASURES
from explorer.measuring.scores.best_cell import CHOSEN_ON
from explorer.measuring.scores.layer_scores import NO_SCORE, for_people
from explorer.measuring.scores.measure import Settings, measure
from explorer.measuring.scores.pair_cosines import NOT_MEASURABLE, NOT_MEASURED
from explorer.measuring.scores.verdict import CHOSE, NO_TEST
from explorer.progress import finish
from explorer.training.record import run_results
from explorer.ui.access import set_choice
from explorer.ui.compare import changes_view, compared, verdict_view
from explorer.ui.frame import sidebar
from explorer.ui.start import ways_in
from tests import trainings
from tests.tiny_models import save_tiny
from tests.visits import buttons, entered, fetches, measured, opened, pressed, words

LAYERS, WORDS, PAIRS, GEOMETRY, EXPORT = "Layers", "Words and probes", "Pairs", "Geometry", "Export"  # tabs


FIGURES = ["what changed", "what changed on sets"]  # of the first screen


@pytest.fixture(scope="module")
def run(place):
    return trainings.train(trainings.new(place, "simcse", name="tuned", settings={"steps": 2, "pooling": "cls"}))


@pytest.fixture
def app(furnished, run):
    furnished.switch_page("pages/compare.py")
    furnished.query_params["sts"] = "Sample pairs"
    return furnished


def test_a_set_that_chose_the_model_has_no_verdict(app, place):
    app.query_params["sts"], app.query_params["beside"] = str(place.dev), "run:tuned"
    measured(app)
    boxes = app.success, app.error, app.info, app.markdown, app.caption
    shown = [one.replace("\\", "") for box in boxes for one in words(box)]
    assert any("chose the model" in one or NO_TEST[CHOSE] in one for one in shown)
    assert not any(re.search(r"[+−-]\d+\.\d+ \(95 % CI", one) for one in shown)
    assert not any("could be chance" in one and "If the interval" not in one for one in shown)


def test_a_set_that_holds_some_of_what_chose_the_model_says_how_many(app, place, tmp_path):
    both = tmp_path / "both.csv"
    both.write_text(place.dev.read_text() + "\n".join(place.test.read_text().splitlines()[1:]) + "\n")
    measured(app, sts=str(both), beside="run:tuned")
    assert any("12 of the 21 test pairs are in the dev set" in one for one in words(app.caption))


def test_it_opens_on_the_verdict_of_the_command_and_its_three_numbers_without_encoding_a_probe_again(app, place):
    app.query_params["sts"], app.query_params["beside"] = str(place.test), "run:tuned"
    with mock.patch("explorer.ui.access.cached.vectors") as encoded:
        measured(app)
    encoded.assert_not_called()
    assert [chart.key for chart in app.get("plotly_chart")] == FIGURES, "no tab but the open one is computed"
    numbers = told_by_the_command(place)
    verdict, learned = numbers["verdict"], numbers["learned"]
    boxes = [*app.success, *app.error, *app.info, *app.warning]
    assert [box.value.replace("\\", "").replace("**", "") for box in boxes] == [learned["text"]], "one result, one box"
    said = [one.replace("**", "") for one in words(app.markdown)]
    assert f"How sure: {learned['how_sure']}" in said
    assert f"Where: {numbers['where']}" in said
    for pair in learned["pairs"]:
        assert f"{pair['before']:.2f} → {pair['after']:.2f}" in said
    of_models = scores(app)
    assert of_models[BASE] == f"{verdict['declared_base']:.2f}"
    assert of_models[TUNED] == f"{verdict['exported']:.2f}"
    assert (BASE_AS_TRAINED in of_models) == (verdict["same_reading_base"] is not None)


def test_the_figure_has_every_pack_and_set_of_the_headline_with_the_numbers_of_the_command(app, place):
    measured(app, sts=str(place.test), beside="run:tuned")
    chart, of_sets = app.get("plotly_chart")
    figure, numbers = json.loads(chart.proto.spec), told_by_the_command(place)
    shares = dict(enumerate(sorted(numbers["learned"]["packs"], key=lambda one: -abs(
        one["after"]["value"] - one["before"]["value"]))))  # fmt: skip
    for name, side in (("A", "before"), ("B", "after")):
        drawn = {one["y"][0]: one["x"][0] for one in figure["data"] if one.get("name") == name}
        assert drawn == {at: pytest.approx(100 * one[side]["value"]) for at, one in shares.items()}
    gaps = [one["x"][0] for one in json.loads(of_sets.proto.spec)["data"]]
    assert gaps[0] == pytest.approx(numbers["verdict"]["difference"], abs=1e-3)


def test_each_tab_alone_is_computed_and_is_in_the_address(app):
    measured(app, beside="run:tuned", tab=GEOMETRY)
    assert "geometry" in {box.key for box in app.toggle}
    assert not app.dataframe
    show(app, EXPORT)
    assert "geometry" not in {box.key for box in app.toggle}
    assert "B" in app.dataframe[0].value
    show(app, "Overview")
    assert scores(app)


def test_where_the_probe_packs_cannot_be_encoded_the_line_is_of_the_score_and_the_reason_stands_there(app, place):
    app.query_params.update(sts=str(place.test), beside=str(place.model), beside_reading="cls of layer 1")
    with mock.patch("explorer.ui.access.cached.sentence_vectors.of_reading", side_effect=DataError("It is gone.")):
        measured(app)
    assert verdict_view.NOT_ENCODED in words(app.caption)
    assert any(f"on {place.test.name}" in one for one in words([*app.success, *app.error, *app.info]))


def test_without_b_the_runs_there_are_stand_a_click_away_and_two_readings_of_one_encoder_stand_side_by_side(app, place):
    app.run()
    assert app.info[0].value == compared.ASK
    pressed(app, "beside run:tuned")
    assert app.selectbox(key="beside").value == "run:tuned"
    assert set(scores(app)) >= {BASE, TUNED}
    app.selectbox(key="beside").select(str(place.model)).run()
    entered(app, app.selectbox(key="beside_reading"), "cls of layer 1")
    one, other = compared_readings(app)
    assert (one.startswith("mean of layer 2"), other) == (True, "cls of layer 1")
    assert scores(app)["A"] != scores(app)["B"]


def test_the_verdict_stays_where_another_layer_is_chosen_and_table_and_report_hold_the_numbers_of_the_command(
    app, place
):
    measured(app, sts=str(place.test), beside="run:tuned")
    before = scores(app)
    assert app.segmented_control(key=compared.KEY).value == compared.EACH
    entered(app, app.segmented_control(key=compared.KEY), compared.SAME)
    assert app.selectbox(key="reading").value == "mean of layer 2"
    assert app.selectbox(key="beside_reading").value == sidebar.SAME
    assert scores(app) == before
    show(app, LAYERS)
    numbers = told_by_the_command(place, "--same")["chosen"]
    assert list(under_chosen(app)) == [f"{numbers[side]:.2f}" for side in "AB"]
    entered(app, app.segmented_control(key=compared.KEY), compared.EACH)
    assert app.selectbox(key="reading").value == "model default"
    show(app, "Overview")
    assert scores(app) == before
    numbers = told_by_the_command(place, "--geometry")
    assert before[TUNED] == f"{numbers['chosen']['B']:.2f}"
    show(app, EXPORT)
    table = pytest.approx([one["B"] for one in numbers["cells"] if one["B"] is not None])
    assert [row["B"] for row in shown(app)[-1] if row["B"] is not None] == table
    assert compared.FILE not in [one.proto.label for one in app.get("download_button")]
    pressed(app, "create report")
    assert compared.FILE in [one.proto.label for one in app.get("download_button")]


def test_a_cut_model_is_compared_with_its_base_under_the_layer_where_it_was_cut(app, place):
    run = trainings.train(trainings.new(place, "distil", name="cut", settings={"steps": 2}))
    measured(app, sts=str(place.test), beside="run:cut")
    shown, found = scores(app), run.status().verdict.test
    judged = {BASE: found.before, BASE_AS_TRAINED: found.before_as_trained, TUNED: found.after}
    assert {name: float(shown[name]) for name in judged} == pytest.approx(judged, abs=0.01)
    assert judged[BASE] != pytest.approx(judged[BASE_AS_TRAINED], abs=0.01), "the premise"


def test_a_set_that_is_not_on_this_disk_is_offered_once_for_both_models(app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    measured(app, sts="STS-B test", beside="run:tuned")
    assert fetches(app) == [set_choice.FETCH.format("STS-B test")]


@pytest.mark.parametrize("exchanged", [False, True])
def test_the_three_pairs_are_those_of_the_rank_errors_and_a_click_chooses_one_for_the_app(app, place, exchanged):
    measured(
        app, tab=PAIRS, **({"model": "run:tuned", "beside": str(place.model)} if exchanged else {"beside": "run:tuned"})
    )
    found = [find(one) for one in (str(place.model), "run:tuned")]
    scores = [finish(measure(one, sample.pairs(), Settings("float32"))) for one in found]
    comparison = as_used(Comparison(*scores, default_reading(scores[0]), default_reading(scores[1])))
    better, worse, _ = comparison.rank_errors().examples()
    told = " ".join(one.value.replace("\\", "") for one in app.markdown)
    for place_of in (better, worse):
        assert sample.pairs().first[place_of] in told
    titles = [
        title
        for title in ("Largest gain**", "Largest loss**", *(f"{kind.capitalize()}**" for kind in KINDS))
        if title in told
    ]
    assert titles == ["Largest gain**", "Largest loss**"], "improved and got worse are what the counts are of"
    assert any(changes_view.WRONG in one.replace("\\", "") for one in words(app.caption))
    pressed(app, "words open largest gain")
    pair = sample.pairs().first[better], sample.pairs().second[better]
    assert words_of_dialog(app, pair)
    show(app, WORDS)
    assert words_of_dialog(app, pair), "it is the pair of every page now"


def test_an_address_says_a_and_b_and_their_readings_and_one_key_changes_their_places(app):
    measured(app, beside="run:tuned", reading="cls of layer 1", beside_reading="max of layer 2")
    show(app, LAYERS)
    assert under_chosen(app, readings=True) == ["cls of layer 1", "max of layer 2"]
    assert app.segmented_control(key=compared.KEY).value == compared.CHOSEN
    before = under_chosen(app)
    pressed(app, "exchange A and B")
    assert app.selectbox(key="model").value == "run:tuned"
    assert under_chosen(app) == before[::-1]
    assert under_chosen(app, readings=True) == ["max of layer 2", "cls of layer 1"]


def test_an_encoder_beside_itself_has_changed_nothing(app, place):
    measured(app, beside=str(place.folder / "." / "tiny" / ".." / "tiny"), tab=LAYERS)
    assert any("B − A **+0.00 (+0.00 to +0.00)**" in one for one in words(app.markdown))


def test_readings_picked_on_development_pairs_are_shown_with_what_they_are_worth_here(app, place):
    measured(app, beside="run:tuned", sts=str(place.test), reading="cls of layer 1", tab=LAYERS)
    before = under_chosen(app)
    entered(app, app.selectbox(key="picked_on"), "Sample pairs").run()
    assert under_chosen(app) == before, "what the sidebar says stays"
    best = under_chosen(app, start="Best on the dev set")
    readings = under_chosen(app, readings=True, start="Best on the dev set")
    assert any(told.startswith(CHOSEN_ON.format("Sample pairs", "240 pairs")) for told in words(app.caption))
    pressed(app, "use picked")
    assert under_chosen(app, readings=True) == readings
    assert under_chosen(app) == best
    assert "use picked" not in buttons(app)


def test_the_start_page_puts_a_run_beside_the_encoder(app):
    opened(app, "start", tab=ways_in.MODELS)
    pressed(app, "beside run:tuned")
    assert app.selectbox(key="beside").value == "run:tuned"
    assert "beside run:tuned" not in buttons(app)


def test_geometry_and_drift_are_looked_at_when_asked_for(app, place):
    measured(app, sts=str(place.test), beside="run:tuned", compared_pooling="max", tab=GEOMETRY)
    assert len(app.get("plotly_chart")) == len(FIGURES), "until then the page does not wait for it"
    app.toggle(key="geometry").set_value(True)
    with mock.patch("explorer.ui.access.jobs.MOMENT", 0):
        app.run()
    measured(app)
    assert len(app.get("plotly_chart")) == len(FIGURES) + len(MEASURES) + 2
    numbers = told_by_the_command(place, "--geometry", "--pooling", "max")
    assert for_people(numbers["geometry"]["layers"]) in shown(app)
    assert for_people(numbers["geometry"]["drift"]) in shown(app)


def test_a_alone_has_the_grid_of_layers_with_its_model_set_and_measure_and_b_is_judged_on_the_test_half(app, place):
    del app.query_params["sts"]
    measured(app)
    assert app.selectbox(key="sts").value == sample.pairs().name
    assert f"**A**: every layer & pooling of {place.model.name}" in words(app.markdown)
    assert f"Spearman × 100. {(named := all_of(sample.pairs()))}" in words(app.caption)
    alone = written(app)
    opened(app, "layers")
    assert any(one.startswith(named) for one in words(app.caption))
    assert written(app) == alone
    opened(app, "compare")
    entered(app, app.selectbox(key="beside"), "run:tuned")
    assert app.selectbox(key="sts").value == sample.test().name


def written(app):
    """What is written on the cells of the first grid."""
    spec = json.loads(app.get("plotly_chart")[0].proto.spec)
    return [one.get("text") for one in spec["data"]]


def test_geometry_of_a_alone_is_that_beside_b(app, place):
    measured(app, sts=str(place.test), geometry="true")
    assert len(app.get("plotly_chart")) == 1 + len(MEASURES) + 1, "the grid of A, and the geometry"
    (alone,) = shown(app)
    rows = told_by_the_command(place, "--geometry")["geometry"]["layers"]
    assert alone == for_people([row for row in rows if row["encoder"] == "A"])


def test_another_reading_does_not_read_the_sentences_of_both_again(app, place):
    measured(app, sts=str(place.test), geometry="true", beside="run:tuned", compared_pooling="cls", tab=GEOMETRY)
    with mock.patch("explorer.ui.compare.geometry_view.layer_geometry.layer_geometry") as again:
        for reading in ("max of layer 1", "cls of layer 1"):
            entered(app, app.selectbox(key="beside_reading"), reading)
            assert any(row.get("layer & pooling") == f"chosen: {reading}" for table in shown(app) for row in table)
    again.assert_not_called()


def show(app, tab):
    """Open a tab of the page that is drawn."""
    entered(app, app.segmented_control(key="tab"), tab)
    return measured(app)


def scores(app):
    """The scores that the overview lists, by what they are of."""
    (listed,) = [one for one in words(app.markdown) if one.startswith("- ")]
    return dict(re.findall(r"^- (.+?): \*\*(.+?)\*\*", listed, re.MULTILINE))


def compared_readings(app):
    """The layers & poolings that the overview lists."""
    (listed,) = [one for one in words(app.markdown) if one.startswith("- ")]
    return re.findall(r", ([^,]+)$", listed, re.MULTILINE)


def under_chosen(app, *, readings=False, start="Under the chosen"):
    """Both scores below the grids, or the layers & poolings that they are of."""
    (line,) = [one for one in words(app.markdown) if one.startswith(start)]
    found = re.findall(r"[AB] \*\*(\S+?)\*\* \((.+?)\)[,.]", line)
    return [one[readings] for one in found]


def words_of_dialog(app, pair):
    """Whether the words of both sentences of a pair are shown."""
    told = " ".join(re.sub(r":small\[[^]]*\]|:gray-background|[\[\]\\]", "", one.value) for one in app.markdown)
    return all(" ".join(re.findall(r"\w+", text)) in " ".join(re.findall(r"\w+", told)) for text in pair)


def told_by_the_command(place, *flags):
    """The JSON of the same comparison on the command line."""
    told = io.StringIO()
    with redirect_stdout(told):
        assert main(["compare", str(place.model), "run:tuned", "--sts", str(place.test), "--json", *flags]) == 0
    return json.loads(told.getvalue())


def shown(app):
    """The tables of the page, as rows; a missing number is None."""
    frames = [table.value for table in app.dataframe]
    return [frame.astype(object).where(frame.notna(), None).to_dict("records") for frame in frames]


def test_cameras_keep_what_was_chosen(app):
    measured(app, beside="run:tuned", pictures="<b>", tab=LAYERS)
    for chosen, kept in ((None, "svg"), ("PNG", "png"), ("SVG", "svg")):
        if chosen:
            app.segmented_control(key="pictures").set_value(chosen).run()
        options = [json.loads(chart.proto.config)["toImageButtonOptions"] for chart in app.get("plotly_chart")]
        assert {one["format"] for one in options} == {kept}, chosen
        assert len({one["filename"] for one in options}) == len(options) == 6


def test_filters_let_through_the_pairs_they_name(app):
    measured(app, beside="run:tuned", flips="still wrong", tab=PAIRS)
    assert app.segmented_control(key="flips").value == "still wrong"
    wrong = shown(app)[0]
    told = [traits(row["first"], row["second"]) for row in wrong]
    assert len({row["sub-corpus"] for row in wrong}) > 1, "the premise"
    wanted = {
        "flips_negation": ("in one only", [one.negated for one in told]),
        "flips_numbers": ("that do not", [not one.numbers for one in told]),
        "flips_names": ("that do not", [not one.names for one in told]),
        "flips_shared": ("under half", [one.overlap < 0.5 for one in told]),
        "flips_part": (wrong[0]["sub-corpus"], [row["sub-corpus"] == wrong[0]["sub-corpus"] for row in wrong]),
    }
    for key, (value, fits) in wanted.items():
        app.selectbox(key=key).set_value(value).run()
        left = [row for row, fit in zip(wrong, fits, strict=True) if fit]
        assert (shown(app)[0] if left else []) == left, key
        app.selectbox(key=key).set_value("any")


def test_every_filter_of_flipped_pairs_can_be_in_the_address(app):
    asked = {"shared": "under half", "negation": "in neither", "numbers": "that do not", "names": "that do not"}
    asked["part"] = max(sample.pairs().parts)
    measured(
        app,
        beside="run:tuned",
        tab=PAIRS,
        flips="still wrong",
        **{f"flips_{name}": said for name, said in asked.items()},
    )
    assert {name: app.selectbox(key=f"flips_{name}").value for name in asked} == asked


def test_filters_can_leave_no_pair_and_nonsense_in_the_address_is_no_filter(app):
    filters = ("flips_shared", "flips_numbers", "flips_names", "flips_part")
    measured(app, beside="run:tuned", tab=PAIRS, flips_words="500", **dict.fromkeys(filters, "<b>"))
    assert changes_view.NONE_PASSES in words(app.info)
    assert {app.selectbox(key=name).value for name in filters} == {"any"}


@pytest.mark.parametrize("beside", ["nonsense", "run:nobody", "<b>x</b>", "/no/such", "run:../tuned"])
def test_a_b_that_is_not_there_is_an_error_in_words(app, beside):
    measured(app, beside=beside)
    assert app.error


def test_a_reading_that_bfloat16_cannot_measure_has_no_difference_and_no_pairs(app, tmp_path):
    save_tiny("bert", tmp_path / "tiny")  # as its weights are made up, every [CLS] is almost the same
    app.query_params["model"] = app.query_params["beside"] = str(tmp_path / "tiny")
    title, reason = "cls of layer 1", NOT_MEASURABLE.format("bfloat16")
    measured(app, precision="bfloat16", reading=title, tab=LAYERS)
    assert under_chosen(app) == [NO_SCORE] * 2
    assert any(f"B − A **{NO_SCORE}**" in one for one in words(app.markdown))
    told = [said for said in words(app.caption) if NOT_MEASURED.partition(": ")[0].format("bfloat16") in said]
    assert [said[:2] for said in told] == ["A:", "B:"]
    show(app, PAIRS)
    assert any(title in said and reason in said for said in words(app.info))
    assert not [one for one in app.get("arrow_data_frame") if "error A" in one.value]


@pytest.fixture(scope="module")
def own(place):
    """A run that was tested on pairs it held out of its own text."""
    text = place.folder / "own.csv"
    rows = (f"{' '.join(sorted(phrase.split()))},{phrase}" for phrase in trainings._phrases(random.Random(3), 60))
    text.write_text("\n".join(["query,passage", *rows]) + "\n", encoding="utf-8")
    what = {"data": (str(text),), "dev": HELD_OUT, "test": HELD_OUT, "settings": {"steps": 12}}
    return trainings.train(trainings.new(place, "contrast", name="own", **what))


def test_compare_with_base_opens_on_the_rows_that_the_run_held_out(app, own):
    opened(app, "train", run="own")
    app.button(key="run compare").click().run()
    opened(app, "compare")
    assert app.selectbox(key="sts").value == "test rows of run:own"
    found, shown = own.status().verdict.test, scores(app)
    assert shown[BASE] == f"{found.before:.2f}"
    assert shown[TUNED] == f"{found.after:.2f}"


def test_scored_rows_that_a_run_held_out_are_shown_on_the_scale_of_their_file(app, place):
    text = place.folder / "scored.csv"
    graded = trainings.graded_lines(random.Random(3), 60)
    text.write_text("\n".join(["score,sentence1,sentence2", *graded]) + "\n", encoding="utf-8")
    in_file = {(first, second): float(score) for score, first, second in (row.split(",") for row in graded)}
    what = {"data": (str(text),), "dev": HELD_OUT, "test": HELD_OUT, "settings": {"steps": 2}}
    run = trainings.train(trainings.new(place, "cosent", name="scored", **what))
    rows = run_results.load_test_rows(SetIdentity(SetKind.TEST_ROWS, "scored"))
    wanted = [in_file[pair] for pair in zip(rows.first, rows.second, strict=True)]
    assert rows.own_gold == tuple(wanted)
    assert max(rows.gold) <= 1 < max(wanted)
    assert rows.digest == run.recipe().digest_of("test") == replace(rows, scale=None).digest
    opened(app, "compare", sts=rows.name, beside="run:scored", tab=PAIRS)
    told = [one for one in words(app.caption) if one.startswith("Human score")]
    assert told
    for one in told:
        score, scale = re.match(r"Human score (\d\.\d\d) \((.*?)\)", one).groups()
        assert (float(score) in wanted, scale) == (True, "0 to 4")
    (figure,) = (chart for chart in app.get("plotly_chart") if "gold score" in chart.proto.spec)
    assert f"gold score {min(wanted):g} to below" in figure.proto.spec
    assert f"to {max(wanted):g}" in figure.proto.spec


def test_the_report_of_queries_can_be_made_and_downloaded(app, own):
    opened(app, "compare", sts="test rows of run:own", beside="run:own", tab=EXPORT)
    assert compared.FILE not in [one.proto.label for one in app.get("download_button")]
    pressed(app, "create report")
    assert not app.exception
    assert compared.FILE in [one.proto.label for one in app.get("download_button")]


def test_queries_that_improved_and_got_worse_are_listed_with_their_ranks(app, own, place):
    opened(app, "compare", sts="test rows of run:own", beside="run:own", tab=PAIRS)
    given = run_results.load_test_rows(SetIdentity(SetKind.TEST_ROWS, "own"))
    scores = [finish(judged(given).measured(find(name), Settings())) for name in (str(place.model), "run:own")]
    ranks = [side.details_of(default_reading(side))["rank"] for side in scores]
    better, worse = (ranks[1] < ranks[0]).sum(), (ranks[1] > ranks[0]).sum()
    assert any(f"{better} improved, {worse} got worse" in told for told in words(app.caption))
    told = [one for one in words(app.markdown) if one.startswith("**rank")]
    assert len(told) == min(changes_view.SHOWN, better) + min(changes_view.SHOWN, worse)
    if told:
        first = int(np.argmax(1 / ranks[1] - 1 / ranks[0]))
        assert told[0].startswith(f"**rank {ranks[0][first]:.0f} → {ranks[1][first]:.0f}**") or not better


def test_a_split_shows_the_groups_of_the_command_and_is_in_the_address(app, place):
    measured(app, beside="run:tuned", split="domain", tab=PAIRS)
    assert app.selectbox(key="split").value == "domain"
    told = io.StringIO()
    with redirect_stdout(told):
        assert main(["compare", str(place.model), "run:tuned", "--on", "sample", "--split", "domain", "--json"]) == 0
    groups = json.loads(told.getvalue())["split"]["groups"]
    table = next(frame.value for frame in app.dataframe if "domain" in frame.value)
    assert list(table["domain"]) == [one["group"] for one in groups]
    assert list(table["low"]) == [pytest.approx(one["low"]) for one in groups]
    assert any("hold together with 95 %" in one for one in words(app.caption))
    app.selectbox(key="split").select("nothing").run()
    assert not any("hold together" in one for one in words(app.caption))


def test_windows_are_offered_for_passages_and_give_the_scores_of_the_command(app, place, own, tmp_path):
    rows = run_results.load_test_rows(SetIdentity(SetKind.TEST_ROWS, "own"))
    passages = " ".join(rows.documents[:9])
    path = tmp_path / "long.tsv"
    path.write_text("query\tpassage\n" + "".join(f"{query}\t{query} {passages}\n" for query in rows.queries[:12]))
    app.query_params["sts"] = str(path)
    opened(app, "compare", beside="run:own", max_length="16")
    app.toggle(key="windows").set_value(True).run()
    measured(app)
    told = io.StringIO()
    with redirect_stdout(told):
        words_of = ["compare", str(place.model), "run:own", "--on", str(path), "--max-length", "16"]
        assert main([*words_of, "--windows", "--json"]) == 0
    found = json.loads(told.getvalue())
    assert found["A"]["in_windows"] == len(rows.queries) == 10
    assert any("A reads 10 long passages in overlapping windows" in one for one in words(app.caption))
    assert f"{found['verdict']['exported']:.2f}" in scores(app).values()
    app.selectbox(key="sts").set_value("Sample pairs").run()
    assert "windows" not in {box.key for box in app.toggle}, "pairs have no passages"
