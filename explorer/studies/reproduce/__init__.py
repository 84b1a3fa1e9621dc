"""Every table and figure of the three papers as a plan, with the published scores beside the measured ones."""
