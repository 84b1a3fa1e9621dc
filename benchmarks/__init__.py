"""How fast is Strata, beside its peers and beside what the machine can do? `make bench` prints it."""
