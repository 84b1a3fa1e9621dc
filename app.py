"""Strata, opened with `make run` or `streamlit run app.py`: the server asks for `app`, each visit runs its page."""

import streamlit as st

from explorer.ui.frame import lifespan, page_frame, same_origin

if page_frame.in_a_visit():
    page_frame.run()
else:
    app = st.App(__file__, lifespan=lifespan.until_the_server_ends, middleware=same_origin.MIDDLEWARE)
