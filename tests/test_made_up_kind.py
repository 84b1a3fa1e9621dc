"""Test that a kind of set of one file is on Layers, in training, on Compare, in Results and in their commands."""

import shutil
from pathlib import Path

from tests import copies
from tests.live import ROOT

FILE = ROOT / "tests" / "evaluating" / "made_up_kind" / "two_negatives.py"
COUNT = 24
MEASURE, READING = "first of three", "layer & pooling"


def in_a_copy(folder: Path) -> None:
    """Score, train on, compare and evaluate by a file of the kind, in the copy of the program."""
    import csv
    import io
    import json
    import random
    from contextlib import redirect_stdout

    import numpy as np
    import pytest
    from sentence_transformers import SentenceTransformer
    from streamlit.testing.v1 import AppTest

    from explorer.__main__ import main
    from explorer.data import sources, uploads
    from explorer.measuring.comparing.pair_changes import BROKEN, FIXED
    from explorer.training.record import runs
    from explorer.ui.layers import EXPORT
    from explorer.ui.train import recipe_form
    from tests import trainings
    from tests.visits import opened, tab, words

    def said(*command):
        with redirect_stdout(io.StringIO()) as text:
            assert main([*command]) == 0
        return text.getvalue()

    def by_hand(folder):
        """1 for each test row whose second text is the nearest to the first, by sentence-transformers."""
        encoder = SentenceTransformer(str(folder), device="cpu")
        sides = (encoder.encode(list(column), normalize_embeddings=True) for column in zip(*rows["test"], strict=True))
        text, *others = (side.astype(np.float64) for side in sides)
        return (np.argmax([(text * side).sum(1) for side in others], axis=0) == 0).astype(float)

    place = trainings.furnish(folder / "place")
    drawn = random.Random(1)
    files, rows = {}, {}
    for use in ("dev", "test"):
        rows[use] = [trainings._phrases(drawn, 4) for _ in range(COUNT)]
        files[use] = folder / f"{use} rows.csv"
        files[use].write_text("\n".join(["text,same,other,another", *map(",".join, rows[use])]), encoding="utf-8")
    model, test = str(place.model), str(files["test"])

    # commands
    found = json.loads(said("score", model, "--on", test, "--json"))
    assert (found["item"], found["quadruplets"], found["metric"]) == ("quadruplet", COUNT, MEASURE)
    scores = {one["reading"]: one[MEASURE] for one in found["readings"]}
    wanted = by_hand(model)
    assert 0 < wanted.mean() < 1
    assert scores["mean of layer 2"] == pytest.approx(100 * wanted.mean(), abs=1e-3)
    assert f"{MEASURE} × 100 on 2 quadruplets" in said("score", model, "--on", "made-up quadruplets")
    (row,) = csv.DictReader(io.StringIO(said("evaluate", model, "--task", test, "--csv")))
    assert (row["measure"], float(row["mean"])) == (MEASURE, pytest.approx(100 * wanted.mean(), abs=0.005))

    # a run, judged by it
    recipe = trainings.recipe(place, "simcse", dev=str(files["dev"]), test=test, elsewhere=("made-up quadruplets",))
    run = trainings.train(runs.new(recipe, "four"))
    status, tuned = run.status(), by_hand(run.model)
    assert status.facts.measures == {"dev": MEASURE, "test": MEASURE}
    verdict = status.verdict.test
    for score, right in ((verdict.before, wanted), (verdict.after, tuned)):
        assert score == pytest.approx(100 * right.mean(), abs=1e-3)
    found = json.loads(said("compare", model, "run:four", "--on", test, "--json"))
    gained = tuned - wanted
    assert found["verdict"]["difference"] == pytest.approx(100 * gained.mean(), abs=1e-3)
    assert found["items"]["counts"] == {FIXED: (gained > 0).sum(), BROKEN: (gained < 0).sum()}

    # pages
    own = str(uploads.keep("four.csv", files["test"].read_bytes()))
    app = AppTest.from_file(str(folder / "app.py"), default_timeout=120)
    app.query_params.update(model=model, beside="run:four", sts=test)
    for page in ("layers", "compare", "train", "map", "search", "size"):
        opened(app, page, projection="PCA")
        shown = [one.value for one in (*app.exception, *app.error)]
        assert not shown, page
        if page == "layers":
            assert {"made-up quadruplets", sources.label(own)} <= {*app.selectbox(key="sts").options}
            cells = tab(app, EXPORT).dataframe[0].value.set_index(READING)
            assert float(cells.loc["mean of layer 2", MEASURE]) == pytest.approx(100 * wanted.mean(), abs=1e-3)
        if page == "compare":
            boxes = (app.success, app.error, app.info, app.markdown, app.caption)
            told = " ".join(one for box in boxes for one in words(box))
            assert f"{100 * wanted.mean():.2f} → {100 * tuned.mean():.2f}" in told
        if page == "train":
            for key in (recipe_form.DEV, recipe_form.TEST):
                assert {"made-up quadruplets", sources.label(own)} <= {*app.selectbox(key=key).options}
    opened(app, "results")
    assert not app.exception
    scores = app.dataframe[0].value[f"test rows.csv ({MEASURE})"].dropna()
    assert {*scores.round(3)} == {round(100 * of.mean(), 3) for of in (wanted, tuned)}, "base and run"


def test_it_is_measured_trained_on_compared_and_read_in_results(tmp_path):
    copies.planted(tmp_path, [])
    shutil.copy(FILE, tmp_path / "explorer" / "evaluating" / "kinds")
    copies.run_in(tmp_path, in_a_copy)
