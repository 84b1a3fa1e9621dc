"""Score a model without a transformer: a file of word vectors, such as GloVe's, or shared words alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from explorer.data.kinds import GradedPairs, digest_of
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import DataError
from explorer.evaluating.measured import Measured
from explorer.evaluating.results.result_files import Scored, revision_of
from explorer.evaluating.suites import Data, Options, column
from explorer.evaluating.tasks.word_models import IN_BAG, BagOfWords, mean_word_vectors, word_scores
from explorer.progress import Work

TITLES = (MODEL_DEFAULT,)  # of their results
BAG = "bag-of-words"  # the name of the model that compares shared words
ENDINGS = (".txt", ".gz", ".vec")  # of files of word vectors


@dataclass(frozen=True)
class WordSubject:
    """A file of word vectors, or the bag of words."""

    source: str

    @property
    def scored(self) -> Scored:
        """The model as its results name it."""
        path = Path(self.source).expanduser()
        if self.source == BAG:
            return Scored(BAG, revision_of(digest_of([BAG, IN_BAG]), None))
        about = path.stat()
        return Scored(path.name, revision_of(digest_of([path.name, str(about.st_size), str(about.st_mtime_ns)]), None))


def is_word_model(source: str) -> bool:
    """Whether a model is named that has no transformer."""
    try:
        path = Path(source).expanduser()
        return source == BAG or (path.name.endswith(ENDINGS) and path.is_file())
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null byte
        return False


def evaluate(subject: WordSubject, data: Data, task: str, options: Options) -> Work[Measured]:
    """Score such a model on scored pairs."""
    pairs, path = _pairs(subject, data, task), Path(subject.source).expanduser()
    model = BagOfWords() if subject.source == BAG else (yield from mean_word_vectors(path, pairs.sentences))
    return replace(word_scores(model, pairs), task=column(task, options))


def decisive(subject: WordSubject, data: Data, task: str, options: Options) -> tuple[object, ...]:
    """What decides the scores besides the file of the model."""
    return ("words", _pairs(subject, data, task).digest, options.text)


def _pairs(subject: WordSubject, data: Data, task: str) -> GradedPairs:
    if not isinstance(data, GradedPairs):
        raise DataError(f"{subject.source} is scored on STS sets and files of scored pairs only, not on {task}.")
    return data
