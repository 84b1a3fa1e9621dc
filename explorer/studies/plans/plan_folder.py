"""The folder of a plan: its definition, and how far it is."""

import json
import socket
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from explorer import places, run_folder, typed_json, work_folder
from explorer.errors import BadChoice, RunNotFound
from explorer.evaluating.results.scored_task import ScoredTask
from explorer.run_folder import STATUS
from explorer.studies.plans import plan as plans
from explorer.studies.plans import plan_file
from explorer.work_folder import ROOM

FOLDER, PLAN, JOBS = "plans", "plan.yaml", "jobs"  # in the last are the scripts and the output of jobs of a cluster
WAITING, RUNNING, FINISHED, STOPPED, FAILED = work_folder.STATES
INTERRUPTED = work_folder.INTERRUPTED


@dataclass(frozen=True)
class PlanStatus(work_folder.WorkStatus):
    """The state of a plan; which of its trainings are done stands in the folders of their runs."""

    id: str = ""  # of this plan, whose name another may have had before; its runs state it
    tasks: Mapping[str, ScoredTask] = field(default_factory=dict)  # as they were when the plan last went on
    of_app: bool = False  # the app goes on with it when it starts again
    started: float = 0.0  # larger than that of every plan that was started before
    failures: Mapping[str, str] = field(default_factory=dict)  # errors of trainings and evaluations, by cell
    expected: Mapping[str, float] = field(default_factory=dict)  # seconds of a training, by row, where estimated
    left_out: tuple[str, ...] = ()  # cells for which the budget did not suffice
    missing: tuple[str, ...] = ()  # why tasks could not be evaluated
    at_once: int = 1  # trainings


@dataclass(frozen=True)
class PlanFolder(work_folder.WorkFolder[PlanStatus]):
    """A plan by its folder; its runs are not in it, and stay when it is deleted."""

    NOUN = "plan"
    BUSY = "Another process works on the plan '{}'. Wait for it, or stop it."

    def plan(self) -> plans.Plan:
        """The definition of the plan."""
        return plan_file.read(self.folder / PLAN)

    def status(self) -> PlanStatus:
        """The state; interrupted if its process has ended."""
        try:
            found = typed_json.read(PlanStatus, typed_json.parsed((self.folder / STATUS).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            found = None
        if found is None:
            return PlanStatus(INTERRUPTED)
        if not found.live or work_folder.is_held(self.folder):
            return found
        # whether the process that wrote it still runs, on this machine
        runs = found.host == socket.gethostname() and work_folder.is_same_process(found.pid, found.born)
        return found if runs else replace(found, state=INTERRUPTED)

    def put(self, status: PlanStatus) -> None:
        """Write the state, with the id of this process."""
        self.check_there()
        text = json.dumps(asdict(work_folder.signed(status)), ensure_ascii=False, indent=1)
        places.write_whole(self.folder / STATUS, lambda file: file.write(text.encode()), ROOM)

    def redefine(self, plan: plans.Plan) -> None:
        """Replace the definition, such as its budget."""
        _define(self.folder, plan)


def new(plan: plans.Plan, *, of_app: bool = False) -> PlanFolder:
    """Make the folder of a plan, in state waiting; an error if there is a plan of this name."""
    home = plans_folder()

    def fill(part: Path) -> None:
        PlanFolder(part).put(PlanStatus(id=new_id(), of_app=of_app, started=next_start()))
        _define(part, plans.begun(plan))

    there = work_folder.made(home, [plan.name], fill)
    if there is None:
        raise BadChoice(
            f"There is a plan '{plan.name}' already, in {home}. Give another name, or resume it with --resume."
        )
    return PlanFolder(there)


def _define(folder: Path, plan: plans.Plan) -> None:
    places.write_whole(folder / PLAN, lambda file: file.write(plan_file.as_yaml(plan).encode()), ROOM)


def new_id() -> str:
    """An id that no plan has."""
    return uuid.uuid4().hex


def standing(plan: plans.Plan) -> PlanStatus:
    """The state of the plan of this name; one that was never begun has none, so no run is its own."""
    return PlanFolder(plans_folder() / plan.name).status()


def every() -> list[PlanFolder]:
    """Every plan, newest first."""
    return [PlanFolder(path) for path in run_folder.newest_first(PLAN, plans_folder())]


def next_start() -> float:
    """The start of one more plan: counted, since a clock that is set back would change the order of plans."""
    return 1 + max((one.status().started for one in every()), default=0.0)


def find(name: str) -> PlanFolder:
    """The plan with this name."""
    found = PlanFolder(plans_folder() / name)
    if not plans.NAME.fullmatch(name) or not (found.folder / PLAN).is_file():
        there = ", ".join(one.name for one in every()[:5]) or "none yet"
        raise RunNotFound(f"There is no plan '{name}'. There are: {there}.")
    return found


def plans_folder() -> Path:
    """The folder of plans, beside the runs."""
    return places.readable(run_folder.home() / FOLDER, run_folder.READABLE)
