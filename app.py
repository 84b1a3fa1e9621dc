"""Strata, opened with `make run` or `streamlit run app.py`."""

from explorer.ui.frame import page_frame

page_frame.run()
