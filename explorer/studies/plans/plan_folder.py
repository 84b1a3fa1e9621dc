"""The folder of a plan: its definition, its state, and the lock of the process that works on it."""

import json
import os
import shutil
import socket
import time
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from explorer import places, run_folder, typed_json
from explorer.errors import BadChoice, NotWritable, RunBusy, RunNotFound
from explorer.evaluating.results.scored_task import ScoredTask
from explorer.studies.plans import plan as plans
from explorer.studies.plans import plan_file

FOLDER, PLAN, STATUS = "plans", "plan.yaml", "status.json"
WAITING, RUNNING, FINISHED, STOPPED, FAILED = "waiting", "running", "finished", "stopped", "failed"
INTERRUPTED = "interrupted"  # never written: the state of a plan whose process has ended
LIVE = (WAITING, RUNNING)
_ROOM = "Make room on that disk, or set STRATA_RUNS to a folder that can be written to."


@dataclass(frozen=True)
class PlanStatus:
    """The state of a plan; which of its trainings are done stands in the folders of their runs."""

    state: str = WAITING
    id: str = ""  # of this plan, whose name another may have had before; its runs state it
    tasks: Mapping[str, ScoredTask] = field(default_factory=dict)  # as they were when the plan last went on
    of_app: bool = False  # the app goes on with it when it starts again
    started: float = 0.0  # larger than that of every plan that was started before
    failures: Mapping[str, str] = field(default_factory=dict)  # errors of trainings and evaluations, by cell
    expected: Mapping[str, float] = field(default_factory=dict)  # seconds of a training, by row, where estimated
    left_out: tuple[str, ...] = ()  # cells for which the budget did not suffice
    missing: tuple[str, ...] = ()  # why tasks could not be evaluated
    error: str = ""

    @property
    def live(self) -> bool:
        """Whether a process works on it, or will."""
        return self.state in LIVE


@dataclass(frozen=True)
class PlanFolder:
    """A plan by its folder."""

    folder: Path

    @property
    def name(self) -> str:
        """The name of the plan."""
        return self.folder.name

    def plan(self) -> plans.Plan:
        """The definition of the plan."""
        return plan_file.read(self.folder / PLAN)

    def status(self) -> PlanStatus:
        """The state; interrupted if its process has ended."""
        try:
            stated = typed_json.parsed((self.folder / STATUS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return PlanStatus(INTERRUPTED)
        found = typed_json.read(PlanStatus, stated) or PlanStatus(INTERRUPTED)
        if not found.live or run_folder.is_held(self.folder):
            return found
        # whether the process that wrote it still runs, on this machine
        if isinstance(stated, dict) and stated.get("host") == socket.gethostname():
            pid, born = stated.get("pid"), stated.get("born")
            if isinstance(pid, int) and isinstance(born, str) and run_folder.is_same_process(pid, born):
                return found
        return replace(found, state=INTERRUPTED)

    def put(self, status: PlanStatus) -> None:
        """Write the state, with the id of this process."""
        if not self.folder.is_dir():
            raise RunNotFound(f"The plan '{self.name}' is no longer there: its folder was moved or deleted.")
        content = asdict(status) | {
            "pid": os.getpid(),
            "born": run_folder.birth(os.getpid()),
            "host": socket.gethostname(),
        }
        text = json.dumps(content, ensure_ascii=False, indent=1)
        places.write_whole(self.folder / STATUS, lambda file: file.write(text.encode()), _ROOM)

    def redefine(self, plan: plans.Plan) -> None:
        """Replace the definition, such as its budget."""
        places.write_whole(self.folder / PLAN, lambda file: file.write(plan_file.as_yaml(plan).encode()), _ROOM)

    def request_stop(self) -> None:
        """Ask the process that works on the plan to stop within a step."""
        places.write_whole(self.folder / run_folder.STOP_REQUEST, lambda file: file.write(b"stop"), _ROOM)

    def stop_requested(self) -> bool:
        """Whether a viewer has asked to stop."""
        return (self.folder / run_folder.STOP_REQUEST).exists()

    def clear_stop_request(self) -> None:
        """Delete the request."""
        (self.folder / run_folder.STOP_REQUEST).unlink(missing_ok=True)

    def hold(self) -> AbstractContextManager[None]:
        """Lock the plan; the system releases the lock when the process ends."""
        busy = f"Another process works on the plan '{self.name}'. Wait for it, or stop it."
        return run_folder.holding(self.folder, busy, _ROOM)

    def delete(self) -> None:
        """Delete the plan; its runs stay."""
        if self.status().live:
            raise RunBusy(f"The plan '{self.name}' is under way. Stop it first.")
        try:
            shutil.rmtree(self.folder)
        except OSError as error:
            raise NotWritable(
                f"'{self.name}' cannot be deleted: {error.strerror}. Delete {self.folder} by hand."
            ) from error


def new(plan: plans.Plan, *, of_app: bool = False) -> PlanFolder:
    """Make the folder of a plan, in state waiting; an error if there is a plan of this name."""
    home = plans_folder()
    part = home / f".{os.getpid()}-{time.monotonic_ns()}.part"
    try:
        part.mkdir(parents=True)
        PlanFolder(part).put(PlanStatus(id=new_id(), of_app=of_app, started=next_start()))
        text = plan_file.as_yaml(plans.begun(plan)).encode()
        places.write_whole(part / PLAN, lambda file: file.write(text), _ROOM)
        (home / plan.name).mkdir(exist_ok=True)
        part.rename(home / plan.name)  # onto an empty folder only
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        if (home / plan.name / PLAN).is_file():
            raise BadChoice(
                f"There is a plan '{plan.name}' already. Give another name, or resume it with --resume."
            ) from error
        raise NotWritable(f"{home} cannot be written to: {error.strerror or error}. {_ROOM}") from error
    return PlanFolder(home / plan.name)


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
