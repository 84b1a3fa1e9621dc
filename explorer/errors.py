"""The errors of Strata: of models, of data, of runs, of the disk, and of a choice.

Each message names the value, what is allowed and the next step.
"""

from collections.abc import Iterator
from contextlib import contextmanager

NO_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")  # in torch's messages
UNMEASURED = 2  # the exit code of a command where something could not be measured
LONGEST = 2000  # characters of a message; it ends with what to do next, so the middle is cut


class StrataError(Exception):
    """An error that the user can fix; the message says how, in one line whatever the values in it hold."""

    stage = 0  # of a run with stages, if the message names it

    def __init__(self, message: object = "") -> None:
        # a value from JSON may hold half of a surrogate pair, which no terminal or file takes
        text = str(message).encode("utf-8", "backslashreplace").decode()
        line = " ".join(text.splitlines())
        half = LONGEST // 2
        super().__init__(line if len(line) <= LONGEST else f"{line[: half - 2]} … {line[len(line) - half + 1 :]}")


class ModelError(StrataError):
    """An encoder is not available."""


class ModelNotFound(ModelError):
    """No such hub id, revision or folder."""


class ModelGated(ModelError):
    """The hub asks for a licence to be accepted, or for a token."""


class HubUnreachable(ModelError):
    """Not on this disk, and the hub does not answer."""


class NotAModelFolder(ModelError):
    """The folder exists but holds no model."""


class TokenizerMissing(ModelError):
    """A model without a vocabulary."""


class WeightsMissing(ModelError):
    """Some weights would be initialised at random."""


class NotWeights(ModelError):
    """The file is broken or not a weights file."""


class RemoteCodeRefused(ModelError):
    """The model needs its own Python code, which Strata never runs."""


class VectorsUnread(ModelError):
    """Vectors that another program computed, which are yet to be read."""


class UnsupportedModel(ModelError):
    """A type of model or module that cannot encode sentences."""


class ModelTooLarge(ModelError):
    """The model would not fit in memory."""


class DataError(StrataError):
    """A file or a set of sentences cannot be used."""


class UnreadableFile(DataError):
    """Empty, binary, too large, or in an unknown encoding or format."""


class WrongColumns(DataError):
    """A column that is needed is missing."""


class BadScores(DataError):
    """Scores that are not numbers, or are all equal."""


class NoVector(DataError):
    """Vectors that another program computed lack these sentences."""

    def __init__(self, message: object = "", sentences: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.sentences = sentences


class TooFewRows(DataError):
    """Too few rows are left."""


class CannotSplit(DataError):
    """A set cannot be split into dev and test halves: too few pairs, or too many that share sentences."""


class SetNotFound(DataError):
    """No such STS set, or it is not available offline."""

    def __init__(self, message: object = "", split: tuple[str, str] | None = None) -> None:
        super().__init__(message)
        self.split = split  # set and split, if they are published but not on this disk


class RunError(StrataError):
    """A training run cannot start or continue."""


class RunNotFound(RunError):
    """No run of that name."""


class RunBusy(RunError):
    """Another process uses the run."""


class CannotResume(RunError):
    """The recipe or the data has changed."""


class RunGone(RunError):
    """The folder of the run was renamed, moved or deleted."""


class RunTooLarge(RunError):
    """The run would not fit in memory, or on the disk."""


class Diverged(RunError):
    """The loss is no longer a number."""


class NotReadable(StrataError):
    """A folder or file of this disk cannot be read."""


class NotWritable(StrataError):
    """A file cannot be written to this disk."""


class BadChoice(StrataError):
    """A setting outside what is allowed."""


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python or torch means that memory ran out, on a processor or a GPU."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in NO_MEMORY)


@contextmanager
def at(where: str) -> Iterator[None]:
    """Name the place, such as a file, in what is refused in this block."""
    try:
        yield
    except BadChoice as error:
        raise BadChoice(f"{where}: {error}") if where else error from None
