"""Strata, opened with `make run` or `streamlit run app.py`: the server asks for `app`, each visit runs its page."""

import streamlit as st

from explorer.ui.frame import page_frame, server

if page_frame.in_a_visit():
    page_frame.run()
else:
    app = st.App(__file__, lifespan=server.until_the_server_ends, middleware=server.MIDDLEWARE)
