"""Compare two models: the verdict first, then what changed, where, and how sure it is."""

import streamlit as st

from explorer.errors import StrataError
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_report import by_layer
from explorer.ui import messages
from explorer.ui.access import availability, sidebar_choice
from explorer.ui.compare import (
    dev_picked_readings,
    export,
    flipped_pairs,
    geometry_view,
    grids_view,
    item_changes,
    model_b,
    probe_changes,
    verdict_view,
)
from explorer.ui.compare.compared import both_shown
from explorer.ui.compare.compared import compared as scored_and_judged
from explorer.ui.frame import page_frame, second_encoder
from explorer.ui.widgets import score_options

page_frame.enter()
choice, other = sidebar_choice.chosen(), second_encoder.beside()
if availability.encoder(choice.source) is None:
    st.stop()
if other is None:
    model_b.ask()
    model_b.alone(choice)
    st.stop()
choices = choice, other
both = both_shown(choices)
if both is None:
    st.stop()
one_shown, other_shown = both
first = st.container()  # the verdict, above the controls that it depends on
try:
    comparison = Comparison(one_shown.scores, other_shown.scores, one_shown.reading, other_shown.reading)
except StrataError as error:
    messages.trouble(error)
    st.stop()
switches = st.container(horizontal=True)
with switches:
    ways = score_options.ways(one_shown.scores)
compared = scored_and_judged(both, choices, comparison, ways)
if compared is None:
    st.stop()
with switches:
    model_b.view_control(compared)
with first:
    changes = probe_changes.found(compared)  # until then, their progress
    drawn = verdict_view.show(compared, changes)
item_changes.show(compared)
grids_view.grids(compared, but=drawn)
verdict_view.how_measured(compared)
verdict_view.changed_cells(compared)
probe_changes.show(compared, changes, drawn=bool(drawn))
flipped_pairs.examples(compared)
pick = dev_picked_readings.picked(both, choices, ways[0]) if one_shown.graded else None
if pick is not None:
    dev_picked_readings.show(pick, both, *ways)
pooling = grids_view.lines(compared)
asked = geometry_view.asked(2)
geometry = geometry_view.found(both, pooling, choice.settings) if asked else None
if geometry is not None:
    geometry_view.show(geometry, by_layer(comparison, compared.differences, pooling), compared.stem)
flipped_pairs.show(one_shown.graded, comparison, choices)
export.show(compared, changes, pick, pooling, asked, geometry)
