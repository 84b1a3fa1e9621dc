"""The pair microscope, which several pages show: two sentences, token by token."""
