"""The hyper-parameters of the papers as tables: what they state, what they leave open, and where Strata departs.

A line that is not indented names methods. Below it stand settings with their values, apart by semicolons, and after
three spaces their source.
Where a paper leaves a value open, its released code stands for it, and the source says so.
"""

from __future__ import annotations

from dataclasses import dataclass

STATED = """
distil
  target vectors   section 2: the mean squared error of vectors
  pooling mean   released code, whose teacher has it
  epochs 1; batch_size 64; decay linear; beta2 0.999; early_stop none   released code
  weight_decay 0.01; clip 1.0   released code: the default of its fit()
  dropout on   released code: fit() sets every part to training
distil-translations
  batch_size 64; learning_rate 2e-5; epochs 5; max_length 128; warmup 0.1   released code: make_multilingual.py
  decay linear; weight_decay 0.0; beta2 0.999; epsilon 1e-8; clip 1.0; early_stop none   released code: its trainer's
  dropout on   released code: the trained encoder is in training mode
  pooling mean   section 3, and released code
margin-mse distil-kl
  similarity dot product   sentence-transformers
distil-kl
  temperature 1.0   sentence-transformers
declutr
  epochs 1; learning_rate 5e-5; max_length 512; weight_decay 0.1; beta2 0.999; epsilon 1e-6; clip 1.0   released code
  temperature 0.05; anchors 2; positives 2; shortest_span 32; longest_span 512   released code
  batch_size 16   the paper; in the released code 4 on each of 4 GPUs
  warmup 0.1   released code: the cut fraction of its slanted triangle
  pooling mean   section 3.1
sg sg-opt bt bt-sg-opt
  epochs 1; batch_size 16; learning_rate 5e-5; beta2 0.9; evaluate_every 50; endurance 10; temperature 0.01   Table 8
  pull 0.1   Table 8
  early_stop drops; max_length 128; warmup 0.1; decay linear; epsilon 1e-6; clip 1.0   released code
  weight_decay 0.01   released code, whose groups of weights overrule the 0 of its command line
  pooling cls; view_pooling max   section 3.1
  projection on   section 3.2, note 4
  first_layer 0   section 3.1: k from 0 to l
  guide_dropout off   section 3.1: a copy that is fixed
sg sg-opt
  keep_duplicates on   released code: 17,256 rows of STS-B, of which 15,487 are distinct
sg-opt
  objective opt3   section 3.3
bt
  guided on   appendix A.2: identical to SG, so with a layer of the frozen copy
bt-sg-opt
  both_views off; original_views off   section 6
conisi-s conisi-o1 conisi-o2
  epochs 1; evaluate_every 125; temperature 0.05   section 4.3
  batch_size 64; learning_rate 3e-5; max_length 32; share 0.8   Table 3, BERT-base
  weight_decay 0.0; beta2 0.999; epsilon 1e-8   section 4.3: Adam
  pooling cls   section 3.1.4
conisi-o1
  replaced 0.8   section 3.2
simcse simcse-sup simcse-hard
  temperature 0.05   Table D.1
  pooling cls   section 6.3
  evaluate_every 125   appendix A
  max_length 32; warmup 0.0; decay linear; weight_decay 0.0; beta2 0.999; epsilon 1e-8; clip 1.0   released code
  early_stop none   released code
simcse diffcse
  keep_duplicates on   released code: every line of its file
simcse
  epochs 1   appendix A
  batch_size 64; learning_rate 3e-5   appendix A, BERT-base
simcse-sup simcse-hard
  epochs 3; batch_size 512   appendix A
  learning_rate 5e-5   appendix A, base models
  keep_head on   section 6.3
simcse-hard
  weight 0.0   equation 5, which has no weight
classify
  epochs 3; batch_size 32; pooling cls   section 4.1
  learning_rate 2e-5   section 4.1: one of four
  beta2 0.999; weight_decay 0.01; decay linear   appendix A.2
  classifier_dropout 0.1   appendix A.3
  max_length 128; warmup 0.1; epsilon 1e-6; clip 1.0   released code
setfit
  iterations 20; epochs 1; batch_size 16; learning_rate 1e-3; max_length 256   the paper, as its script's defaults
  pooling model default   section 3: that of a sentence transformer
  dropout on; warmup 0.1; decay linear; weight_decay 0.01; beta2 0.999; epsilon 1e-8; clip 1.0   released code
batch-hard
  triplets soft margin   the paper's best models
  margin 5.0; distance euclidean   sentence-transformers
  of_a_class 4   the paper: K
sbert-nli
  epochs 1; batch_size 16; learning_rate 2e-5; warmup 0.1; pooling mean   section 3.1
  decay linear; max_length 128; weight_decay 0.01; beta2 0.999; epsilon 1e-6; clip 1.0   released code
  evaluate_every 1000; early_stop none   released code
  uncorrected_adam off   section 3.1: Adam
tsdae
  batch_size 8; learning_rate 3e-5; weight_decay 0.0; beta2 0.999; epsilon 1e-8; clip 1.0   released code
  evaluate_every 1000; early_stop none   released code
  max_length 75   released code, for Wikipedia
  warmup 0.0; decay none   released code, for AskUbuntu: constantlr
  keep_duplicates on   released code: every line of its file
  pooling cls; deletion 0.6; tied on   section 3
layer-attention layer-attention-sup layer-attention-hard layer-attention-diffcse
  pooler attention of cls to mean, cls   Table 2 and equation 4
  activation none   equation 1, which has no activation
  normaliser literal   equation 1, with one index and without an exponential
  with_embeddings on; temperature 0.05; warmup 0.0; decay linear; weight_decay 0.0; beta2 0.999   released code
  epsilon 1e-8; clip 1.0; early_stop none   released code
  attention_width 0   released code: maps of the width of the encoder
  afterwards as trained   Tables 1 and 2
layer-attention
  batch_size 64; learning_rate 3e-5   Table 4, BERT-base
layer-attention-sup
  batch_size 256   Table 4
  learning_rate 1e-5   Table 4, BERT-base
layer-attention-hard
  batch_size 256   Table 4
  learning_rate 2e-5   Table 4, BERT-base
  epochs 3; max_length 64; evaluate_every 100   released code
  weight 0.0   equation 8, which has no weight
layer-attention-diffcse
  batch_size 64; learning_rate 3e-5   Table 4
diffcse layer-attention-diffcse
  mask_share 0.3; detection 0.005   released code, as appendix A
  generator distilbert-base-uncased   released code
diffcse
  batch_size 64; epochs 2; max_length 32; evaluate_every 125; temperature 0.05; warmup 0.0   released code
  decay linear; weight_decay 0.0; beta2 0.999; epsilon 1e-8; clip 1.0; early_stop none   released code
  learning_rate 7e-6   released code; layer attention's Table 4 repeats it
  pooling cls   section 3
  projector batch norm   appendix A and Table 6
mirror-bert
  epochs 1; batch_size 200; learning_rate 2e-5; max_length 50; decay none; clip 0.0; span 5   released code
  warmup 0.0   released code: a constant rate
  weight_decay 0.01   released code: torch's default, for every weight
  beta2 0.999; epsilon 1e-8   released code: torch's default
  keep_duplicates on   released code: 9,281 of its 10,000 sentences are distinct
  temperature 0.04   released code for sentences
  noise dropout   section 2
  dropped_heads 0.2; pooling mean   released code for BERT
consert
  epochs 10; batch_size 96; learning_rate 5e-7; max_length 64; warmup 0.1; decay linear   released code
  weight_decay 0.01; beta2 0.999; epsilon 1e-6; clip 1.0; evaluate_every 200; early_stop no new best   released code
  endurance 10; first_view feature cutoff; second_view shuffle; features_cut 0.2; tokens_cut 0.15   released code
  reads mean of the last two layers   released code
  keep_duplicates on   released code: 89,192 sentences of STS12 to STS16, STS-B and SICK-R
  uncorrected_adam off   the paper names no more than Adam
  temperature 0.1   section 3, and released code
  dropout off   released code for BERT-base
flow
  epochs 1; learning_rate 1e-3; max_length 64; weight_decay 0.01; beta2 0.999; epsilon 1e-6; clip 1.0   released code
  levels 3; depth 3; inner 32   released code
  batch_size 64   released code: 32 pairs
  decay none   released code: its decay is for the encoder's optimiser only
  warmup 0.0   released code: so is its warmup
  optimizer AdamW   section 4 names no more than Adam
  keep_duplicates on   released code: 269 steps of 32 pairs of STS-B
  reads mean of the last two layers   section 4
  dropout off   section 3: the encoder is fixed
whitening
  reads first-last mean   section 4: layers 1 and last
  dimensions 0   equation 9: as many as the vectors have
wk
  first_layer 4   section III, of BERT-base
  window 2   section III
  whole_window on   section III: the neighbours on either side
cosent
  scale 20.0   the source's code
angle
  scale 20.0   sentence-transformers
cosine-regression
  batch_size 16; learning_rate 2e-5; warmup 0.1   section 3.1
  decay linear   released code
  beta2 0.999; epsilon 1e-8   section 3.1: Adam
  pooling mean   section 3
ct
  batch_size 30   section 3: 2 positive and 14 negative pairs, here of 30 sentences
  negatives 7; pooling mean   section 3
  learning_rate 1e-5; rate_every 500; evaluate_every 500; max_length 75   released code
  clip 0.0   released code: none
  dropout off   released code: training=False
  keep_duplicates off   released code: sentences are drawn from a set
ct-in-batch
  learning_rate 5e-5; warmup 0.1; max_length 75; similarity cosine; pooling mean; dropout on   sentence-transformers
  temperature 0.05   sentence-transformers: a scale of 20
bsl
  batch_size 64; epochs 1; learning_rate 1e-4; max_length 64; warmup 0.1; decay linear   released code
  weight_decay 0.0; epsilon 1e-6; clip 1.0; momentum 0.999; predictors 3; predictor_width 10   released code
  target_dropout on; pooling mean   released code
cert
  batch_size 32; epochs 50; learning_rate 4e-5; max_length 64; weight_decay 1e-5; temperature 0.07   released code
  queue_size 6720; momentum 0.999   released code
  clip 0.0   released code: none
  pooling cls   released code: BERT's pooler of the first token
is-bert
  batch_size 32; epochs 1; learning_rate 2e-6; max_length 128; warmup 0.1; decay linear   released code
  weight_decay 0.01; beta2 0.999; epsilon 1e-7; clip 1.0; evaluate_every 1000; early_stop none   released code
  filters 256   released code
  keep_duplicates on   released code: every line of its file
  relu on   section 3, as reviews of the paper report
gist gist-hard
  temperature 0.01   sentence-transformers
  margin 0.0; margin_strategy absolute; contrast_anchors on; contrast_positives on   sentence-transformers
contrast contrast-hard
  temperature 0.05   sentence-transformers: a scale of 20
  symmetric off   section 4.4: one direction
"""

LEFT_OPEN = """
distil-translations
  teacher   the paper's is an English encoder that is not here
  evaluate_every   the released code has 5,000 steps, of many more sentences
margin-mse distil-kl
  teacher   those of the papers are rerankers, and read late interactions
  keep_layers; pooling; dropout   as distil
  query_prompt; document_prompt   the papers' encoders have no prompts
  batch_size; learning_rate; epochs; max_length; warmup; decay; weight_decay; beta2   as distil, for few rows
  epsilon; clip; evaluate_every; early_stop   as distil, for few rows
distil
  keep_layers   the released code keeps 4 of 12, at equal distances
  max_length   that of the teacher
  learning_rate   the released code has 1e-4, for many more sentences
  warmup   the released code has 1,000 steps, of many more sentences
  epsilon   the released code has 1e-6, for vectors that are not normalised
  evaluate_every   the released code has 5,000 steps, of many more sentences
  keep_duplicates   one of its two texts has them, the other has not
declutr
  evaluate_every   the paper evaluates on other tasks
  early_stop   the paper trains to the end
  uncorrected_adam   the corrections of Adam are not mentioned
bsl
  beta2   not stated, so torch's default
  evaluate_every   ten times in an epoch, which is how Strata looks at least
  early_stop   none is stated
cert
  evaluate_every; early_stop   the paper evaluates on other tasks
is-bert
  reads_padding   padding is not mentioned
  uncorrected_adam   the corrections of Adam are not mentioned
ct
  epochs   the released code counts updates: 10 rounds of 500
  early_stop   the released code trains to the end
ct-in-batch
  batch_size; epochs; weight_decay   the examples of sentence-transformers differ
  decay; beta2; epsilon; clip   as sentence-transformers' default
  evaluate_every; early_stop   not stated
  keep_duplicates   as in the released code of the paper
classify
  evaluate_every; early_stop   the paper evaluates after the last epoch
setfit
  evaluate_every; early_stop   the paper has no rows to choose a checkpoint by
batch-hard
  batch_size; learning_rate; epochs; max_length; warmup; decay; weight_decay; beta2   the paper trains on images
  epsilon; clip; evaluate_every; early_stop; pooling; dropout   the paper trains on images
conisi-s conisi-o1 conisi-o2
  warmup   as SimCSE, on whose trainer such methods are built
  decay; clip; early_stop   as SimCSE
  scoring   equation 8 needs one number of an input, but the text gives it d of them
  joint_norm   the paper does not say over which rows the batch norm goes
  keep_duplicates   as SimCSE, whose text it trains on
conisi-o1 conisi-o2
  chosen   a "certain proportion"
diffcse layer-attention-diffcse
  generator_dropout   neither paper says whether the generator has dropout
  count_padding   the paper sums over tokens, Strata takes their mean, so padding may count or not
layer-attention
  keep_duplicates; epochs; max_length; evaluate_every   as SimCSE without labels
layer-attention-sup
  epochs; max_length; evaluate_every   as the released code for triplets
layer-attention-diffcse
  keep_duplicates; epochs; max_length; evaluate_every   as DiffCSE
tsdae
  epochs   the paper counts 100,000 steps
mirror-bert
  evaluate_every; early_stop   the released code keeps the last model
flow
  evaluate_every; early_stop   the flow has no dev set
contrast
  hard_negatives   the paper has the other rows of a batch alone
  first_rank; last_rank; margin   the paper mines none; of hard negatives only
  guide; guide_margin; drop_closer; dropped   the paper mines none; of hard negatives only
contrast contrast-hard
  query_prompt; document_prompt   the paper's encoder has no prompts
  chunk   changes memory and time only
  orthogonal_mean; orthogonal_moment   the papers add no regularisation
  adaptive_layers   the papers train the last layer
  matryoshka   the paper trains the whole vector
  no_duplicates   how batches are drawn is not stated
  batch_size; learning_rate; epochs; max_length; warmup; decay; weight_decay; beta2   the paper trains another encoder
  epsilon; clip; evaluate_every; early_stop; pooling; dropout   the paper trains another encoder
gist gist-hard
  guide   the paper's is a larger encoder, which is not here
  query_prompt; document_prompt; chunk; matryoshka; no_duplicates   as contrastive learning
  orthogonal_mean; orthogonal_moment; adaptive_layers   as contrastive learning
  batch_size; learning_rate; epochs; max_length; warmup; decay; weight_decay; beta2   as contrastive learning
  epsilon; clip; evaluate_every; early_stop; pooling; dropout   as contrastive learning
cosent
  batch_size; learning_rate; warmup; decay; beta2; epsilon; pooling   no encoder of its own
angle
  batch_size; learning_rate; warmup; decay; beta2; epsilon; pooling   as CoSENT, with which it is compared
cosent angle cosine-regression
  epochs   depends on the number of scored pairs
  max_length   the papers do not truncate
  weight_decay; clip; evaluate_every; early_stop   not in the papers
"""

# where a default is not what is stated above, and why
DEPARTURES = """
margin-mse distil-kl
  similarity   scores of a model are cosines, and encoders that do not normalise have dot products of any size
sg sg-opt bt bt-sg-opt conisi-s conisi-o1 conisi-o2 simcse simcse-sup simcse-hard diffcse mirror-bert
  pooling   the papers start from BERT; an encoder that is already tuned for similarity keeps its own pooling
classify ct ct-in-batch bsl cert tsdae sbert-nli declutr distil-translations
  pooling   the papers start from BERT; an encoder that is already tuned for similarity keeps its own pooling
bt
  guided   as the released code: both sides by the trained copy, which is what the paper's score is of
layer-attention layer-attention-sup layer-attention-hard layer-attention-diffcse
  activation   as the released code, whose scores the paper gives
  normaliser   as the released code; the quotient of equation 1 divides by sums that can be 0
flow
  reads   as the released code, whose "last two layers" are the first and the last
wk
  whole_window   as the released code, which gives the paper's scores
is-bert
  relu   as the released code, which has no activation
cosent
  scale   5 scores higher on the dev set of STS-B: 89.3 against 87.4
angle
  scale   5 scores higher on the dev set of STS-B in 200 updates: 89.0 against 87.6
batch-hard
  margin; distance   scores are of cosines, and a margin of 5 is farther than any two vectors of unit length
setfit
  learning_rate   as the released code, which does not use the 0.001 of its command line and of the paper
cosine-regression
  batch_size   the batch of the other methods on scored pairs, so that they can be compared
  pooling   an encoder that is already tuned for similarity keeps its own pooling
"""

# settings in which the released code is not what the paper states, as the form's "released code" sets them
RELEASED = """
is-bert
  relu off   its convolutions have no activation
  reads_padding on   the convolutions come before the mask
  uncorrected_adam on   correct_bias=False
sg sg-opt bt bt-sg-opt
  view_pooling mean   the default of its command line
  guide_dropout on   fit() sets every part to training
bt
  guided off   both sides are its trained copy's
bt-sg-opt
  original_views on   of two texts, only the first is encoded by the frozen copy
layer-attention layer-attention-sup layer-attention-hard layer-attention-diffcse
  activation rrelu   of queries, keys and values
  normaliser softmax   over the keys
layer-attention-hard
  weight 1.0   the default of its command line
diffcse layer-attention-diffcse
  generator_dropout on   every part is set to training
  count_padding on   the mean goes over all places
consert
  uncorrected_adam on   its AdamW is told not to correct
declutr
  uncorrected_adam on   correct_bias is false in its configuration
flow
  reads first-last mean   its loop over the last two layers starts at layer -0, the first
  dropout on   is_training
  optimizer as released   BERT's AdamWeightDecayOptimizer without its exclusions
sbert-nli
  uncorrected_adam on   correct_bias=False
setfit
  learning_rate 2e-5   the default of its trainer, and of sentence-transformers before
tsdae
  warmup 0.0008   100 of 125,000 steps, for Wikipedia
  decay linear   for Wikipedia
wk
  whole_window off   a layer with too few layers below uses none of them
"""


# values for encoders other than BERT-base, as `family.setting`
BY_FAMILY = """
conisi-s conisi-o1 conisi-o2
  RoBERTa-base.share 0.1; BERT-large.share 0.1   section 4.1
  BERT-large.max_length 28   Table 3
simcse
  BERT-large.learning_rate 1e-5; RoBERTa-base.batch_size 512; RoBERTa-base.learning_rate 1e-5   appendix A
  RoBERTa-large.batch_size 512; RoBERTa-large.learning_rate 3e-5   appendix A
simcse-sup simcse-hard
  BERT-large.learning_rate 1e-5; RoBERTa-large.learning_rate 1e-5   appendix A
layer-attention
  RoBERTa-base.batch_size 256; RoBERTa-base.learning_rate 1e-5; RoBERTa-large.batch_size 256   Table 4
  RoBERTa-large.learning_rate 3e-5   Table 4
layer-attention-sup layer-attention-hard
  RoBERTa-base.learning_rate 3e-5; RoBERTa-large.learning_rate 5e-5   Table 4
diffcse layer-attention-diffcse
  RoBERTa-base.generator distilroberta-base; RoBERTa-large.generator distilroberta-base   released code
mirror-bert
  RoBERTa-base.pooling cls; RoBERTa-base.dropped_heads 0.05   released code
  RoBERTa-large.pooling cls   released code, as for the base model
consert
  BERT-large.dropout on; BERT-large.first_view none; BERT-large.epochs 25   released script
"""


@dataclass(frozen=True)
class Line:
    """A setting of one method: what is stated of it, as typed, and where; or, in a table of reasons, why."""

    method: str
    setting: str
    value: str
    source: str


def lines(table: str) -> list[Line]:
    """A table with values, one line for each method and setting."""
    found = []
    for method, item, source in _rows(table):
        setting, _, value = item.partition(" ")
        found.append(Line(method, setting, value, source))
    return found


def reasons(table: str) -> dict[tuple[str, str], str]:
    """A table of reasons, by method and setting."""
    return {(method, setting): reason for method, setting, reason in _rows(table)}


def _rows(table: str) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    methods: list[str] = []
    for line in table.strip().splitlines():
        if line.startswith(" "):
            items, _, source = line.strip().partition("   ")
            found += [(method, item, source) for method in methods for item in items.split("; ")]
        else:
            methods = line.split()
    return found
