"""The scores of the sidebar's choice; show an error or progress until they are measured."""

from dataclasses import dataclass

from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import declared
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import Reading
from explorer.errors import StrataError
from explorer.evaluating.tasks.judges import Evaluated, judged
from explorer.measuring.scores import layer_scores, measure
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice


@dataclass(frozen=True)
class ModelScores:
    """An encoder, an evaluation set, the scores, and the chosen layer & pooling."""

    found: Found
    pairs: Evaluated  # whatever kind of set it is
    scores: layer_scores.LayerScores
    reading: Reading

    @property
    def graded(self) -> GradedPairs | None:
        """The set if it is scored pairs; None if queries, triplets or labelled rows are scored."""
        return self.pairs if isinstance(self.pairs, GradedPairs) else None

    @property
    def measured(self) -> tuple[object, ...]:
        """The cache key of the scores: encoder, pairs and settings."""
        scores = self.scores
        main = scores.metrics[0]
        return self.found.digest, self.pairs.digest, main, scores.precision, scores.device, scores.max_length


def scored(choice: sidebar_choice.Choice) -> ModelScores | None:
    """The scores of the choice; None, with an error, a fetch button or progress shown, until they are measured."""
    found, pairs = sidebar_choice.encoder(choice.source), sidebar_choice.evaluated_on(choice.evaluation_set)
    if found is None or pairs is None:
        return None
    try:
        reading = choice.reading_of(found.folder)
        also = declared.outside(reading, found.folder)
    except StrataError as error:
        messages.trouble(error)
        return None
    scores = _scores(found, pairs, choice, also)
    return None if scores is None else ModelScores(found, pairs, scores, reading)


def are_kept(choice: sidebar_choice.Choice) -> bool:
    """Whether the scores of a choice were measured before."""
    return cached.kept_scores(choice.found(), choice.evaluated(), choice.settings) is not None


def measure_ahead(choice: sidebar_choice.Choice) -> jobs.Job:
    """Begin to measure in the background what a choice will show."""
    return jobs.follow(*_job(choice.found(), choice.evaluated(), choice.settings, ()))


def _scores(
    found: Found, pairs: Evaluated, choice: sidebar_choice.Choice, also: tuple[Reading, ...]
) -> layer_scores.LayerScores | None:
    key, title, make = _job(found, pairs, choice.settings, also)
    scores = cached.kept_scores(found, pairs, choice.settings, also)
    if scores is not None:
        jobs.forget(key)  # the job has a second reference to the scores and the pairs
        return scores
    job = jobs.finished_job(key, title, make)
    if job is None:
        return None
    of_job: layer_scores.LayerScores = job.result  # the store is read-only or was emptied
    return of_job


def _job(
    found: Found, pairs: Evaluated, settings: measure.Settings, also: tuple[Reading, ...]
) -> tuple[str, str, jobs.Make]:
    # the folder too: an error of one folder must not be shown for another with the same content
    key = " ".join(map(str, (found.folder, judged(pairs).key(found, settings), *(one.title for one in also))))
    return (
        key,
        f"{found.name} on {pairs.name}",
        lambda: judged(pairs).measured(found, settings, cached.encoder, also=also),
    )
