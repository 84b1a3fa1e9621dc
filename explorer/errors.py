"""What can go wrong, as a tree; each message names the value, what is allowed and the next step.

StrataError
├── ModelError                an encoder cannot be had
│   ├── ModelNotFound         no such hub id, revision or folder
│   ├── ModelGated            the hub asks for a licence to be accepted, or for a token
│   ├── HubUnreachable        not on this disk, and the hub does not answer
│   ├── NotAModelFolder       the folder is there, a model is not in it
│   ├── TokenizerMissing      a model without the words it reads
│   ├── WeightsMissing        some weights would be made up at random
│   ├── NotWeights            the file is broken, or is something else
│   ├── RemoteCodeRefused     the model wants to run code of its own
│   ├── UnsupportedModel      a kind of model, or a module in it, that cannot be read as a sentence encoder
│   └── ModelTooLarge         it would not fit in memory
├── DataError                 a file or a set of sentences cannot be used
│   ├── UnreadableFile        empty, binary, too large, or in an unknown encoding or format
│   ├── WrongColumns          a column that is needed is missing
│   ├── BadScores             scores that are no numbers, or are all the same
│   ├── TooFewRows            too little is left to measure with
│   ├── CannotSplit           no dev and test halves can be made of it
│   └── SetNotFound           no such STS set, or it is neither on this disk nor within reach
├── RunError                  a training run cannot start, or cannot go on
│   ├── RunNotFound           no run of that name
│   ├── RunBusy               somebody is at it already
│   ├── CannotResume          the recipe or the data is no longer what it was
│   ├── RunTooLarge           it would not fit in memory, or on the disk
│   └── Diverged              the loss is no longer a number
├── NotWritable               a file cannot be kept on this disk
└── BadChoice                 a setting outside what is allowed
"""


class StrataError(Exception):
    """Something the person at the screen can mend; the message says how."""


class ModelError(StrataError):
    """An encoder cannot be had."""


class ModelNotFound(ModelError):
    """No such hub id, revision or folder."""


class ModelGated(ModelError):
    """The hub asks for a licence to be accepted, or for a token."""


class HubUnreachable(ModelError):
    """Not on this disk, and the hub does not answer."""


class NotAModelFolder(ModelError):
    """The folder is there, a model is not in it."""


class TokenizerMissing(ModelError):
    """A model without the words it reads."""


class WeightsMissing(ModelError):
    """Some weights would be made up at random."""


class NotWeights(ModelError):
    """The file is broken, or is something else."""


class RemoteCodeRefused(ModelError):
    """The model wants to run code of its own; Strata never does."""


class UnsupportedModel(ModelError):
    """A kind of model, or a module in it, that cannot be read as a sentence encoder."""


class ModelTooLarge(ModelError):
    """The model would not fit in memory."""


class DataError(StrataError):
    """A file or a set of sentences cannot be used."""


class UnreadableFile(DataError):
    """Empty, binary, too large, or in an unknown encoding or format."""


class WrongColumns(DataError):
    """A column that is needed is missing."""


class BadScores(DataError):
    """Scores that are no numbers, or are all the same."""


class TooFewRows(DataError):
    """Too little is left to measure with."""


class CannotSplit(DataError):
    """No dev and test halves can be made of a set: too few pairs, or too many that share sentences."""


class SetNotFound(DataError):
    """No such STS set, or it is neither on this disk nor within reach."""


class RunError(StrataError):
    """A training run cannot start, or cannot go on."""


class RunNotFound(RunError):
    """No run of that name."""


class RunBusy(RunError):
    """Somebody is at it already."""


class CannotResume(RunError):
    """The recipe or the data is no longer what it was."""


class RunTooLarge(RunError):
    """The run would not fit in memory, or on the disk."""


class Diverged(RunError):
    """The loss is no longer a number."""


class NotWritable(StrataError):
    """A file cannot be kept on this disk."""


class BadChoice(StrataError):
    """A setting outside what is allowed."""
