"""Post-processing: whitening, BERT-flow and SBERT-WK, which change vectors and leave the encoder as it is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.data.text_sets import SENTENCES
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.flow_map import Flow, FlowMap
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST, LAST_TWO, POOLINGS, parse, titled
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.knobs import Values
from explorer.methods import ENCODERS, MODEL_DEFAULT, Fitting, Method, Schedule, cited, knob
from explorer.optimizers import Group, adamw
from explorer.progress import Work, finish

FLAT = 1e-10  # of the largest variance: directions with less hold only rounding errors
OPTIMIZERS = ("AdamW", "as released")
FIRST = 64  # sentences that initialise the scalings of a flow: the paper's 32 pairs


def reads_knob(paper: str | None = None) -> str:
    """The setting of the layer & pooling to map; `paper` is the paper's value, if it is not the default."""
    return knob(
        FIRST_LAST,
        front=True,
        paper=paper,
        help="The layer & pooling to map: 'cls', 'mean', 'max', 'last', 'weighted mean' or 'sqrt mean' of the last "
        "layer; 'first-last mean' (layers 1 and last) or 'first-last mean, from layer 0'; 'mean of the last two "
        "layers'; a pooling of one layer, of two or of a range, such as 'mean of layer 2' or 'last of layers 4-6'; or "
        "'model default'.",
    )


class MappedVectors(Fitting):
    """A map of the vectors of one layer & pooling; the encoder is not trained."""

    family = "post-processing"
    rows = SENTENCES
    unused = ENCODERS

    reads: str = reads_knob()

    @classmethod
    def needs_layers(cls) -> bool:
        """A map of the vectors alone needs none, unless it is set to read some."""
        return False

    def build(self) -> None:
        """Find the layer & pooling, and freeze the encoder."""
        self.base.requires_grad_(False)
        self.mapped_head = head_of(self.base, self.reads)

    def constant(self) -> tuple[nn.Module, ...]:
        """The encoder."""
        return (self.base,)

    def base_head(self) -> Head:
        """The layer & pooling before the map."""
        return self.mapped_head

    def unmapped(self, sentences: Sequence[str]) -> Work[Tensor]:
        """Vectors (sentence, width) before the map, in float32, since the maps amplify rounding errors."""
        return self.vectors(sentences, self.mapped_head)

    def unmapped_width(self) -> int:
        """The width of these vectors."""
        return finish(self.unmapped(["one"])).shape[-1]


def head_of(base: Tunable, reading: str) -> Head:
    """The layer & pooling with this name, for this encoder."""
    if reading == MODEL_DEFAULT:
        # the map takes the vector before it is normalised; the prompt belongs to the encoder
        return replace(base.encoder.default_head, normalize=False, prompt="", remark="")
    if reading == FIRST_LAST and not base.layers:
        raise BadChoice(
            f"reads cannot be '{reading}': '{base.encoder.name}' has no layers. Set reads to '{MODEL_DEFAULT}'."
        )
    if reading in POOLINGS or reading == FIRST_LAST:
        return Head((reading,))
    found = parse(titled(reading, base.layers), base.layers)
    # one name for one thing
    if found.row.layers == (base.layers,):
        return Head((found.pooling,))
    first_last = (found.pooling, found.row.layers) == ("mean", (1, base.layers))
    return Head((FIRST_LAST if first_last else found.title,))


class Whitening(MappedVectors):
    """Whitening: transform vectors so that their covariance is the identity; the encoder is not changed.

    Su, Cao, Liu and Ou 2021, equations 3 to 9: y = (x - mean) U Lambda^(-1/2), with the covariance of all training
    sentences. The paper's rows with fewer dimensions keep 256 for BERT-base and 384 for BERT-large.
    """

    # a closed form; exported as a linear map and normalisation, which every library supports
    name = "whitening"
    when_to_use = "To map [CLS] or a weak layer in seconds, without training; a tuned layer gained nothing."
    paper = cited("su-etal-2021-whitening")
    schedule = Schedule()

    dimensions: int = knob(
        0, low=0, front=True, help="Dimensions to keep, those with the most variance first; 0: all with any variance."
    )

    matrix: Tensor
    shift: Tensor

    def build(self) -> None:
        """Allocate the map."""
        super().build()
        width = self.unmapped_width()
        if self.dimensions > width:
            raise BadChoice(
                f"dimensions cannot be {self.dimensions}: the vectors have {width}. Choose 1 to {width}, or 0 for all."
            )
        self.register_buffer("matrix", torch.zeros(width, width))
        self.register_buffer("shift", torch.zeros(width))

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Compute mean and covariance of all sentences, in float64."""
        vectors = (yield from self.unmapped(sentences)).double()
        mean = vectors.mean(0)
        directions, variances = principal(vectors - mean)
        # layer norm puts vectors in a plane: one direction holds only rounding errors
        reached = int((variances > FLAT * variances[0]).sum())
        kept = self.dimensions or reached
        if not 0 < kept <= reached:
            raise BadChoice(
                f"The {len(vectors):,} sentences vary in {reached} directions only, but {max(kept, 1)} are to be "
                f"kept. Set dimensions to {reached} or less, or use more sentences that differ."
            )
        matrix = (directions[:, :kept] / variances[:kept].sqrt()).T
        self.matrix.resize_(matrix.shape).copy_(matrix)
        self.shift.resize_(kept).copy_(-(matrix @ mean))

    def head(self) -> Head:
        """The layer & pooling, followed by the map and normalisation."""
        base = self.mapped_head
        return Head(base.poolings, (*base.dense, Dense(self.matrix, self.shift, "Identity")), True, layers=base.layers)


def principal(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Directions (width, direction) and variances of centred vectors (sentence, width), largest variance first."""
    covariance = vectors.T @ vectors / (len(vectors) - 1)
    variances, directions = torch.linalg.eigh(covariance)
    return directions.flip(1), variances.flip(0).clamp_min(0)


class BertFlow(MappedVectors):
    """Flow (BERT-flow): map vectors to a normal distribution; the encoder is not changed.

    Li and others 2020 (BERT-flow), equation 2, in the shape of the released code: three levels of three steps, each a
    scaling initialised to mean 0 and variance 1 on the first batch, a reversal, and an additive coupling of width 32.
    The code's "average of the last two layers" is the average of the first and the last. Its optimiser is a setting of
    its own.
    """

    # minimises the negative log-likelihood under a normal distribution, in bits per dimension
    name = "flow"
    when_to_use = "To map [CLS] or a weak layer and leave the encoder as it is; a tuned layer gained nothing."
    paper = cited("li-etal-2020-sentence")
    # the paper's batch of 32 pairs is 64 sentences; its learning rate is unchanged
    schedule = Schedule(batch_size=64, learning_rate=1e-3, decay="none", max_length=64, weight_decay=0.01, epsilon=1e-6)

    released: ClassVar[Values] = {"dropout": True, "reads": FIRST_LAST, "optimizer": "as released"}

    reads: str = reads_knob(LAST_TWO)

    levels: int = knob(
        3, low=1, high=8, help="Number of levels; after each but the last, half of the dimensions is final (paper: 3)."
    )
    depth: int = knob(3, low=1, high=32, help="Steps per level (paper: 3).")
    inner: int = knob(32, low=1, high=4096, help="Width of the networks in the couplings (paper: 32).")
    optimizer: str = knob(
        "AdamW",
        choices=OPTIMIZERS,
        help="AdamW as for the other methods; or as released: Adam without bias correction, whose early steps are up "
        "to 6.6 times as large, with weight decay of all variables, and the loss of first and second sentences "
        "summed.",
    )
    dropout: bool = knob(False, help="Use the encoder's dropout while the flow is trained.")

    def build(self) -> None:
        """Build the flow, as wide as the vectors."""
        super().build()
        width = self.unmapped_width()
        if width < 2**self.levels:
            raise BadChoice(f"levels cannot be {self.levels}: a width of {width} cannot be halved that often.")
        self.map = FlowMap(Flow(width, self.levels, self.depth, self.inner))

    @property
    def _as_released(self) -> bool:
        return self.optimizer == "as released"

    def make_optimizer(self, groups: list[Group], schedule: Schedule) -> torch.optim.Optimizer:
        """AdamW; as released without bias correction, and with weight decay of every weight."""
        if not self._as_released:
            return super().make_optimizer(groups, schedule)
        decayed = [{**group, "weight_decay": schedule.weight_decay} for group in groups]
        return adamw(decayed, schedule.learning_rate, schedule.beta2, schedule.epsilon, corrected=False)

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Initialise the scalings with sentences from all over the text, the same in every process."""
        vectors = yield from self.unmapped(sentences[:: max(1, len(sentences) // FIRST)][:FIRST])
        with torch.no_grad():
            self.map.flow(vectors.to(self.base.model.device), beginning=True)

    def loss(self, *columns: list[str]) -> Tensor:
        """The negative log-likelihood in bits per dimension."""
        (sentences,) = columns
        with torch.no_grad():
            vectors = self.encode(sentences, self.mapped_head).float()
        with torch.autocast(vectors.device.type, enabled=False):
            loss: Tensor = self.map.flow.surprise(self.map(vectors))
        # half of the rows are first, half are second sentences: the sum of two means is twice the mean of all
        return 2 * loss if self._as_released else loss

    def head(self) -> Head:
        """The layer & pooling, followed by the flow."""
        base = self.mapped_head
        return Head(base.poolings, (*base.dense, self.map), layers=base.layers)


class SBERTWK(Method):
    """WK (SBERT-WK): weight layers word by word, and words by how much they change across layers.

    Wang and Kuo 2020 (SBERT-WK), equations 5 to 12: a word's layers are weighted by how well they align with
    neighbouring layers and by what they add to them. The paper uses the layers from 4 of BERT-base's 12. No training.
    """

    # a pooling over layers: no weights are trained, and the text is not used
    name = "wk"
    family = "post-processing"
    when_to_use = "To repeat the paper: on this tuned encoder it lost points."
    paper = cited("wang-kuo-2020-sbert")
    rows = SENTENCES
    schedule = Schedule()
    released: ClassVar[Values] = {"whole_window": False}

    first_layer: int = knob(
        4, low=0, high=1000, front=True, help="The lowest layer used (paper: 4 of 12); at least three layers are used."
    )
    window: int = knob(2, low=1, high=32, front=True, help="Neighbouring layers on either side (paper: 2).")
    whole_window: bool = knob(
        False, paper=True, help="Use the neighbours below the lowest layers too; the released code does not."
    )

    def build(self) -> None:
        """Freeze the encoder."""
        self.base.requires_grad_(False)

    def head(self) -> Head:
        """The pooling with weighted words and layers."""
        first = max(0, min(self.first_layer, self.base.layers - 2))
        return Head((), layers=WordWeights(first, self.window, self.whole_window))

    def base_head(self) -> Head:
        """The mean of the last layer, which is what one would read otherwise."""
        return Head(("mean",))
