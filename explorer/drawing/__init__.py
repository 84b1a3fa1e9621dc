"""Figures from measurements, without Streamlit."""
