"""Compare two models: the verdict with its figure, then how sure it is, where it shows, and every number."""

import streamlit as st

from explorer.measuring.comparing.comparison import Comparison
from explorer.ui import blend
from explorer.ui.access import sidebar_choice
from explorer.ui.compare import changes_view, geometry_view, split_view, verdict_view
from explorer.ui.compare import compared as comparing
from explorer.ui.frame import page_frame
from explorer.ui.widgets import controls, cosine_meaning, first_screen, pair_words

OVERVIEW, LAYERS, WORDS = "Overview", "Layers", "Words and probes"
PAIRS, GEOMETRY, EXPORT = "Pairs", "Geometry", "Export"

page_frame.enter()
choice, other = sidebar_choice.chosen(), sidebar_choice.model_b()
if sidebar_choice.encoder(choice.source) is None:
    st.stop()
answer, figure, row = first_screen.answer(), first_screen.figure(), first_screen.controls_row()
if other is None:
    with answer:
        comparing.ask()
    with figure:
        verdict_view.of_a_alone(choice)
    geometry_view.alone(choice)
    st.stop()
choices = choice, other
with answer:
    both = comparing.both_shown(choices)
if both is None:
    st.stop()
one_shown, other_shown = both
comparison = Comparison(one_shown.scores, other_shown.scores, one_shown.reading, other_shown.reading)
with row:
    metric, aggregate = controls.metric_and_aggregate(one_shown.scores)
with answer:
    compared = comparing.compared(both, choices, comparison, metric, aggregate)
if compared is None:
    st.stop()
with row:
    comparing.view_control(compared)
with answer:
    changes = verdict_view.probe_changes(compared)  # until then, their progress
    verdict_view.answer(compared, changes)
with figure:
    has_grids = verdict_view.figure(compared, changes)
tab = first_screen.tabs([OVERVIEW, LAYERS, WORDS, PAIRS, GEOMETRY, EXPORT])
if tab == OVERVIEW:
    verdict_view.overview(compared, changes)
    blend.of_two(choice, other)
    cosine_meaning.compared(choice, other)
elif tab == LAYERS:
    if not has_grids:
        verdict_view.grids(compared)
    verdict_view.changed_cells(compared)
    verdict_view.lines(compared)
    pick = comparing.picked(both, choices, metric)
    if pick is not None:
        verdict_view.show_picked(pick, both, metric, aggregate)
elif tab == WORDS:
    changes_view.chosen_pair(compared, changes)
    verdict_view.about_probes(compared, changes)
elif tab == PAIRS:
    changes_view.changed_items(compared)
    changes_view.examples(compared)
    changes_view.flipped_pairs(one_shown.graded, comparison)
    left, right = st.columns(2, gap="medium")
    with left:
        changes_view.cosines_by_gold(compared)
    with right:
        split_view.show(compared)
    split_view.table(compared)
elif tab == GEOMETRY:
    geometry_view.of_two(both, compared, choice.settings, compared.stem)
else:
    comparing.export(compared, changes, split_view.chosen(compared))
pair_words.words_over(pair_words.COMPARE, verdict_view.readers(compared))
