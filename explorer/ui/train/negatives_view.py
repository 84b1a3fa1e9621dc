"""Show the hard negatives of a training before it uses them, and drop those that are right answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import progress
from explorer.data.text_sets import digest_of
from explorer.drawing.scores import mined_negatives
from explorer.knobs import Knob, Values
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.runs import training_form, training_queue
from explorer.ui.train import knob_form
from explorer.ui.widgets import controls, downloads, job_buttons

if TYPE_CHECKING:
    from explorer.training.loop.mining import Mined
    from explorer.training.recipe import Recipe

TAB = "Hard negatives"
OPEN = 3  # settings that are not folded
MOST_AT_ONCE = 2000  # rows whose negatives are mined without being asked
MOST_SHOWN = 1000  # lines of the table
LINES = 12  # of the table that are seen at once
TEXT, NUMBER = 155, 75  # pixels of a column
OPINION, PERHAPS_RIGHT, FARTHER = "By the guide", "perhaps right", "farther"
_MINED = "_hard negatives of the form"  # the key of their job
DROP, DROPPED = "Drop", "dropped"  # a column, and a setting
NONE_YET = (
    "The negatives of a row are the other rows of its batch. Set *Hard negatives* to 1 or more to add texts that the "
    "base finds near its first text without being the second; they are shown here before they are used."
)
UNSEEN = "{} per row {} mined before training: see and judge {} under *Hard negatives*."
SAME_GUIDE = (
    "The guide is the base itself, whose margin has left out already what is closer. For a second opinion, name "
    "another encoder on this disk under *Guide*."
)
FIRST_SHOWN = "The {:,} that the guide finds closest, compared with the positive; the file has all {:,}."
DROP_MARKED, RESTORE = "Drop the marked ones", "Restore the {:,} dropped"
DROP_HELP = (
    "The next nearest text takes the place of each. The recipe lists what is dropped, so that the run can be repeated."
)
COLUMNS = {  # of the table: what each shows of a line of `as_rows`, and its help
    "rank": ("Rank", "Among all second texts, from the nearest to the anchor. None of one that was drawn at random."),
    "cosine": ("Cosine", "Of the negative to its anchor, under the base."),
    "cosine_of_positive": ("… of the positive", "Of the row's own second text to its first, under the base."),
    "guide": ("Guide's cosine", "Cosine of the negative to its anchor, under the guide."),
    "guide_of_positive": ("… of the positive", "Of the row's own second text to its first, under the guide."),
}


def mines() -> bool:
    """Whether the method of the form can mine hard negatives."""
    from explorer.methods import mining_knobs

    # of a link that was just opened, the field is not drawn yet
    name = st.session_state.get(training_form.METHOD) or st.query_params.get(training_form.METHOD, "")
    card = training_form.methods().get(name)
    return card is not None and bool(mining_knobs(card.kind))


def fields(card: training_form.MethodCard) -> Values | None:
    """The settings of mining that differ from the default; None if one is not allowed."""
    knobs = of_mining(card)
    few = knob_form.fields(card, knobs[:OPEN])
    with st.expander("More settings", icon=":material/tune:"):
        rest = knob_form.fields(card, knobs[OPEN:])
    return None if few is None or rest is None else {**few, **rest}


def of_mining(card: training_form.MethodCard) -> list[Knob]:
    """The settings of the method that say how hard negatives are mined."""
    from explorer.methods import mining_knobs

    return [card.knobs[name] for name in mining_knobs(card.kind)]


def view(recipe: Recipe | None, pane: DeltaGenerator, answer: DeltaGenerator, *, opened: bool) -> None:
    """In the open tab what was mined, once it is; else, in the answer of the page, how many may be right, if known."""
    if recipe is None:
        return
    from explorer.studies import mined_rows

    with pane, messages.errors_shown():
        wanted = mined_rows.wanted(recipe)
        if wanted is None:
            st.caption(NONE_YET)
            return
        if recipe.stages:
            st.caption(mined_rows.NO_STAGE)
            return
        key = _key(recipe)
        if opened:
            mined = _mined(recipe, key)
            if mined is not None:
                _show(recipe, mined, key)
            return
        known: Mined | None = jobs.known(key)
        if known is not None:
            answer.caption(messages.plain(mined_rows.summary(known)))
            return
        one = wanted.negatives == 1
        number = f"{wanted.negatives} hard negative{'s' * (not one)}"
        answer.caption(UNSEEN.format(number, "is" if one else "are", "it" if one else "them"))


def _key(recipe: Recipe) -> str:
    return f"mined {digest_of((training_queue.trial_key(recipe),))}"  # short: it names an element of the page, too


def _mined(recipe: Recipe, key: str) -> Mined | None:
    """The hard negatives; None, with progress and Stop or a button that begins, until they are mined."""

    def mine() -> progress.Work[Mined]:
        from explorer.studies.mined_rows import before_training

        return (yield from before_training(recipe))

    before = jobs.find(st.session_state.get(_MINED, ""))
    if before is not None and before.live and before.key != key:
        before.stop()  # of a form that has changed since
    st.session_state[_MINED] = key
    text = training_form.text_defaults(recipe.data, recipe.method, recipe.columns)
    if jobs.known(key) is None and text is not None and text.rows > MOST_AT_ONCE:
        label = f"Mine the hard negatives of {text.rows:,} rows"
        start = partial(jobs.follow, key, "Hard negatives", mine)
        if job_buttons.button(st.container(), label, key, start, key="mine", icon=":material/search:") is None:
            return None
    return jobs.result(key, "Hard negatives", mine)


def _show(recipe: Recipe, mined: Mined, key: str) -> None:
    """The answer, the figure, and the lines, of which some can be dropped."""
    from explorer.studies import mined_rows

    st.markdown(f"**{messages.plain(mined_rows.summary(mined))}**")
    if not mined_rows.is_second_opinion(mined):
        st.caption(SAME_GUIDE)
    count, per_row = mined.closer.size, mined.mining.negatives
    order = mined_rows.suspicious_first(mined)[:MOST_SHOWN]
    shown = mined_rows.as_rows(mined, order)
    few = mined_rows.as_rows(mined) if count <= mined_negatives.MOST_TEXTS else []
    downloads.draw(
        mined_negatives.mined_negatives(
            mined.of_positives.repeat(per_row),
            mined.cosines.ravel(),
            mined.closer.ravel(),
            ~mined.is_mined.ravel(),
            [[str(line[name]) for name in ("anchor", "positive", "negative")] for line in few],
        ),
        config=downloads.config("hard-negatives"),
        key="figure of hard negatives",
        alt=messages.plain(mined_rows.summary(mined)),
    )
    if count > MOST_SHOWN:
        st.caption(FIRST_SHOWN.format(MOST_SHOWN, count))
    _table(shown, key)
    with st.container(horizontal=True, vertical_alignment="center"):
        _drop_buttons(recipe, mined, [str(line["id"]) for line in shown], key)
        stem = downloads.file_name(f"hard-negatives-of-{mined.corpus.name}")
        csv = partial(mined_rows.as_csv, mined)
        downloads.file("Triplets (.csv)", csv, f"{stem}.csv", "text/csv", icon=":material/table:", key="negatives file")
    if texts := mined_rows.dropped_texts(mined):
        with st.expander(f"Dropped: {len(texts):,}", icon=":material/block:"):
            st.dataframe([{"Anchor": anchor, "Dropped": text} for anchor, text in texts], hide_index=True)


def _table(lines: Sequence[dict[str, Any]], key: str) -> None:
    shown = [
        {
            DROP: False,
            "Anchor": line["anchor"],
            "Negative": line["negative"],
            "Positive": line["positive"],
            OPINION: PERHAPS_RIGHT if line["is_closer"] else FARTHER,
            **{name: line[name] for name in COLUMNS},
        }
        for line in lines
    ]
    columns = {name: st.column_config.TextColumn(width=TEXT) for name in ("Anchor", "Negative", "Positive")}
    about = "Whether the guide finds it closer to the anchor than the positive."
    columns[OPINION] = st.column_config.TextColumn(width=NUMBER + 30, help=about)
    for name, (title, help) in COLUMNS.items():
        digits = None if name == "rank" else "%.2f"
        columns[name] = st.column_config.NumberColumn(title, width=NUMBER, help=help, format=digits)
    check = st.column_config.CheckboxColumn(width=NUMBER, pinned=True, help=DROP_HELP)
    st.data_editor(
        shown,
        key=_editor(key),
        hide_index=True,
        height=38 * min(LINES, len(shown) + 1),
        disabled=[name for name in shown[0] if name != DROP],
        column_config={DROP: check, **columns},
        placeholder=messages.MISSING,
    )


def _editor(key: str) -> str:
    return f"lines of {key}"


def _drop_buttons(recipe: Recipe, mined: Mined, ids: Sequence[str], key: str) -> None:
    from explorer.methods import written_id

    field = training_form.knob_key(recipe.method, DROPPED)
    dropped = set(map(written_id, mined.mining.dropped))

    def drop() -> None:
        edited = st.session_state[_editor(key)]["edited_rows"]
        marked = [ids[int(place)] for place, cells in edited.items() if cells.get(DROP)]
        st.session_state[field] = " ".join(sorted({*dropped, *marked}))

    controls.callback_button(DROP_MARKED, drop, key="drop marked", icon=":material/block:", help=DROP_HELP)
    if dropped:
        restore = partial(st.session_state.update, {field: ""})
        controls.callback_button(RESTORE.format(len(dropped)), restore, key="restore dropped", icon=":material/undo:")
