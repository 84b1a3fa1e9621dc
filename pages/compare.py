"""Compare two models: the verdict first, then what changed, where, and how sure it is."""

import streamlit as st

from explorer.measuring.comparing.comparison import Comparison
from explorer.ui import blend
from explorer.ui.access import sidebar_choice
from explorer.ui.compare import changes_view, geometry_view, split_view, verdict_view
from explorer.ui.compare import compared as comparing
from explorer.ui.frame import page_frame
from explorer.ui.widgets import controls, cosine_meaning

page_frame.enter()
choice, other = sidebar_choice.chosen(), sidebar_choice.model_b()
if sidebar_choice.encoder(choice.source) is None:
    st.stop()
if other is None:
    comparing.ask()
    geometry_view.alone(choice)
    st.stop()
choices = choice, other
both = comparing.both_shown(choices)
if both is None:
    st.stop()
one_shown, other_shown = both
first = st.container()  # the verdict, above the controls that it depends on
comparison = Comparison(one_shown.scores, other_shown.scores, one_shown.reading, other_shown.reading)
switches = st.container(horizontal=True)
with switches:
    metric, aggregate = controls.metric_and_aggregate(one_shown.scores)
compared = comparing.compared(both, choices, comparison, metric, aggregate)
if compared is None:
    st.stop()
with switches:
    comparing.view_control(compared)
with first:
    changes = verdict_view.probe_changes(compared)  # until then, their progress
    drawn = verdict_view.show(compared, changes)
changes_view.changed_items(compared)
verdict_view.grids(compared, but=drawn)
verdict_view.how_measured(compared)
blend.of_two(choice, other)
verdict_view.changed_cells(compared)
compared = split_view.show(compared)
verdict_view.show_probes(compared, changes, drawn=bool(drawn))
changes_view.examples(compared)
pick = comparing.picked(both, choices, metric)
if pick is not None:
    verdict_view.show_picked(pick, both, metric, aggregate)
pooling = verdict_view.lines(compared)
asked = geometry_view.asked(2)
geometry = geometry_view.found(both, pooling, choice.settings) if asked else None
if geometry is not None:
    geometry_view.show(geometry, compared.layer_differences(pooling), compared.stem)
cosine_meaning.compared(choice, other)
changes_view.flipped_pairs(one_shown.graded, comparison, choices)
comparing.export(compared, changes, pick, pooling, asked, geometry)
