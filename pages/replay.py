"""What did training do, step by step?"""

import streamlit as st

from explorer.ui import frame, replay_view

frame.enter()
st.title("Replay")
replay_view.show()
