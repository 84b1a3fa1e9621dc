"""Projections to two or three dimensions, with their trustworthiness."""
