"""What stands in a sentence in place of its words, where their effect on a vector is measured."""

PAD, MASK, MEAN = "[PAD]", "[MASK]", "mean embedding"
REFERENCES = (PAD, MASK, MEAN)
