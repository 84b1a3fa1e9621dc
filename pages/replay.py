"""Runs & replay: the list of all runs, and the scores, vectors and layers of one at every step."""

from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.replay import replay_view

page_frame.enter()
sidebar_choice.encoder(sidebar_choice.chosen().source)  # shows what is wrong with it; a run is replayed without it
replay_view.show()
