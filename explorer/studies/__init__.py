"""Studies: plans of many runs, fine-tuning and large corpora, on top of training and evaluating."""
