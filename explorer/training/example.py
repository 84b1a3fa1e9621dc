"""Make the two example runs that ship with Strata: train them, keep their changes as adapters, score them and the base.

`python -m explorer.training.example` rewrites them, and `make example` calls that. Before the best checkpoint is
evaluated, its change is cut to a LoRA adapter, so that every number of a run is of what ships. Scores of the base and
of the tuned models ship too, and the words behind the cosines of a few pairs, under the keys that pages use: the first
click need not wait for them.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from explorer.data import sample, text_sets
from explorer.encoding.export import exporting
from explorer.encoding.load import loading
from explorer.encoding.locate import lookup, model_names
from explorer.encoding.read import attention, pooling
from explorer.encoding.tune.adapters import ALL_LINEAR
from explorer.measuring.scores import layer_scores, measure, similarity
from explorer.measuring.sentences.word_pairs import WORDS, keep, key, word_pair
from explorer.places import examples_folder
from explorer.progress import Phase, Progress, finish
from explorer.run_folder import METRICS, MODEL, PROBE, PROBE_SENTENCES, RECIPE, STATUS
from explorer.training import running, text_defaults
from explorer.training.loop import loop, measured_facts
from explorer.training.loop.learner import Learner
from explorer.training.record import recorder, runs
from explorer.training.record.run_facts import MEASURED

NAME, POOLER = "example", "layer-attention-example"  # the demonstration, and a pooler over layers
RANK = 8  # of 384: higher ones gain a point at most, docs/results.md ("The demonstration")
EVERY = 3  # one in so many sentences of the probe ships with its vectors, to save space


class _LowRank(loop.Training):
    """A training whose best checkpoint is cut to an adapter before it is evaluated and saved."""

    factors: exporting.Factors

    @property
    def adapters(self) -> measured_facts.Adapters | None:
        """What is left of the change."""
        if self.recipe.schedule().lora:
            return super().adapters
        kept = sum(factor.numel() for pair in self.factors.values() for factor in pair) if self.results else 0
        return measured_facts.Adapters(measured_facts.LORA, RANK, ALL_LINEAR, kept) if kept else None

    def _conclude(self, learner: Learner) -> Iterator[loop.Step]:
        learner.restore_best()
        base, tuned = self.prepared.encoder.model, learner.method.exported.model
        self.factors = exporting.adapter_factors(base, tuned, self.recipe.schedule().lora_rank or RANK)
        exporting.apply_adapter(tuned, base, self.factors)
        learner.kept = {name: weight.detach().clone() for weight, name in learner.names.items()}
        found = yield from self._reported(learner.evaluate(self.prepared.dev), Phase.EVALUATING_DEV)
        learner.best_dev = found.score
        yield from super()._conclude(learner)


def make(folder: Path) -> Path:
    """Train both and write the files that ship, replacing the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        for name, shown, shipped in (
            ("demonstration", text_defaults.demonstration(), NAME),
            ("layer-weights", text_defaults.uneven_pooler(), POOLER),
        ):
            # on a processor in float32, which every machine can repeat
            run = runs.new(replace(shown, precision="float32", device="cpu"), name, Path(place))
            _ship_run(*_trained(run), folder / shipped)
    _ship_scores(model_names.find(text_defaults.demonstration().model), (sample.pairs(), sample.test()), folder)
    for name, dev in ((NAME, sample.dev()), (POOLER, sample.pairs())):
        _ship_scores(model_names.of_folder(name, folder / name / MODEL), (dev, sample.test()), folder)
    ship_words(folder)
    return folder


def word_pairs(folder: Path) -> tuple[tuple[str, str], ...]:
    """The sentences whose words ship: the pairs that Compare shows first of the demonstration, and that of Start."""
    verdict = runs.Run(folder / NAME).status().verdict
    shown = verdict.pairs if verdict else ()
    return (*((one.first, one.second) for one in shown), sample.NEGATION)


def ship_words(folder: Path) -> None:
    """Write the words behind the cosines of these pairs, of the base and of the run that is in the folder."""
    shutil.rmtree(folder / WORDS, ignore_errors=True)
    base = model_names.find(text_defaults.demonstration().model)
    for found in (base, model_names.of_folder(NAME, folder / NAME / MODEL)):
        encoder = loading.load(found, "float32", "cpu", attention.EAGER)
        for pair in word_pairs(folder):
            words = finish(word_pair(encoder, *pair, pooling.OWN), _tell)
            keep(key(found.digest, pair, pooling.OWN.title), words, folder / WORDS)


def _trained(run: runs.Run) -> tuple[runs.Run, _LowRank]:
    """A run that was trained, and its training."""
    made = list[_LowRank]()

    def training(*given: Any) -> loop.Training:
        made.append(_LowRank(*given))
        return made[-1]

    assert finish(running.train(run, training=training), _tell) is not None, "nobody asks to discard it"
    return run, made[-1]


def _ship_run(run: runs.Run, training: _LowRank, place: Path) -> None:
    """Copy the run's folder with the adapter as its model, without log and facts about the machine that trained it."""
    place.mkdir(parents=True)
    for name in (RECIPE, METRICS, "README.md"):
        shutil.copy(run.folder / name, place / name)
    # some of the probe's sentences with their vectors; the layer weights are a mean over all of them
    (place / PROBE).mkdir()
    sentences = json.dumps(recorder.probe_sentences(run)[::EVERY], ensure_ascii=False, indent=0)
    (place / PROBE / PROBE_SENTENCES).write_text(sentences, encoding="utf-8")
    for path in (run.folder / PROBE).glob("*.npy"):
        if path.stem.endswith("-layers"):
            shutil.copy(path, place / PROBE / path.name)
        else:
            np.save(place / PROBE / path.name, np.load(path)[::EVERY])
    share = 1.0 if training.blend is None else training.blend
    exporting.save_adapter(training.factors, lookup.BUNDLED_ON_HUB, run.model, place / MODEL, share)
    shutil.copy(run.model / similarity.FILE, place / MODEL)
    for code in (place / MODEL).glob("*.py"):
        code.unlink()  # a copy of Strata's own, which every export writes anew
    text = json.loads((run.folder / STATUS).read_text(encoding="utf-8"))
    for timed in ("estimate", *MEASURED):
        text["facts"].pop(timed, None)
    assert text["facts"]["adapters"], "both are kept as adapters"
    text["facts"]["model_digest"] = model_names.of_folder(run.name, place / MODEL).digest
    text |= {"pid": 0, "born": "", "host": "", "beat": 0.0, "since": None}
    (place / STATUS).write_text(json.dumps(text, ensure_ascii=False, indent=1), encoding="utf-8")


def _ship_scores(found: model_names.Found, sets: tuple[text_sets.GradedPairs, ...], folder: Path) -> None:
    """Write scores in float32 and under the default device, so that pages show them before torch is loaded."""
    encoder = loading.load(found, precision="float32", device="cpu")
    for pairs in sets:
        _tell(Progress(f"{found.name} on {pairs.name}", 0, 0))
        scores = finish(layer_scores.score_layers(encoder, pairs))
        measure.store_scores(measure.shelf_key(found, pairs, measure.Settings()), scores, folder / measure.SCORES)


def _tell(progress: Progress) -> None:
    sys.stderr.write(f"\r{progress.text} {progress.done:,} of {progress.total:,}".ljust(78))


if __name__ == "__main__":
    sys.stderr.write(f"\n{make(examples_folder())}\n")
