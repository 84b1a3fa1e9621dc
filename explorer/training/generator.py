"""Train a masked language model from an encoder, as a generator for DiffCSE without a hub.

Its head is initialised at random and tied to the embeddings, as in BERT. The copy is trained too, since a sentence
encoder no longer predicts words. The accuracy is measured on held-out sentences.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.nn import functional

from explorer.encoding.load import hardware, language_models
from explorer.encoding.load.language_models import MaskedModel, Masker
from explorer.encoding.read.encoder import Encoder
from explorer.errors import TooFewRows
from explorer.knobs import LARGEST_SEED, Knobs, knob
from explorer.methods import sow
from explorer.optimizers import learning_rate
from explorer.places import whole_folder
from explorer.progress import Progress, Work

SHARE = 0.15  # of the words, as BERT was trained
MAX_LENGTH, BATCH = 64, 32  # tokens of a sentence; sentences of a pass
_HELD, _FEWEST = 500, 64  # held-out sentences; the fewest sentences in all


@dataclass(frozen=True)
class GeneratorOptions(Knobs):
    """How a generator is trained."""

    steps: int = knob(1000, low=1, help="Updates.")
    seed: int = knob(1, low=0, high=LARGEST_SEED, help="Of the random numbers.")


@dataclass(frozen=True)
class Accuracy:
    """The share of masked words predicted right in held-out sentences."""

    before: float
    after: float
    words: int


def make_generator(
    encoder: Encoder,
    sentences: Sequence[str],
    folder: Path,
    *,
    steps: int = GeneratorOptions.steps,
    rate: float = 2e-4,
    seed: int = GeneratorOptions.seed,
) -> Work[Accuracy]:
    """Train the generator and write it as a folder that transformers opens as a masked language model."""
    if len(sentences) < _FEWEST:
        raise TooFewRows(f"{len(sentences)} sentences are too few to train a generator; at least {_FEWEST} are needed.")
    sow(seed)
    shuffled = random.Random(seed).sample(list(sentences), len(sentences))
    held = min(_HELD, len(sentences) // 8)
    measured, learned = shuffled[:held], shuffled[held:]
    masker = Masker(encoder, SHARE)
    with whole_folder(folder) as part:
        yield Progress("building the head", 0, 0)
        model = language_models.with_new_head(encoder)
        before, words = _accuracy(model, encoder, masker, measured, seed)
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=0.01, fused=True)
        for step in range(steps):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, rate, steps // 20, steps)
            _learn(model, encoder, masker, random.Random(f"{seed} {step}").sample(learned, min(BATCH, len(learned))))
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            yield Progress("training the generator", step + 1, steps)
        after, _ = _accuracy(model, encoder, masker, measured, seed)
        model.save(part, encoder.tokenizer())
        found = Accuracy(before, after, words)
        (part / "accuracy.json").write_text(json.dumps(asdict(found)) + "\n", encoding="utf-8")
    return found


def _learn(model: MaskedModel, encoder: Encoder, masker: Masker, sentences: Sequence[str]) -> None:
    ids, mask = encoder.padded(encoder.tokens(sentences, min(MAX_LENGTH, encoder.max_length)).ids)
    shown, chosen = masker(ids, mask)
    if not chosen.any():
        return
    bfloat16 = hardware.precision("auto", encoder.device) == "bfloat16"
    with torch.autocast(torch.device(encoder.device).type, torch.bfloat16, enabled=bfloat16):
        scores = model.scores(shown, mask, chosen)
    torch.autograd.backward(functional.cross_entropy(scores.float(), ids[chosen]))


@torch.no_grad()
def _accuracy(
    model: MaskedModel, encoder: Encoder, masker: Masker, sentences: Sequence[str], seed: int
) -> tuple[float, int]:
    """The share of masked words predicted right, and their number; the masks are the same before and after."""
    drawn = torch.get_rng_state()
    sow(seed)
    right = words = 0
    model.eval()
    for start in range(0, len(sentences), BATCH):
        part = sentences[start : start + BATCH]
        ids, mask = encoder.padded(encoder.tokens(part, min(MAX_LENGTH, encoder.max_length)).ids)
        shown, chosen = masker(ids, mask)
        right += int((model.scores(shown, mask, chosen).argmax(-1) == ids[chosen]).sum())
        words += int(chosen.sum())
    model.train()
    torch.set_rng_state(drawn)
    return right / max(1, words), words
