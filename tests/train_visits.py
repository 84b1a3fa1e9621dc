"""Start a run from the Train page, and open it there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streamlit.testing.v1 import AppTest

from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.training.record.status import Status
from explorer.ui.runs import training_queue
from tests import trainings
from tests.visits import wait_until, words

PAGE = "pages/train.py"
START = "run start"  # the key of its button


def say(app: AppTest, **knobs: object) -> AppTest:
    """Fill fields of SG-OPT."""
    for name, value in knobs.items():
        field(app, name).set_value(value)
    return app.run()


def field(app: AppTest, knob: str) -> Any:
    """The field of a hyperparameter of SG-OPT."""
    kinds = (app.number_input, app.selectbox, app.text_input)
    (found,) = (one for kind in kinds for one in kind if one.key == f"knob sg-opt {knob}")
    return found


def new(place: trainings.Place, **changes: Any) -> Run:
    """A run among those the page shows, waiting."""
    return runs.new(trainings.recipe(place, **changes))


def stands(run: Run, **changes: Any) -> Status:
    """Make a run's folder say this."""
    return statuses.write(run.folder, replace(run.status(), **changes))


def displayed(app: AppTest, place: trainings.Place, state: str, **status: Any) -> Run:
    """A run whose folder says this, on its page."""
    run = new(place)
    stands(run, state=state, **status)
    show(app, run)
    return run


def refusals(app: AppTest) -> list[str]:
    """The errors that disable Start; without one it can be clicked."""
    told = words(app.error)
    assert app.button(key=START).disabled == bool(told), told
    return told


def show(app: AppTest, run: Run) -> AppTest:
    """The page of a run."""
    app.query_params["run"] = run.name
    return app.run()


def the_run() -> Run:
    """The only one there is."""
    (run,) = runs.every()
    return run


def started(app: AppTest) -> Run:
    """The run that the form makes."""
    app.button(key=START).click().run()
    return the_run()


def ended(run: Run) -> Status:
    """What a run says when it is over."""
    wait_until(lambda: not training_queue.standing(run).live)
    return run.status()
