"""Tables of papers, repeated: a plan for each, and its measured scores beside the published ones."""
