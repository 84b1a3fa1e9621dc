"""Strata, opened with `make run` or `streamlit run app.py`: the server asks for `app`, each visit runs its page."""

import streamlit as st

from explorer import fair_share
from explorer.ui.frame import page_frame, server

if page_frame.in_a_visit():
    page_frame.run()
else:
    fair_share.one_arena()  # before pages and jobs have threads
    app = st.App(__file__, lifespan=server.until_the_server_ends, middleware=server.MIDDLEWARE)
