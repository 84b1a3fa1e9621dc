"""What did training do, step by step?"""

import streamlit as st

from explorer.ui import controls, frame, reach, replay_view

frame.enter()
st.title("Replay")
reach.encoder(controls.chosen().source)  # a run is replayed without it, and yet what is wrong with it is told
replay_view.show()
