"""Studies: several trainings and evaluations whose results are compared in one table."""
