"""Make the example run that ships with Strata: train the demonstration, keep its change as an adapter, score both.

`python -m explorer.training.example` rewrites it, and `make example` calls that. Before the best checkpoint is
evaluated, its change is cut to a LoRA adapter, so that every number of the run is of what ships. Scores of the base and
of the tuned model ship too, under the keys that pages use: the first click need not wait for them.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from explorer.data import sample
from explorer.data.kinds import GradedPairs
from explorer.encoding.export import adapter
from explorer.encoding.export.adapter import Factors
from explorer.encoding.load import loading
from explorer.encoding.locate import bundled, model_names
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.encoder import Encoder
from explorer.measuring.scores import score_store
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.measure import Settings, shelf_key
from explorer.places import examples_folder
from explorer.progress import Progress, finish
from explorer.run_folder import METRICS, MODEL, PROBE, RECIPE, STATUS
from explorer.training import running
from explorer.training.demonstration import recipe
from explorer.training.loop.learner import Learner
from explorer.training.loop.loop import Step, Training
from explorer.training.record import runs
from explorer.training.record.runs import Run

NAME = "example"
RANK = 8  # of 384: higher ones gain a point at most, docs/results.md ("The demonstration")
# the files of the model's folder that say how a sentence is encoded, without the transformer and its vocabulary
_SETTINGS = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json")


class _LowRank(Training):
    """A training whose best checkpoint is cut to an adapter before it is evaluated and saved."""

    factors: Factors

    @property
    def adapters(self) -> str:
        """What is left of the change, in words."""
        kept = sum(factor.numel() for pair in self.factors.values() for factor in pair) if self.results else 0
        return f"all weights; their change is cut to LoRA (rank {RANK}, all linear): {kept:,} weights" if kept else ""

    def _conclude(self, learner: Learner) -> Iterator[Step]:
        learner.take_best()
        base, tuned = self.prepared.encoder.model, learner.method.exported.model
        self.factors = adapter.factors(base, tuned, RANK)
        adapter.apply(tuned, base, self.factors)
        learner.kept = {name: weight.detach().clone() for weight, name in learner.names.items()}
        found = yield from self._telling(learner.look(self.prepared.dev), "evaluating on the dev set")
        learner.best_dev = found.score
        yield from super()._conclude(learner)


def make(folder: Path) -> Path:
    """Train the demonstration and write the files that ship, replacing the folder."""
    # on a processor in float32, which every machine can repeat
    shown, made = replace(recipe(), precision="float32", device="cpu").checked(), list[_LowRank]()

    def training(*given: Any) -> Training:
        made.append(_LowRank(*given))
        return made[-1]

    with tempfile.TemporaryDirectory() as place:
        run = finish(running.train(runs.new(shown, "demonstration", Path(place)), training=training), _tell)
        assert run is not None, "nobody asks to discard it"
        shutil.rmtree(folder, ignore_errors=True)
        _ship_run(run, folder / NAME, made[-1])
    _ship_scores(model_names.find(shown.model), (sample.pairs(), sample.test()), folder)
    shipped = model_names.of_folder(NAME, folder / NAME / MODEL)
    _ship_scores(shipped, (sample.dev(), sample.test()), folder)
    return folder


def _ship_run(run: Run, place: Path, training: _LowRank) -> None:
    """Copy the run's folder with the adapter as its model, without log and facts about the machine that trained it."""
    place.mkdir(parents=True)
    for name in (RECIPE, METRICS, "README.md"):
        shutil.copy(run.folder / name, place / name)
    shutil.copytree(run.folder / PROBE, place / PROBE)
    for path in run.model.rglob("*.json"):
        inside = path.relative_to(run.model)
        if path.name in _SETTINGS or len(inside.parts) > 1:
            (place / MODEL / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place / MODEL / inside)
    adapter.save(training.factors, bundled.ON_HUB, place / MODEL)
    told = json.loads((run.folder / STATUS).read_text(encoding="utf-8"))
    told["facts"].pop("estimate", None)
    told["facts"].pop("memory", None)
    told["facts"]["adapters"] = training.adapters
    told |= {"pid": 0, "born": "", "host": "", "beat": 0.0, "since": None}
    (place / STATUS).write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")


def _ship_scores(found: Found, sets: tuple[GradedPairs, ...], folder: Path) -> None:
    """Write scores in float32 and under the default device, so that pages show them before torch is loaded."""
    encoder = _loaded(found)
    for pairs in sets:
        _tell(Progress(f"{found.name} on {pairs.name}", 0, 0))
        scores = finish(score_layers(encoder, pairs))
        score_store.keep(shelf_key(found, pairs, Settings()), scores, folder / score_store.SCORES)


def _loaded(found: Found) -> Encoder:
    return loading.load(found, precision="float32", device="cpu")


def _tell(progress: Progress) -> None:
    sys.stderr.write(f"\r{progress.stage} {progress.done:,} of {progress.total:,}".ljust(78))


if __name__ == "__main__":
    sys.stderr.write(f"\n{make(examples_folder())}\n")
