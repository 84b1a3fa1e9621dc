"""Test the prompt of the sidebar: what it offers, and that pages show the scores of the models after it."""

from explorer.data import sample
from explorer.data.graded import sets
from explorer.encoding.load import chosen_prompts
from explorer.encoding.locate.model_names import find
from explorer.evaluating import kinds
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import sidebar
from tests.encoding.load.test_chosen_prompts import STS, TABLE, saved
from tests.visits import measured, opened, words


def scores(folder, prompt):
    found = chosen_prompts.after(find(str(folder)), prompt)
    return finish(kinds.judged(sample.pairs()).measured(found, Settings()))


def test_the_sidebar_offers_the_names_of_model_a_and_the_page_shows_its_scores_after_the_prompt(app, tmp_path):
    folder = str(saved(tmp_path))
    app = opened(app, "layers", model=folder, sts=sets.SAMPLE.written)
    menu = app.selectbox(key="prompt")
    assert menu.options == [chosen_prompts.OWN, sidebar.NO_PROMPT, *sorted(TABLE)]
    menu.set_value("sts")
    measured(app)
    choice = app.session_state["_choice"]
    assert choice == sidebar_choice.Choice(folder, sets.SAMPLE, "model default", Settings(), "sts")
    assert f"saved, after the prompt {STS!r}" in words(app.caption)
    one, other = scores(folder, "sts"), scores(folder, None)
    assert (one.own != other.own).all(), "the premise"
    shown = sidebar_choice.scored(choice)
    assert (shown.scores.own == one.own).all()
    assert choice.found().prompt == STS


def test_a_name_that_a_model_lacks_is_an_error_on_the_page(app, tmp_path):
    app = opened(app, "layers", model=str(saved(tmp_path)), sts=sets.SAMPLE.written, prompt="sts_query")
    assert any("has no prompt named 'sts_query'. Its table has:" in text for text in words(app.error))
