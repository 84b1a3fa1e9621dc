"""What the tests of workers share: runs that wait to be trained."""

import pytest

from explorer.training.record import runs
from explorer.training.record import status as statuses


@pytest.fixture
def waiting(tmp_path):
    """Make a run of a name that waits to be trained."""

    def made(name):
        there = tmp_path / "runs" / name
        there.mkdir(parents=True)
        (there / "recipe.yaml").touch()
        statuses.write(there, statuses.Status())
        return runs.Run(there)

    return made


@pytest.fixture
def run(waiting):
    """One such run."""
    return waiting("one")
