"""Numbers to pictures; knows no Streamlit."""
