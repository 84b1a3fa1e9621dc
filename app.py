"""Strata, opened with `make run` or `streamlit run app.py`."""

from explorer.ui import frame

frame.run()
