"""Train a run from start to end, with its record; used by the background thread and the command line."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer import fair_share, places, run_folder
from explorer.encoding.locate import model_names
from explorer.errors import Diverged, NotWritable, RunError, RunGone, StrataError
from explorer.measuring.geometry.vector_geometry import probe_places
from explorer.progress import Phase, Progress, Work
from explorer.training.loop import computed
from explorer.training.loop import resume_state as states
from explorer.training.record import status as statuses
from explorer.training.record.recorder import Recorder
from explorer.training.record.run_facts import MEASURED
from explorer.training.record.runs import DISCARD, KEEP, Run

if TYPE_CHECKING:
    from explorer.training.loop.loop import Step, Training

_REQUESTS = ("", KEEP, DISCARD)


def train(
    run: Run,
    online: bool = False,
    signalled: Callable[[], int] = lambda: 0,
    training: Callable[..., Training] | None = None,
) -> Work[Run | None]:
    """Train or resume a run; return it, or None if it was discarded. `training` makes another training than the usual.

    To stop, take no next step: the state is saved first. A viewer's request is read after each step. Of several
    processes all have to stop after the same step: `signalled` is the signal that this one has received, 0 for none,
    and each process then saves what it has and raises KeyboardInterrupt with its number.
    """
    if int(os.environ.get("RANK", "0")):  # another process than the main one, which writes
        yield from fair_share.with_threads(_threads_of(run), _followed(run, online, signalled))
        return None
    with run.held():
        request = yield from _kept_or_failed(run, online, signalled, training)
    if request == DISCARD:
        statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
        run.delete()
        return None
    return run


def or_nothing(run: Run, work: Work[Run | None]) -> Work[Run | None]:
    """The training of a run that was made for it: if it is refused before its first step, no folder is left."""
    try:
        return (yield from work)
    except NotWritable:  # the run goes on where there is room
        raise
    except StrataError:
        status = run.status()
        began = status.since is not None or run.metrics() or states.there(run.state)
        if status.state == statuses.FAILED and not status.details and not began:  # a traceback is kept to be read
            with suppress(StrataError):
                run.delete()
        raise


def _kept_or_failed(
    run: Run, online: bool, signalled: Callable[[], int], training: Callable[..., Training] | None
) -> Generator[Progress, None, str]:
    """Train, and record a failure before raising it; its traceback does not keep the model in memory."""
    recorder = Recorder(run)
    try:
        with fair_share.kept_while_training():
            work = _trained(run, recorder, online, signalled, training)
            return (yield from fair_share.with_threads(_threads_of(run), work))
    except Exception as error:  # noqa: BLE001 (whatever it is, the folder says so)
        details = "" if isinstance(error, StrataError) else "".join(traceback.format_exception(error))
        try:
            recorder.check_there()
            trouble = type(error)(str(error)) if isinstance(error, StrataError) else _in_words(run, error)
        except RunGone as gone:  # the true reason of any failure
            trouble = gone
        traceback.clear_frames(error.__traceback__)
    fair_share.give_back()
    # if the failure cannot be written, viewers see that the process has ended
    with suppress(StrataError):  # first, since it is the smaller file
        recorder.put(state=statuses.FAILED, error=str(trouble), details=details)
    with suppress(StrataError):
        recorder.log(f"failed: {trouble}" + f"\n{details}" * bool(details))
    raise trouble


def _threads_of(run: Run) -> int:
    """The number of threads that a run computes with, from its first step to its end: its bytes depend on it."""
    return states.threads(run.state) or computed.threads_of(run.recipe())


def _trained(
    run: Run, recorder: Recorder, online: bool, signalled: Callable[[], int], make: Callable[..., Training] | None
) -> Generator[Progress, None, str]:
    from explorer.training.loop.loop import Training

    training = (make or Training)(run.recipe(), run.folder, online)
    try:
        _begin(recorder, training)
        request, number = yield from _recorded(run, recorder, training, signalled)
        if number:
            _interrupted(recorder, training)
            raise KeyboardInterrupt(number)
        if request == DISCARD:
            return request
        if request == KEEP:
            _record_the_rest(recorder, training)
            training.save()
        yield Progress(Phase.SAVING, 0, 0)
        _conclude(run, recorder, training, stopped=request == KEEP)
        return request
    except GeneratorExit:  # the server stops, or a signal came
        _interrupted(recorder, training)
        raise
    finally:
        training.world.leave()


def _begin(recorder: Recorder, training: Training) -> None:
    """Say on what it computes, and go on from what earlier processes of the run have measured."""
    recipe, facts, world = training.recipe, recorder.status.facts, training.world
    recorder.device = world.device.type
    training.meter.go_on_from(facts.speed, facts.peak_memory, facts.busy)
    here = computed.Computed.by(recipe.made_with, world.device.type, world.precision)
    for report in here.reports(recipe.made_with):
        recorder.log(report)


def _interrupted(recorder: Recorder, training: Training) -> None:
    """Save what resuming needs, between two steps."""
    with suppress(Diverged):  # then the last good state stays
        _record_the_rest(recorder, training)
    recorder.check_there()
    training.save()
    recorder.log("interrupted; the state is saved")
    recorder.put(facts=recorder.status.facts.found_by(training, MEASURED))


def _recorded(
    run: Run, recorder: Recorder, training: Training, signalled: Callable[[], int]
) -> Generator[Progress, None, tuple[str, int]]:
    """Run the loop and record it; return the request or the signal that ended it."""
    from explorer.training import saved_model

    known = False
    for step in training.steps(resume=states.there(run.state)):
        # as soon as the base is scored: what is saved from then on has its scores on the sets that were at hand
        scored = bool(training.base) and step.progress.stage is Phase.EVALUATING_BASE
        if not known and (step.updates or step.checkup or scored):
            known = True
            _record_facts(run, recorder, training)
        if step.checkup is not None:  # a run that is killed states them too
            facts = recorder.status.facts.found_by(training, MEASURED)
            recorder.status = replace(recorder.status, facts=facts)
        recorder.record(step)
        keeps = training.learner is not None and training.learner.schedule.keep_steps and not step.of_fold
        if step.checkup is not None and training.learner is not None and keeps:
            saved_model.put_step(run, training, training.learner)
        request, number = run.stop_requested(), 0
        if training.world.size > 1:
            request, number = _broadcast(training, step, request, signalled())
        if number or request in (KEEP, DISCARD):
            return request, number
        yield step.progress
    return "", 0


def _record_the_rest(recorder: Recorder, training: Training) -> None:
    rest = training.rest()
    if rest is not None:
        recorder.record(rest)


def _followed(run: Run, online: bool, signalled: Callable[[], int]) -> Work[None]:
    """Run the loop in a process other than the main one, which writes."""
    from explorer.training.loop.loop import Training

    training = Training(run.recipe(), run.folder, online)
    try:
        for step in training.steps(resume=states.there(run.state)):
            request, number = _broadcast(training, step, "", signalled())
            if number:
                raise KeyboardInterrupt(number)
            if request:
                return
            yield step.progress
    finally:
        training.world.leave()


def _broadcast(training: Training, step: Step, request: str, number: int) -> tuple[str, int]:
    """The request that the main process read, and the signal that any process received, agreed on at fixed steps."""
    if not step.updates:
        return "", 0
    own = len(_REQUESTS) + number if number else _REQUESTS.index(request) if request in _REQUESTS else 0
    agreed = training.world.largest(own)  # a signal is larger than a request
    return (_REQUESTS[agreed], 0) if agreed < len(_REQUESTS) else ("", agreed - len(_REQUESTS))


def _record_facts(run: Run, recorder: Recorder, training: Training) -> None:
    """Record digests in the recipe, which resuming checks, and the probe's sentences."""
    from explorer.training.loop import folds

    recorder.check_there()
    prepared = training.prepared
    recipe = replace(prepared.recipe, made_with=prepared.facts())
    places.write_whole(run.folder / run_folder.RECIPE, lambda file: file.write(recipe.as_yaml().encode()))
    texts = (folds.probed(prepared) if prepared.folds else prepared.dev).texts
    recorder.probe_sentences([texts[place] for place in probe_places(texts)])
    facts = recorder.status.facts.found_by(training)
    verdict = training.verdict
    base = verdict.dev and verdict.dev.before
    recorder.put(base=base, verdict=verdict, facts=facts)
    for report in (
        *([prepared.seen.words] if prepared.seen else []),
        *prepared.reports,
    ):
        recorder.log(report)


def _conclude(run: Run, recorder: Recorder, training: Training, stopped: bool) -> None:
    """Save the best checkpoint as a model with its card, and the final status."""
    from explorer.training import saved_model

    recorder.check_there()

    learner, facts = training.restore_best(), recorder.status.facts.found_by(training, MEASURED)
    if learner is not None:
        facts = facts.found_by(training)  # of the weights that are kept
        saved_model.put(run, training, learner, facts, recorder.seconds)
        facts = replace(facts, model_digest=model_names.of_folder(run.name, run.model).digest)
    final = {"results": tuple(training.results), "verdict": training.verdict, "facts": facts}
    if stopped:
        recorder.log("stopped; the best checkpoint is saved" if learner else "stopped before the first update")
        recorder.put(state=statuses.STOPPED, phase=None, about="", **final)
        run.clear_stop_request()
        return
    recorder.log(f"finished: {facts.ran}" if facts.ran else "finished")
    recorder.put(state=statuses.FINISHED, phase=None, about="", **final)
    states.forget(run.state)


def _in_words(run: Run, error: Exception) -> StrataError:
    """Turn an error of torch or of the system into one that names the next step."""
    from explorer.encoding.tune import captured_passes
    from explorer.training.loop.estimate import ran_out

    too_large = ran_out(error, run.recipe().schedule().batch_size)
    if too_large:
        return too_large
    reason = str(error).strip().splitlines()[0][:300] if str(error).strip() else ""
    if isinstance(error, OSError) and str(run.folder) in str(error.filename):
        return NotWritable(
            f"{run.folder} cannot be written to: {error.strerror}. Make room on that disk, then resume the run: the "
            "last good state is in its folder."
        )
    remedy = "Resume the run, or start another"
    # what a failed capture leaves in a GPU's driver can spoil what comes after it
    if isinstance(error, RuntimeError) and "captur" in reason:
        remedy = f"Set {captured_passes.SWITCH} to off, start Strata again, and resume the run"
    return RunError(
        f"The run ended with {type(error).__name__}: {reason} The traceback is in {run.folder / run_folder.LOG}. "
        f"{remedy}."
    )
