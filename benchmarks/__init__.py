"""Benchmarks of Strata against comparable libraries and the machine's limits; `make bench` runs them."""
