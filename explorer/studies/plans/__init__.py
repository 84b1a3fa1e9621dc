"""Plans: many trainings from one definition, worked off one after the other, and their table."""
